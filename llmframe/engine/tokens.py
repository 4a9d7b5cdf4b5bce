"""Token buckets: what may be reserved now, what a reservation took in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from llmframe.core.outcome import Usage
from llmframe.errors import UsageError

BURST_SECONDS: Final = 1.0
"""Seconds of the rate that a bucket holds: a minute's worth would let twice the rate pass in the first minute."""

SLACK_SECONDS: Final = 1e-6
"""Seconds of the rate that may be missing: clocks and levels are rounded, a wait that is over must be enough."""

Dimension = Literal["total", "input", "output"]
"""What a limit counts: all tokens, or those of the prompt and those of the reply apart."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one request, estimated or real."""

    input: float
    output: float

    def of(self, dimension: Dimension) -> float:
        """The part that a limit of this dimension counts."""
        if dimension == "input":
            return self.input
        return self.output if dimension == "output" else self.input + self.output


@dataclass(slots=True, eq=False)
class Reservation:
    """Tokens set aside for one request.

    `cost` is what is charged for it, `granted` what all reservations up to this one came to, `taken_from` the limits
    of that moment (one that is set later owes it nothing); `is_open` turns false when it is settled or cancelled.
    """

    cost: Cost
    granted: Cost
    taken_from: tuple[tuple[Dimension, TokenBucket], ...] = ()
    is_open: bool = True


class TokenBucket:
    """The level of one limit, refilled with time up to a second's worth; it starts full.

    In every window of w seconds at most `rate·w + capacity` and one oversized request are granted by those who take
    only when `wait` says 0. A level below 0 is a debt that later requests wait out.

    Parameters
    ----------
    per_minute
        Tokens a minute, above 0.
    now
        Seconds of any clock that doesn't run backwards, as everywhere below.
    """

    __slots__ = ("_at", "_level", "capacity", "rate")

    def __init__(self, per_minute: float, now: float) -> None:
        self.rate = _per_second(per_minute)
        self.capacity = self.rate * BURST_SECONDS
        self._level = self.capacity
        self._at = now

    def level(self, now: float) -> float:
        """Tokens that are there, at most `capacity`; negative after a request that was larger than estimated."""
        if now > self._at:
            self._level = min(self.capacity, self._level + (now - self._at) * self.rate)
            self._at = now
        return self._level

    def wait(self, cost: float, now: float) -> float:
        """Seconds until `cost` may be taken, 0.0 when it may now; an oversized request waits for a full bucket."""
        missing = min(cost, self.capacity) - self.level(now)
        return 0.0 if missing <= self.rate * SLACK_SECONDS else missing / self.rate

    def take(self, cost: float, now: float) -> None:
        """Take `cost`, whatever the level is."""
        self._level = self.level(now) - cost

    def give(self, amount: float, now: float) -> None:
        """Give `amount` back; what doesn't fit is lost."""
        self._level = min(self.capacity, self.level(now) + amount)

    def settle(self, estimate: float, actual: float, now: float) -> None:
        """Put `actual` in the place of `estimate`, taken before: a refund or a debt."""
        self.give(estimate - actual, now)

    def lower(self, to: float, now: float) -> None:
        """Lower the level to `to`; a higher one is ignored, for no report of the server may add tokens."""
        self._level = min(self.level(now), to)

    def set_rate(self, per_minute: float, now: float) -> None:
        """From now on refill at this rate; a debt stays, a level above the new capacity doesn't.

        Raises
        ------
        UsageError
            If `per_minute` isn't a finite number above 0.
        """
        self._level = self.level(now)
        self.rate = _per_second(per_minute)
        self.capacity = self.rate * BURST_SECONDS
        self._level = min(self._level, self.capacity)


class TokenBuckets:
    """The token limits of one endpoint, key and model; without any, everything may go at once.

    A reservation is closed once: what is settled or cancelled again changes nothing.
    """

    __slots__ = ("_buckets", "_granted")

    def __init__(self, per_minute: Mapping[Dimension, float] | None = None, *, now: float = 0.0) -> None:
        self._buckets: dict[Dimension, TokenBucket] = {}
        self._granted = Cost(0, 0)
        for dimension, rate in (per_minute or {}).items():
            self.set_rate(dimension, rate, now)

    def rate(self, dimension: Dimension) -> float | None:
        """Tokens a minute, `None` when there is no such limit."""
        bucket = self._buckets.get(dimension)
        return None if bucket is None else bucket.rate * 60

    def set_rate(self, dimension: Dimension, per_minute: float | None, now: float) -> None:
        """Set or change a limit, `None` removes it; a new one starts full.

        Raises
        ------
        UsageError
            If `per_minute` isn't a finite number above 0.
        """
        if per_minute is None:
            self._buckets.pop(dimension, None)
        elif dimension in self._buckets:
            self._buckets[dimension].set_rate(per_minute, now)
        else:
            self._buckets[dimension] = TokenBucket(per_minute, now)

    def level(self, dimension: Dimension, now: float) -> float | None:
        """Tokens that are there, `None` when there is no such limit."""
        bucket = self._buckets.get(dimension)
        return None if bucket is None else bucket.level(now)

    def wait(self, cost: Cost, now: float) -> float:
        """Seconds until every limit lets `cost` go, 0.0 when it may go now."""
        if not self._buckets:
            return 0.0
        return max(bucket.wait(cost.of(dimension), now) for dimension, bucket in self._buckets.items())

    def reserve(self, cost: Cost, now: float) -> Reservation:
        """Set `cost` aside, whatever the levels are: whoever asks has seen `wait` say 0."""
        self._granted = Cost(self._granted.input + cost.input, self._granted.output + cost.output)
        taken_from = tuple(self._buckets.items())
        for dimension, bucket in taken_from:
            bucket.take(cost.of(dimension), now)
        return Reservation(cost, self._granted, taken_from)

    def settle(self, reservation: Reservation, usage: Usage | None, now: float) -> None:
        """Charge what the provider counted; where it didn't say, the estimate stays charged."""
        given = usage or Usage()
        estimate = reservation.cost
        self._close(
            reservation,
            Cost(
                estimate.input if given.input_tokens is None else given.input_tokens,
                estimate.output if given.output_tokens is None else given.output_tokens,
            ),
            now,
        )

    def cancel(self, reservation: Reservation, now: float) -> None:
        """Give everything back: the request was never sent."""
        self._close(reservation, Cost(0, 0), now)

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return bool(self._buckets)

    def empty(self, now: float) -> None:
        """Believe a server that refuses: nothing is left."""
        for bucket in self._buckets.values():
            bucket.lower(0.0, now)

    def observed(
        self, dimension: Dimension, remaining: float, reservation: Reservation, *, sent_at: float, now: float
    ) -> None:
        """Believe a server that says, in its reply to `reservation`, that fewer tokens are left than we think.

        Notes
        -----
        The server hadn't seen the requests that were reserved after this one, so they are subtracted, by their
        estimates; what has been refilled since it was sent is added, because limits are checked when a request comes:
        without that every reply would cost its own latency times the rate.
        """
        bucket = self._buckets.get(dimension)
        if bucket is not None:
            since = self._granted.of(dimension) - reservation.granted.of(dimension)
            bucket.lower(remaining - since + (now - sent_at) * bucket.rate, now)

    def _close(self, reservation: Reservation, actual: Cost, now: float) -> None:
        if not reservation.is_open:
            return
        reservation.is_open = False
        for dimension, bucket in reservation.taken_from:
            bucket.settle(reservation.cost.of(dimension), actual.of(dimension), now)
        reservation.cost = actual


def _per_second(per_minute: float) -> float:
    if not 0 < per_minute < float("inf"):
        raise UsageError(f"tokens per minute must be a finite number above 0, not {per_minute!r}; None sets no limit")
    return per_minute / 60
