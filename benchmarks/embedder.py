"""A server of embeddings that costs little: a vector's first number is its text's, the others are always the same.

    python benchmarks/embedder.py '{"latency": 0.05}'

It finds the `row-<digits>` of each text without parsing JSON, and answers in base64. Options: `dimensions` where a
request says none, `latency` (s).
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import resource
import struct
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any, cast

import wire
from server import new_loop

MARK = re.compile(rb"row-(\d{6})")
ASKED = re.compile(rb'"dimensions": ?(\d+)')
OWN = struct.Struct("<3f")  # 12 bytes are 16 characters of base64: what follows stays the same
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
ENTRY = b'{"object":"embedding","index":%d,"embedding":"%b%b"}'
BODY = b'{"object":"list","data":[%b],"model":"simulated","usage":{"prompt_tokens":%d,"total_tokens":%d}}'
TOKENS = 25  # of each text


class Desk:
    def __init__(self, *, dimensions: int = 128, latency: float = 0.0) -> None:
        self.dimensions, self.latency = dimensions, latency
        self.loop: asyncio.AbstractEventLoop
        self.tails: dict[int, bytes] = {}
        self.zero()

    def zero(self) -> None:
        self.requests = self.texts = 0
        self.first = 0.0

    def answer(self, request: bytes) -> bytes:
        self.requests += 1
        self.first = self.first or time.monotonic()
        marks = MARK.findall(request)
        self.texts += len(marks)
        asked = ASKED.search(request)
        tail = self.tail(int(asked[1]) if asked else self.dimensions)
        data = b",".join(
            ENTRY % (at, base64.b64encode(OWN.pack(float(mark), 0.5, 0.25)), tail) for at, mark in enumerate(marks)
        )
        body = BODY % (data, TOKENS * len(marks), TOKENS * len(marks))
        return HEAD % len(body) + body

    def tail(self, dimensions: int) -> bytes:
        if dimensions not in self.tails:
            numbers = [1.0 / (at + 1) for at in range(dimensions - 3)]
            self.tails[dimensions] = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers))
        return self.tails[dimensions]

    def stats(self) -> dict[str, object]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu = usage.ru_utime + usage.ru_stime
        return {"requests": self.requests, "texts": self.texts, "first": self.first, "cpu": cpu}


class Connection(asyncio.Protocol):
    """Keep-alive HTTP/1.1 with a content length, one request at a time: all that these clients speak."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.data = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        _, found, rest = bytes(self.data[:end]).lower().partition(b"content-length:")
        if not found or len(self.data) < end + 4 + int(rest.partition(b"\r\n")[0]):
            return
        answer = self.desk.answer(bytes(self.data[end:]))
        self.data.clear()
        self.desk.loop.call_later(self.desk.latency, self.give, answer)

    def give(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)


def serve(desk: Desk, port: Future[int]) -> None:
    loop = desk.loop = new_loop()
    serving = loop.create_server(lambda: Connection(desk), "127.0.0.1", 0, backlog=1024)
    port.set_result(loop.run_until_complete(serving).sockets[0].getsockname()[1])
    loop.run_forever()


def main() -> None:
    said: dict[str, Any] = json.loads(sys.argv[1])
    desk, port = Desk(**said), Future[int]()
    threading.Thread(target=serve, args=(desk, port), daemon=True).start()
    wire.obey(f"http://127.0.0.1:{port.result()}/v1", stats=desk.stats, reset=desk.zero)


if __name__ == "__main__":
    main()
