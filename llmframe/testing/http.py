"""HTTP/1.1 on loopback, as little of it as a client of a chat endpoint needs."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, cast

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
"""The end of a chunked body."""


@dataclass(frozen=True, slots=True)
class Head:
    """The request line and the headers, names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    query: str = ""


class Service(Protocol):
    """What a `Connection` reports to; called in the loop that serves."""

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        ...

    def handle(self, exchange: Exchange) -> None:
        """A whole request arrived; the exchange is answered now or later."""
        ...

    def closed(self, connection: Connection, pending: Exchange | None) -> None:
        """The connection is gone; `pending` is the request that it left without an answer."""
        ...


def response(
    status: int, body: bytes, *, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> bytes:
    """The bytes of one whole answer."""
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items()) if headers else ""
    head = f"HTTP/1.1 {status} {phrase(status)}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}{extra}\r\n".encode("latin-1", "replace") + body


def chunked_head(status: int, *, content_type: str, headers: dict[str, str]) -> bytes:
    """The head of an answer whose body follows in chunks."""
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} {phrase(status)}\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n"
    return f"{head}{extra}\r\n".encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """One chunk of a body; `data` isn't empty, for that would be the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def phrase(status: int) -> str:
    """The reason phrase of a status code; codes outside the standard have a plain one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class Exchange:
    """One request and the way to answer it.

    `admitted` when it takes a place of a bounded server, `model_call` when it's one that the counters know.
    """

    __slots__ = ("_connection", "admitted", "body", "done", "head", "model_call")

    def __init__(self, connection: Connection, head: Head, body: bytes) -> None:
        self._connection = connection
        self.head = head
        self.body = body
        self.done = False
        self.admitted = False
        self.model_call = False

    def send(self, data: bytes) -> None:
        """Write a whole answer and go on to the next request of this connection."""
        self.done = True
        self._connection.write(data)
        self._connection.finished()

    def send_part(self, data: bytes) -> None:
        """Write a piece of an answer; the request stays unanswered."""
        self._connection.write(data)

    def cut(self, data: bytes) -> None:
        """Write a piece of an answer and close in good order."""
        self.done = True
        self._connection.write(data)
        self._connection.transport.close()

    def reset(self) -> None:
        """Close at once with a TCP reset."""
        self.done = True
        self._connection.reset()


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests are answered one after the other."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._buffer = bytearray()
        self._chunks = bytearray()
        self._head: Head | None = None
        self._pending: Exchange | None = None
        self.transport: asyncio.Transport
        self.dropped = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and report the connection."""
        self.transport = cast("asyncio.Transport", transport)
        self._service.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's own signature
        """Report the end, with the request that is left without an answer."""
        pending = self._pending
        self._pending = None
        self._service.closed(self, pending if pending is not None and not pending.done else None)

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a request is whole."""
        self._buffer += data
        if self._pending is None:
            self._read()

    def write(self, data: bytes) -> None:
        """Write unless the client is gone."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def finished(self) -> None:
        """The pending request has its answer; take up the next one, if it is here already."""
        pending, self._pending = self._pending, None
        if pending is not None and pending.head.headers.get("connection", "").lower() == "close":
            self.transport.close()
        elif self._buffer:
            asyncio.get_running_loop().call_soon(self._read)

    @property
    def busy(self) -> bool:
        """Whether a request, or a part of one, is here without its answer."""
        return self._pending is not None or self._head is not None or bool(self._buffer)

    def drop(self) -> None:
        """Close at once because the server ends."""
        self.dropped = True
        self.transport.abort()

    def reset(self) -> None:
        """Close with a TCP reset: lingering for 0 s makes the kernel send RST in place of FIN."""
        sock: socket.socket | None = self.transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _read(self) -> None:
        if self._pending is not None or self.transport.is_closing():
            return
        try:
            request = self._take_request()
        except ValueError:
            self.write(response(400, b'{"error": {"message": "not HTTP/1.1"}}'))
            self.transport.close()
            return
        if request is not None:
            self._pending = request
            self._service.handle(request)

    def _take_request(self) -> Exchange | None:
        if self._head is None:
            end = self._buffer.find(HEAD_END)
            if end < 0:
                return None
            self._head = _parse_head(self._buffer[:end].decode("latin-1"))
            del self._buffer[: end + len(HEAD_END)]
            if self._head.headers.get("expect", "").lower() == "100-continue":
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        headers = self._head.headers
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._take_chunks()
        else:
            body = self._take(int(headers.get("content-length", "0")))
        if body is None:
            return None
        head, self._head = self._head, None
        return Exchange(self, head, body)

    def _take(self, size: int) -> bytes | None:
        if len(self._buffer) < size:
            return None
        with memoryview(self._buffer) as view:
            data = bytes(view[:size])
        del self._buffer[:size]
        return data

    def _take_chunks(self) -> bytes | None:
        """The chunks so far are kept apart: a large upload comes in many pieces, each looked at once."""
        at, body = 0, None
        while body is None and (line_end := self._buffer.find(b"\r\n", at)) >= 0:
            size = int(bytes(self._buffer[at:line_end]).partition(b";")[0], 16)
            start = line_end + 2
            end = start + size + 2
            if len(self._buffer) < end:
                break
            self._chunks += self._buffer[start : start + size]
            at = end
            if size == 0:
                body = bytes(self._chunks)
                self._chunks.clear()
        del self._buffer[:at]
        return body


def _parse_head(text: str) -> Head:
    first, *lines = text.split("\r\n")
    method, path, _ = first.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    path, _, query = path.partition("?")
    return Head(method, path, headers, query)
