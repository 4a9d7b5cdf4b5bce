"""One streamed attempt: pieces are taken as they come, a silence ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmframe.clients.base import Message, RequestError
from llmframe.clients.pieces import Pieces
from llmframe.clients.transport import HttpAnswer, OpenAnswer, Prepared, Transport

_OK = 200
_AFTERWORD_S = 1.0  # after [DONE] only the end of the body is missing; with it the connection can be used again


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that came in pieces, as the body it would have been in one."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]


async def receive(
    transport: Transport, prepared: Prepared, messages: list[Message], *, silence: float
) -> HttpAnswer | Streamed:
    """Send one request and put its answer together.

    Parameters
    ----------
    silence
        Seconds from sending to the first piece, and from piece to piece; what only keeps the connection alive is none.
        An answer that doesn't come in pieces has as long as the first one.

    Returns
    -------
    HttpAnswer or Streamed
        The first when the server refused, or answers whole whatever it is asked.

    Raises
    ------
    RequestError
        `timeout` after a silence, `connection` when the answer ends before its end, `server` when it can't be read.
    """
    pieces = Pieces()
    clock = asyncio.timeout(silence)
    answer: OpenAnswer | None = None
    try:
        async with clock:
            answer = await transport.open(prepared, messages)
            try:
                whole = await _read(answer, pieces, clock, silence=silence)
            finally:
                await answer.close()
        complete = pieces.end()
    except TimeoutError:
        if not clock.expired():
            raise
        if answer is None or not pieces.done:
            where = "in the middle of the answer" if pieces.count else "before the first piece of the answer"
            raise RequestError("timeout", f"no news for {silence:g} s {where}") from None
        whole, complete = b"", True
    if pieces.failure is None and not pieces.count and not _promises_pieces(answer):
        return HttpAnswer(answer.status, answer.headers, whole)
    if pieces.failure is None and not (complete and pieces.finished):
        where = "in the middle of a piece" if not complete else "without a finish_reason"
        where = where if pieces.count else "before its first piece"
        raise RequestError("connection", f"the answer ended {where}", status=answer.status)
    return Streamed(answer.status, answer.headers, pieces.completion())


async def _read(answer: OpenAnswer, pieces: Pieces, clock: asyncio.Timeout, *, silence: float) -> bytes:
    """Feed `pieces` to the end of the answer; the bytes before the first of them."""
    now = asyncio.get_running_loop().time
    whole: list[bytes] = []
    while data := await answer.chunk():
        if not pieces.count:
            whole.append(data)
        if answer.status != _OK:
            continue
        try:
            news = pieces.feed(data)
        except ValueError:
            raise RequestError("server", "a piece of the answer isn't a JSON object", status=answer.status) from None
        if pieces.failure is not None:
            break
        if pieces.done:
            clock.reschedule(min(clock.when() or now(), now() + _AFTERWORD_S))
        elif news:
            clock.reschedule(now() + silence)
    return b"".join(whole)


def _promises_pieces(answer: OpenAnswer) -> bool:
    return answer.status == _OK and "event-stream" in answer.headers.get("content-type", "")
