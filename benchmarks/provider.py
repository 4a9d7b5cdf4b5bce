"""llmframe's own simulated provider in a process of its own: limits, faults and an outage.

    python benchmarks/provider.py '{"latency": 0.2, "requests_per_minute": 600}'

Options beside those of `llmframe.testing.Provider`: `shares` (of requests that meet a fault, by its name; drawn from
the row and how often it was asked, whatever the words of a second ask are, so that every run of every version meets the
same ones), `dead_after` and `dead_for` (from that request on it is down for so many seconds).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter
from typing import Any

import wire

from llmframe.testing import Cut, Hang, Object, Provider, Status

TICK = 0.25  # s between two samples of the counters
MARK = re.compile(r"row-\d+")
FAULTS = {
    "status_500": Status(500),
    "hang": Hang(),
    "schema": Object({"echo": "row-", "label": "sideways", "score": "much"}),
    "cut": Cut(),
}


class Desk:
    """What becomes of the requests that pass the limits."""

    def __init__(self, *, shares: dict[str, float], dead_after: int, dead_for: float, options: dict[str, Any]) -> None:
        self.shares, self.dead_after, self.dead_for = shares, dead_after, dead_for
        self.provider = Provider(record=False, answer=self.answer, **options)
        self.samples: list[tuple[float, int, int, int]] = []
        self.zero()

    def zero(self) -> None:
        self.asked: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.first: float | None = None
        self.passed = 0
        self.before_death: int | None = None
        self.probes = 0
        self.samples.clear()

    def answer(self, _: str, request: dict[str, Any]) -> object:
        self.first = self.first or time.monotonic()
        self.passed += 1
        if self.passed == self.dead_after:
            asyncio.get_running_loop().call_soon(self.die)
        # A second ask ends with the words of the library: the first mark in the messages is the row's.
        found = MARK.search(" ".join(str(message.get("content")) for message in request["messages"]))
        mark = found.group() if found else ""
        self.asked[mark] += 1
        fault = self.drawn(mark, self.asked[mark])
        if fault is not None:
            self.faults[fault] += 1
            return FAULTS[fault]
        return {"echo": mark, "label": "positive", "score": 0.5}

    def drawn(self, mark: str, ask: int) -> str | None:
        digest = hashlib.blake2b(f"{mark} {ask}".encode(), digest_size=8).digest()
        chance = int.from_bytes(digest, "little") / 2**64
        for name, share in self.shares.items():
            chance -= share
            if chance < 0:
                return name
        return None

    def die(self) -> None:
        self.before_death = self.provider.requests
        self.provider.down()
        asyncio.get_running_loop().call_later(self.dead_for, self.rise)

    def rise(self) -> None:
        self.probes = self.since_death()
        self.before_death = None
        self.provider.up()

    def since_death(self) -> int:
        """Requests of the outage, also of one that outlives the run."""
        return self.probes if self.before_death is None else self.provider.requests - self.before_death

    def sample(self) -> None:
        while True:
            time.sleep(TICK)
            seen = self.provider.statuses
            self.samples.append((time.monotonic(), seen[200], seen[429], self.provider.in_flight))

    def reset(self) -> None:
        self.provider.reset()
        self.zero()

    def stats(self) -> dict[str, object]:
        provider, first = self.provider, self.first or time.monotonic()
        return {
            "requests": provider.requests,
            "n429": provider.statuses[429],
            "most_in_flight": provider.max_in_flight,
            "prompt_tokens": provider.prompt_tokens,
            "batches": provider.batches.created,
            "paid_lines": provider.batches.lines,
            "faults": dict(self.faults),
            "probes": self.since_death(),
            "samples": [(round(at - first, 2), *rest) for at, *rest in self.samples if at >= first],
        }


def main() -> None:
    options: dict[str, Any] = json.loads(sys.argv[1])
    shares = options.pop("shares", {})
    dead_after, dead_for = options.pop("dead_after", 0), options.pop("dead_for", 0.0)
    desk = Desk(shares=shares, dead_after=dead_after, dead_for=dead_for, options=options)
    threading.Thread(target=desk.sample, daemon=True).start()
    wire.obey(desk.provider.base_url, stats=desk.stats, reset=desk.reset)


if __name__ == "__main__":
    main()
