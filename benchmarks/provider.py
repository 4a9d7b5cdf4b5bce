"""llmframe's own simulated provider in a process of its own: limits, faults and an outage.

    python benchmarks/provider.py '{"latency": 0.2, "requests_per_minute": 600}'

Options beside those of `llmframe.testing.Provider`: `silent` (429s carry no header at all), `faults` (shares of
requests, drawn from the prompt and how often it was asked, so that every run meets the same ones), `dead_after` and
`dead_for` (from that request on, every connection is reset for so many seconds).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter
from typing import Any

import wire

from llmframe.testing import BadBody, Cut, Hang, Object, Provider, Reset, Status
from llmframe.testing.throttle import Throttle

TICK = 0.25  # s between two samples of the counters
MARK = re.compile(r"row-\d+")
FAULTS = {
    "status_500": Status(500),
    "hang": Hang(),
    "schema": Object({"echo": "row-", "label": "sideways", "score": "much"}),
    "cut": Cut(),
    "broken": BadBody(),
}


class Misery:
    """What goes wrong with a request, decided when it arrives."""

    def __init__(
        self,
        *,
        faults: dict[str, float] | None = None,
        dead_after: int = 0,
        dead_for: float = 0.0,
        silent: float | None = None,
    ) -> None:
        self.shares = faults or {}
        self.dead_after, self.dead_for, self.silent = dead_after, dead_for, silent
        self.zero()

    def zero(self) -> None:
        self.asked: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.passed = self.probes = 0
        self.first: float | None = None
        self.dead_until: float | None = None
        self.throttle = Throttle(requests_per_minute=self.silent, tokens_per_minute=None)

    def answer(self, _: str, request: dict[str, Any]) -> object:
        now = time.monotonic()
        self.first = self.first or now
        if self.dead_after and self.passed >= self.dead_after:
            self.dead_until = self.dead_until or now + self.dead_for
            if now < self.dead_until:
                self.probes += 1
                return Reset()
        if self.throttle.admit(tokens=0, now=now).wait > 0:
            return Status(429, error_code="rate_limit_exceeded")
        self.passed += 1
        # A second ask ends with the words of the library: the first mark in the messages is the row's.
        found = MARK.search(" ".join(str(message.get("content")) for message in request["messages"]))
        mark = found.group() if found else ""
        self.asked[mark] += 1
        fault = self._drawn(mark, self.asked[mark])
        if fault is not None:
            self.counts[fault] += 1
            return FAULTS[fault]
        return {"echo": mark, "label": "positive", "score": 0.5}

    def _drawn(self, mark: str, ask: int) -> str | None:
        digest = hashlib.blake2b(f"{mark} {ask}".encode(), digest_size=8).digest()
        chance = int.from_bytes(digest, "little") / 2**64
        for name, share in self.shares.items():
            chance -= share
            if chance < 0:
                return name
        return None


def main() -> None:
    said: dict[str, Any] = json.loads(sys.argv[1])
    own = {name: said.pop(name) for name in ("faults", "dead_after", "dead_for") if name in said}
    if said.pop("silent", False):
        own["silent"] = said.pop("requests_per_minute")
    misery = Misery(**own)
    provider = Provider(record=False, answer=misery.answer, **said)
    samples: list[tuple[float, int, int, int]] = []

    def sample() -> None:
        while True:
            time.sleep(TICK)
            seen = provider.statuses
            samples.append((time.monotonic(), seen[200], seen[429], provider.in_flight))

    def reset() -> None:
        provider.reset()
        misery.zero()
        samples.clear()

    def stats() -> dict[str, object]:
        first = misery.first or time.monotonic()
        return {
            "requests": provider.requests,
            "n429": provider.statuses[429],
            "statuses": {str(code): count for code, count in provider.statuses.items()},
            "most_in_flight": provider.max_in_flight,
            "prompt_tokens": provider.prompt_tokens,
            "faults": dict(misery.counts),
            "probes": misery.probes,
            "samples": [(round(at - first, 2), *rest) for at, *rest in samples if at >= first],
        }

    threading.Thread(target=sample, daemon=True).start()
    wire.obey(provider.base_url, stats=stats, reset=reset)


if __name__ == "__main__":
    main()
