"""Rate limits as a provider keeps them: token buckets and the headers that tell about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

BURST_SECONDS = 1.0
"""How much of its rate a bucket saves up."""
SLACK = 1e-6
"""So much may be missing: after the wait that was told, rounding must not refuse again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the limits say to one request: 0 s to wait when it may pass, and the headers of its answer."""

    wait: float
    headers: dict[str, str]


class Throttle:
    """Requests and tokens a minute; a refused request is not charged."""

    def __init__(self, *, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        rates = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._buckets = {what: _Bucket(rate / 60) for what, rate in rates.items() if rate is not None}

    def admit(self, *, tokens: int, now: float) -> Verdict:
        """Charge one request of `tokens` at the time `now` (seconds), or tell how long it has to wait."""
        if not self._buckets:
            return Verdict(0.0, {})
        costs = {"requests": 1, "tokens": tokens}
        for bucket in self._buckets.values():
            bucket.refill(now)
        wait = max(bucket.wait(costs[what]) for what, bucket in self._buckets.items())
        headers: dict[str, str] = {}
        for what, bucket in self._buckets.items():
            if wait <= 0:
                bucket.level -= costs[what]
            headers[f"x-ratelimit-limit-{what}"] = f"{bucket.rate * 60:.0f}"
            headers[f"x-ratelimit-remaining-{what}"] = f"{max(0, math.floor(bucket.level))}"
            headers[f"x-ratelimit-reset-{what}"] = (
                f"{math.ceil((bucket.capacity - bucket.level) / bucket.rate * 1000)}ms"
            )
        if wait > 0:
            headers["retry-after"] = f"{math.ceil(wait)}"
            headers["retry-after-ms"] = f"{math.ceil(wait * 1000)}"
        return Verdict(wait, headers)


class _Bucket:
    """Filled at `rate` a second up to `capacity`; a request above the capacity passes when full and leaves a debt."""

    __slots__ = ("_at", "capacity", "level", "rate")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.capacity = max(rate * BURST_SECONDS, 1.0)
        self.level = self.capacity
        self._at = -math.inf

    def refill(self, now: float) -> None:
        self.level = min(self.capacity, self.level + (now - self._at) * self.rate)
        self._at = now

    def wait(self, cost: float) -> float:
        missing = min(cost, self.capacity) - self.level
        return missing / self.rate if missing > SLACK else 0.0
