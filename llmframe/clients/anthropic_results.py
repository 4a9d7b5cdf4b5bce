"""What an Anthropic batch came to, line by line of its results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, cast

from llmframe.clients import chat
from llmframe.clients.base import RequestError
from llmframe.clients.batch import LineResult
from llmframe.clients.faults import from_response
from llmframe.clients.replies import read_reply
from llmframe.core.reply import Reply

logger = logging.getLogger("llmframe")

CHUNK_LINES: Final = 500
CHUNK_BYTES: Final = 8 << 20
"""Most lines and bytes that are read at once; a line that is longer comes alone."""

_SERVER_STATUS = 500
_STATUS = MappingProxyType(
    {
        "invalid_request_error": 400,
        "invalid_request": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
"""The status that the same error has live: a line of the results has only its type."""


async def read_results(path: Path, *, secrets: Iterable[str] = ()) -> AsyncGenerator[list[LineResult]]:
    """The lines of a file of results in their order, some at a time, read in a thread.

    Blank lines are left out; so is what isn't a JSON object with a `custom_id`, which is counted in the log.
    """
    hidden = tuple(secrets)
    skipped = 0
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while lines := await asyncio.to_thread(_lines, file):
            read = await asyncio.to_thread(_read, lines, hidden)
            found = [result for result in read if result is not None]
            skipped += len(read) - len(found)
            if found:
                yield found
    finally:
        file.close()
    if skipped:
        logger.debug("%d lines of %s are no results: skipped", skipped, path.name)


def read_line(line: bytes, secrets: Iterable[str] = ()) -> LineResult | None:
    """One line of the results; `None` where it names no request."""
    entry = _parsed(line)
    custom_id = entry.get("custom_id")
    if not isinstance(custom_id, str) or not custom_id:
        return None
    try:
        return LineResult(custom_id, _answer(_dict(entry.get("result")), secrets))
    except RequestError as error:
        return LineResult(custom_id, error)


def custom_id_of(line: bytes) -> str:
    """Which request a line answers; empty where it names none."""
    found = _parsed(line).get("custom_id")
    return found if isinstance(found, str) else ""


def _read(lines: list[bytes], secrets: Iterable[str]) -> list[LineResult | None]:
    return [read_line(line, secrets) for line in lines]


def _answer(result: dict[str, Any], secrets: Iterable[str]) -> Reply:
    match result.get("type"):
        case "succeeded":
            return read_reply(_dict(result.get("message")))
        case "expired":
            raise RequestError("batch_expired", "the batch ended before this request was done", code="expired")
        case "canceled":
            raise RequestError("cancelled", "the batch was cancelled before this request was done", code="canceled")
        case _:
            error = _dict(result.get("error"))
            kind = _dict(error.get("error")).get("type", error.get("type"))
            raise from_response(_STATUS.get(str(kind), _SERVER_STATUS), error, secrets=secrets)


def _lines(file: BinaryIO) -> list[bytes]:
    """The next lines that aren't blank; none at the end."""
    lines: list[bytes] = []
    size = 0
    for line in file:
        if not line.isspace():
            lines.append(line)
        size += len(line)
        if lines and (size >= CHUNK_BYTES or len(lines) == CHUNK_LINES):
            break
    return lines


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        return _dict(chat.parse(line))
    except (ValueError, RecursionError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
