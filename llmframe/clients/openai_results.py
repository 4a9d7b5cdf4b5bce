"""What an OpenAI batch came to, line by line of its result files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final, Literal, cast

from llmframe.clients import chat
from llmframe.clients.base import RequestError
from llmframe.clients.batch import LineResult, Vectors
from llmframe.clients.embeddings import read_vectors
from llmframe.clients.faults import clean, failure_inside, from_response, status_inside
from llmframe.core.reply import Reply
from llmframe.errors import ErrorKind

logger = logging.getLogger("llmframe")

Kind = Literal["chat", "embeddings"]

CHUNK_LINES: Final = 500
CHUNK_BYTES: Final = 8 << 20
"""Most lines and bytes that are read at once; a line that is longer comes alone."""

MAX_INPUTS: Final = 50_000
"""Texts to embed that a line can hold at most: an index beyond is none."""

_ERROR_STATUS, _SERVER_STATUS, _OK = 400, 500, 200
_GIVEN_UP: Final[dict[str, ErrorKind]] = {
    "batch_expired": "batch_expired",
    "request_expired": "batch_expired",
    "expired": "batch_expired",
    "batch_cancelled": "cancelled",
    "batch_canceled": "cancelled",
    "request_cancelled": "cancelled",
    "request_canceled": "cancelled",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
_SAYS: Final[dict[ErrorKind, str]] = {
    "batch_expired": "the batch ended before this request was done",
    "cancelled": "the batch was cancelled before this request was done",
}


async def read_results(path: Path, *, kind: Kind, secrets: Iterable[str] = ()) -> AsyncIterator[list[LineResult]]:
    """The lines of a result file in their order, some at a time, read in a thread.

    Blank lines are left out; so is what isn't a JSON object with a `custom_id`, which is counted in the log.
    """
    hidden = tuple(secrets)
    place = skipped = 0
    while True:
        chunk = await asyncio.to_thread(_read, path, place, kind, hidden)
        if chunk is None:
            break
        place, results, left_out = chunk
        skipped += left_out
        if results:
            yield results
    if skipped:
        logger.debug("%d lines of %s are no results: skipped", skipped, path.name)


def read_line(line: bytes, kind: Kind, secrets: Iterable[str] = ()) -> LineResult | None:
    """One line of a result file; `None` where it names no request."""
    try:
        data = chat.parse(line)
    except (ValueError, RecursionError):
        return None
    entry = _dict(data)
    custom_id = entry.get("custom_id")
    if not isinstance(custom_id, str) or not custom_id:
        return None
    try:
        return LineResult(custom_id, _answer(entry, kind, secrets))
    except RequestError as error:
        return LineResult(custom_id, error)


def _answer(entry: dict[str, Any], kind: Kind, secrets: Iterable[str]) -> Reply | Vectors:
    response, error = _dict(entry.get("response")), entry.get("error")
    body = _body(response.get("body"))
    told = response.get("status_code")
    status = int(told) if isinstance(told, int | str) and str(told).isdigit() else _OK
    if status >= _ERROR_STATUS:
        raise from_response(status, body or error, secrets=secrets)
    if error:
        raise _given_up(error, secrets) or _failed(error, secrets)
    if not body:
        raise RequestError("server", "a line of the results without an answer", status=status)
    failure = failure_inside(body)
    if failure is not None:
        raise from_response(status_inside(failure) or status, failure, secrets=secrets)
    if kind == "chat":
        return chat.read_chat(body)
    return _vectors(body, status)


def _given_up(error: object, secrets: Iterable[str]) -> RequestError | None:
    """The error of a request that the provider didn't do, by its code."""
    facts = _dict(error)
    code = facts.get("code")
    kind = _GIVEN_UP.get(code.lower()) if isinstance(code, str) else None
    if kind is None:
        return None
    message = facts.get("message")
    said = clean(message, secrets=secrets) if isinstance(message, str) else ""
    return RequestError(kind, said or _SAYS[kind], code=code)


def _failed(error: object, secrets: Iterable[str]) -> RequestError:
    """The error of a request that failed without an HTTP answer: the server's, unless its words say more."""
    failure = _dict(error) or {"message": error if isinstance(error, str) else ""}
    status = status_inside(failure)
    read = from_response(status or _SERVER_STATUS, failure, secrets=secrets)
    if status is not None:
        return read
    said = [word for word in (failure.get("code"), failure.get("message")) if isinstance(word, str) and word]
    detail = clean(": ".join(said), secrets=secrets) or "failed without a word"
    return RequestError(read.kind, detail, code=read.code, param=read.param)


def _vectors(body: dict[str, Any], status: int) -> Vectors:
    entries = body.get("data")
    found = [_dict(entry).get("index") for entry in cast("list[object]", entries)] if isinstance(entries, list) else []
    places = [place for place in found if isinstance(place, int) and 0 <= place < MAX_INPUTS]
    # A line doesn't tell how many texts it had; the caller knows.
    read = read_vectors(body, inputs=max([len(found), *(place + 1 for place in places)]))
    if read is None:
        raise RequestError("server", f"status {status} without a list of vectors in `data`", status=status)
    return read


def _read(path: Path, place: int, kind: Kind, secrets: Iterable[str]) -> tuple[int, list[LineResult], int] | None:
    """The results from `place` on, how far that was, and how many lines are none; `None` at the end.

    The file is opened each time: whoever stops halfway leaves none open.
    """
    results: list[LineResult] = []
    skipped, start = 0, place
    with path.open("rb") as file:
        file.seek(place)
        for line in file:
            place += len(line)
            if not line.isspace():
                result = read_line(line, kind, secrets)
                skipped += result is None
                if result is not None:
                    results.append(result)
            if len(results) == CHUNK_LINES or place - start >= CHUNK_BYTES:
                break
    return None if place == start else (place, results, skipped)


def _body(value: object) -> dict[str, Any]:
    """The body of an answer; some servers write it as text."""
    if isinstance(value, str):
        try:
            value = chat.parse(value.encode())
        except (ValueError, RecursionError):
            return {"error": {"message": value}} if value else {}
    return _dict(value)


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
