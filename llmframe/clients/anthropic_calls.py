"""One call of Anthropic's batch service at a time, through its SDK: JSON, lines up, results down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast

from llmframe.clients import chat
from llmframe.clients.base import RequestError
from llmframe.clients.faults import from_exception
from llmframe.clients.instructor import InstructorClient
from llmframe.errors import TROUBLE_BY_ERRNO, StoreError

T = TypeVar("T")

PATH: Final = "/v1/messages/batches"
CONNECT_S: Final = 30.0
CREATED_S: Final = 600.0
"""Longest wait for the answer to the lines of a batch: the service reads all of them before it says a word."""
PIECE_BYTES: Final = 1 << 20
"""Bytes that are read or written at once: a hop to a thread for every line would cost more."""

_HEAD, _TAIL = b'{"requests":[', b"]}"


class AnthropicCalls:
    """The batch service behind a started client; each call is one attempt, and raises `RequestError` as requests do.

    Parameters
    ----------
    client
        Whose SDK, key, headers and query are used.
    silence
        Longest wait for the next byte, in seconds; never less than `CREATED_S` after a batch's lines.
    """

    def __init__(self, client: InstructorClient, *, silence: float = 60.0) -> None:
        self._client = client
        self._silence = silence

    async def get(self, path: str = "", query: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The JSON object at `path`, which is below the service's own."""
        return await self._json(lambda: self._send("get", path, query=query))

    async def post(self, path: str) -> dict[str, Any]:
        """The JSON object that answers a request without a body."""
        return await self._json(lambda: self._send("post", path))

    async def create(self, lines: Path) -> dict[str, Any]:
        """The JSON object that answers a file of lines, sent in one body that is read as it goes out.

        Raises
        ------
        StoreError
            If the file can't be read.
        """
        size = await asyncio.to_thread(_guarded, lambda: sum(map(len, _body(lines))), lines)
        async with aclosing(_in_thread(lines)) as body:
            return await self._json(lambda: self._send("post", "", content=body, size=size))

    async def first_line(self, path: str) -> bytes:
        """The first line of what is at `path`, and no more than its piece of the network."""
        head = b""
        async with self._stream(path) as pieces:
            async for piece in pieces:
                head += piece
                if b"\n" in head.lstrip():
                    break
        return head.lstrip().partition(b"\n")[0]

    async def download(self, path: str, target: Path) -> None:
        """Write what is at `path` into `target`, which is there in full or not at all.

        Raises
        ------
        StoreError
            If it can't be written.
        """
        part = target.with_name(target.name + ".part")
        async with self._stream(path) as pieces:
            file = await asyncio.to_thread(_guarded, lambda: part.open("wb"), target)
            try:
                await _pour(pieces, file, target)
            finally:
                with suppress(OSError):  # `_pour` has told it
                    file.close()
        await asyncio.to_thread(_guarded, lambda: part.replace(target), target)

    @asynccontextmanager
    async def _stream(self, path: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        answer = await self._attempt(lambda: self._send("get", path, stream=True))
        try:
            yield self._pieces(answer.aiter_bytes())
        finally:
            await answer.aclose()

    async def _pieces(self, raw: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while piece := await self._attempt(lambda: anext(raw, b"")):
            yield piece

    async def _json(self, send: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        answer = await self._attempt(send)
        try:
            data = chat.parse(answer.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            kind = str(answer.headers.get("content-type", "unknown type")).split(";")[0]
            said = f"status {answer.status_code} with a body that isn't a JSON object ({kind})"
            raise RequestError("server", said, status=answer.status_code)
        return cast("dict[str, Any]", data)

    async def _attempt(self, send: Callable[[], Awaitable[T]]) -> T:
        failed: RequestError
        try:
            return await send()
        except (RequestError, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - the seam: whatever the SDK or its transport raises is a failed call
            failed = from_exception(error, secrets=self._client.secrets, where=self._client.identity)
        raise failed  # outside the except block: the cause holds headers, so no chain may lead to it

    async def _send(  # noqa: PLR0913 - parts of one request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        content: AsyncIterator[bytes] | None = None,
        size: int = 0,
        stream: bool = False,
    ) -> Any:
        """httpx's response; from 300 up the SDK's exception."""
        sdk = self._client.sdk
        if sdk is None:
            raise RequestError("internal", "the client wasn't started")
        import anthropic  # noqa: PLC0415 - a second of import
        import httpx2  # noqa: PLC0415 - comes with the SDK

        silence = self._silence if content is None else max(self._silence, CREATED_S)
        options: dict[str, Any] = {
            # Where a redirect leads, the key would go too: httpx drops `Authorization` alone.
            "follow_redirects": False,
            "timeout": httpx2.Timeout(silence, connect=CONNECT_S, pool=None),
            "params": {**self._client.query, **(query or {})},
        }
        form: dict[str, Any] = {"cast_to": httpx2.Response}
        if content is not None:
            form["content"] = content
            options["headers"] = {"Content-Type": "application/json", "Content-Length": str(size)}
        if stream:
            form |= {"stream": True, "stream_cls": anthropic.AsyncStream}
        return await getattr(sdk, method)(PATH + path, options=options, **form)


async def _pour(pieces: AsyncIterator[bytes], file: BinaryIO, target: Path) -> None:
    held: list[bytes] = []
    size = 0
    async for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE_BYTES:
            await asyncio.to_thread(_guarded, lambda full=held: file.writelines(full), target)
            held, size = [], 0
    await asyncio.to_thread(_guarded, lambda: file.writelines(held), target)
    await asyncio.to_thread(_guarded, file.flush, target)


async def _in_thread(lines: Path) -> AsyncGenerator[bytes]:
    """The pieces of a batch's body, each read in a thread."""
    body = _body(lines)
    while piece := await asyncio.to_thread(_guarded, lambda: next(body, b""), lines):
        yield piece


def _body(lines: Path) -> Iterator[bytes]:
    """The body of a batch around its lines, blank ones left out."""
    held = bytearray(_HEAD)
    first = True
    with lines.open("rb") as file:
        for line in file:
            request = line.strip()
            if request:
                held += request if first else b"," + request
                first = False
            if len(held) >= PIECE_BYTES:
                yield bytes(held)
                held.clear()
    yield bytes(held + _TAIL)


def _guarded(work: Callable[[], T], file: Path) -> T:
    """What `work` on a file returns; the system's errors as ours."""
    try:
        return work()
    except OSError as error:
        reason = TROUBLE_BY_ERRNO.get(error.errno, "io")
        said = error.strerror or type(error).__name__
    raise StoreError(f"file {file.name!r} of a batch can't be used: {said}", reason=reason)
