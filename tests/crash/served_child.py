"""A simulated provider in a process of its own: logs every event, and sends a signal at the k-th.

Events are requests that arrive and replies that have gone out; the calls of the Batch API, `upload` when its work has
been done and `upload-replied` when the answer has gone out. A line of a batch that is answered is logged as `paid`, but
is no event that a signal waits for: all lines of a batch are answered in one moment.

For each line of stdin, a JSON list of a name and its arguments, it does what is named and prints that name.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import os
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llmframe.testing import Hang, Provider, Step, digest
from llmframe.testing.file_desk import Route
from llmframe.testing.http import Exchange
from llmframe.testing.tally import prompt_of


class Log:
    """Writes `<kind> <digest of the prompt>` for every event, and signals a process at the one that was named."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", buffering=1)
        self._armed: tuple[int, int] | None = None
        self._left = 0

    def arm(self, pid: int, k: int, number: int) -> None:
        """Send the signal `number` to a process at the k-th event from now on."""
        self._armed, self._left = (pid, number), k

    def disarm(self) -> None:
        self._armed = None

    def event(self, kind: str, prompt: str) -> None:
        self.note(kind, digest(prompt))
        self.count()

    def call(self, kind: str, what: str) -> None:
        """A call of the Batch API, and the id of its file or batch."""
        self.note(kind, what)
        self.count()

    def note(self, kind: str, what: str) -> None:
        self._file.write(f"{kind} {what}\n")

    def count(self) -> None:
        if self._armed is not None:
            self._left -= 1
            if self._left == 0:
                os.kill(*self._armed)
                self._armed = None


class Desk:
    """Answers, unless it was told to withhold the answers from the n-th request on."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._answers: float = math.inf
        self._trap: tuple[int, int] | None = None
        self._places = 0
        self.in_batch = False

    def trap(self, pid: int, k: int, number: int, places: int) -> None:
        """Withhold the answers to the last `places` of the next `k` requests, and signal a process at the k-th."""
        self._answers, self._trap, self._places = k - places, (pid, number), places

    def answer(self, prompt: str, request: dict[str, Any]) -> Step | None:
        if self.in_batch:
            self._log.note("paid", digest(prompt))
            return None
        self._log.event("asked", prompt)
        self._answers -= 1
        if self._answers >= 0:
            return None
        if self._trap is not None and self._answers == -self._places:
            os.kill(*self._trap)
            self._trap = None
        return Hang()

    def free(self) -> None:
        self._answers, self._trap = math.inf, None


def serve(path: Path, seconds: float) -> None:
    log = Log(path)
    desk = Desk(log)
    provider = Provider(latency=seconds, answer=desk.answer, record=False)
    delivery = provider._desk._delivery
    answered = delivery._answered

    def replied(exchange: Exchange, response: Any) -> None:
        answered(exchange, response)
        prompt = prompt_of(json.loads(exchange.body))
        asyncio.get_running_loop().call_soon(log.event, "replied", prompt)  # by then the reply has been written

    delivery._answered = replied
    batch_call = provider._desk._batch_call

    def called(exchange: Exchange, route: Route) -> None:
        desk.in_batch = True
        batch_call(exchange, route)
        desk.in_batch = False

    provider._desk._batch_call = called
    provider.batches.log = log.call

    def batches(settings: dict[str, Any]) -> None:
        """Set attributes of the Batch API, such as `polls`."""
        for word, value in settings.items():
            setattr(provider.batches, word, value)

    def expire(times: int) -> None:
        """Let the next batches expire half-way."""
        provider.batches.ends("expired", times=times)

    works: dict[str, Callable[..., None]] = {"arm": log.arm, "disarm": log.disarm, "trap": desk.trap, "free": desk.free}
    works |= {"batches": batches, "expire": expire}
    with provider:
        tell(provider.base_url)
        for line in sys.stdin:
            name, *given = json.loads(line)
            if name == "settle":
                settle(provider)
            elif name == "finish":
                desk.in_batch = True  # nobody is connected
                provider.batches.finish()
                desk.in_batch = False
            else:
                provider._in_loop(functools.partial(works[name], *given))
            tell(name)


def settle(provider: Provider) -> None:
    """Return when all that was sent by processes that have ended has been read."""
    with urllib.request.urlopen(f"{provider.base_url}/models") as answer:  # noqa: S310 - accepted in order
        answer.read()
    while provider.connections:
        threading.Event().wait(0.001)


def tell(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 - how it tells


if __name__ == "__main__":
    serve(Path(sys.argv[1]), float(sys.argv[2]))
