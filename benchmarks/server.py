"""A server that costs less than any client of it: one kind of answer, no JSON parsing, uvloop where it is installed.

    python benchmarks/server.py '{"latency": 0.05}'

It reads the `row-<digits>` of a request and answers it in the form of `Review`. Options: `latency` (s), `knee` (past so
many requests in flight each one more makes all answers later, in proportion: the throughput stays, the wait grows),
`still_after` and `still_for` (from that request on an answer takes so many seconds), `logprobs` (every answer tells its
15 tokens, each with the 20 likeliest at its place: 19 kB).
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from array import array
from concurrent.futures import Future
from typing import Any, cast

import wire
from told_tokens import entries

MARK = 10  # length of `row-000000`
ANSWER = (
    b'{"id":"c-1","object":"chat.completion","created":1700000000,"model":"simulated","choices":[{"index":0,"message":'
    b'{"role":"assistant","refusal":null,"content":"{\\"echo\\":\\"%b\\",\\"label\\":\\"positive\\",\\"score\\":0.5}"},'
    b'"logprobs":%b,"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":16,"total_tokens":66}}'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


class Counts:
    def __init__(self) -> None:
        self.in_flight = 0
        self.zero()

    def zero(self) -> None:
        self.requests = self.most = 0
        self.first = self.last = self.full = 0.0
        self.seconds = array("d")
        self.marks: set[bytes] = set()


class Desk:
    def __init__(
        self,
        *,
        latency: float = 0.0,
        knee: int = 0,
        still_after: int = 0,
        still_for: float = 0.0,
        logprobs: bool = False,
    ) -> None:
        self.latency, self.knee = latency, knee
        self.still_after, self.still_for = still_after, still_for
        self.answer = whole(logprobs=logprobs)
        self.counts = Counts()
        self.loop: asyncio.AbstractEventLoop

    def took(self, connection: Connection, mark: bytes) -> None:
        counts, now = self.counts, time.monotonic()
        counts.requests += 1
        counts.in_flight += 1
        counts.marks.add(mark)
        counts.first = counts.first or now
        if counts.in_flight > counts.most:
            counts.most, counts.full = counts.in_flight, now
        delay = self.latency
        if self.knee and counts.in_flight > self.knee:
            delay *= counts.in_flight / self.knee
        if self.still_after and counts.requests > self.still_after:
            delay = self.still_for
        if delay:
            self.loop.call_later(delay, self.give, connection, mark, now)
        else:
            self.give(connection, mark, now)

    def give(self, connection: Connection, mark: bytes, since: float) -> None:
        counts = self.counts
        counts.in_flight -= 1
        counts.last = time.monotonic()
        counts.seconds.append(counts.last - since)
        if not connection.transport.is_closing():
            connection.transport.write(mark.join(self.answer))

    def stats(self) -> dict[str, object]:
        counts, usage = self.counts, resource.getrusage(resource.RUSAGE_SELF)
        ordered = sorted(counts.seconds)
        return {
            "requests": counts.requests,
            "distinct": len(counts.marks),
            "in_flight": counts.in_flight,
            "most_in_flight": counts.most,
            "first": counts.first,
            "span": counts.last - counts.first,
            "full_after": counts.full - counts.first,
            "mean_in_flight": sum(ordered) / (counts.last - counts.first) if len(ordered) > 1 else 0.0,
            "p50": ordered[len(ordered) // 2] if ordered else None,
            "cpu": usage.ru_utime + usage.ru_stime,
        }


class Connection(asyncio.Protocol):
    """Keep-alive HTTP/1.1 with a content length, one request at a time: all that these clients speak."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.data = b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.data[:end].lower()
        _, found, rest = head.partition(b"content-length:")
        if not found or len(self.data) < end + 4 + int(rest.partition(b"\r\n")[0]):
            return
        at = self.data.find(b"row-", end)
        mark, self.data = self.data[at : at + MARK], b""
        self.desk.took(self, mark if at >= 0 else b"row-000000")


def whole(*, logprobs: bool) -> list[bytes]:
    """An answer with its head, cut where the mark of its row stands."""
    mark = b"." * MARK
    told = {"content": entries(mark.decode()), "refusal": None} if logprobs else None
    body = ANSWER % (mark, json.dumps(told, separators=(",", ":")).encode())
    return (HEAD % len(body) + body).split(mark)


def new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - faster where it is there, never needed
    except ImportError:
        return asyncio.new_event_loop()
    return cast("asyncio.AbstractEventLoop", uvloop.new_event_loop())


def serve(desk: Desk, port: Future[int]) -> None:
    loop = desk.loop = new_loop()
    serving = loop.create_server(lambda: Connection(desk), "127.0.0.1", 0, backlog=1024)
    port.set_result(loop.run_until_complete(serving).sockets[0].getsockname()[1])
    loop.run_forever()


def main() -> None:
    said: dict[str, Any] = json.loads(sys.argv[1])
    desk, port = Desk(**said), Future[int]()
    threading.Thread(target=serve, args=(desk, port), daemon=True).start()
    wire.obey(f"http://127.0.0.1:{port.result()}/v1", stats=desk.stats, reset=desk.counts.zero)


if __name__ == "__main__":
    main()
