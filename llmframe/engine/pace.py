"""Requests a minute: what callers state, what the server says, what its 429s teach; kept by aiolimiter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from aiolimiter import AsyncLimiter

from llmframe.engine.learning import LearntRate

BURST_SECONDS: Final = 0.5
"""Seconds of the rate that may pass at once. A whole minute's worth would let twice the rate pass in the first minute;
servers that count by the second let half of one pass; a capacity of 1 loses 4 % of 6,000 a minute to timers."""

LONGEST_CLOSED: Final = 60.0
"""Seconds after which a limit a minute is whole again, whatever a server has said: it may take its word back, but only
in an answer, and nothing is answered as long as nothing goes."""


class Pace:
    """The turns of one endpoint, key and model, for one caller that waits at a time.

    In every window of w seconds at most `rate·w + max(1, rate·0.5 s)` turns are given.

    Parameters
    ----------
    clock
        Seconds of the running loop.
    changed
        Called when a wait may have become another one.

    Attributes
    ----------
    rate
        Requests a second; `None` without a limit.
    """

    def __init__(self, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._clock, self._changed = clock, changed
        self._stated: Counter[float] = Counter()
        self._server: float | None = None
        self._learnt = LearntRate()
        self._limiter: AsyncLimiter | None = None
        self._is_new = False
        self._last_turn = float("-inf")
        self._closed_until = 0.0
        self.rate: float | None = None

    @property
    def told(self) -> bool:
        """Whether a caller or the server has stated a rate."""
        return bool(self._stated) or self._server is not None

    def join(self, per_minute: float | None) -> None:
        """A call with this rate begins; the lowest of all running calls holds."""
        if per_minute is not None:
            self._stated[per_minute] += 1
            self._renew()

    def leave(self, per_minute: float | None) -> None:
        """A call with this rate has ended."""
        if per_minute is not None:
            self._stated[per_minute] -= 1
            self._stated += Counter()
            self._renew()

    def observed(self, *, limit: float | None, remaining: float | None, since: int, sent_at: float) -> None:
        """The server says what it allows a minute, and what was left of it when a request came, sent at `sent_at`.

        A word of the server only ever lowers what may go. It hadn't seen the `since` requests that were sent after that
        one, and counts them, as we do what has been refilled since.
        """
        if limit:
            self._server = limit / 60
            self._renew()
        rate = self.rate
        if remaining is not None and rate is not None and remaining - since < 1:
            until = min(sent_at + (1 - remaining + since) / rate, self._clock() + LONGEST_CLOSED)
            self._closed_until = max(self._closed_until, until)

    def sent(self, now: float) -> None:
        """A request goes out, whether it had to wait for a turn or not."""
        self._last_turn = now
        self._learnt.sent(now)

    def answered(self, sent_at: float) -> None:
        """The server took a request that was sent then."""
        if self._learnt.answered(self._clock(), sent_at=sent_at):
            self._renew()

    def refused(self, number: int) -> None:
        """The server refused the request of this number."""
        self._learnt.refused(number)

    def limited(self, number: int, *, least: float = 0.0) -> None:
        """An episode of 429s has begun with the request of this number, which isn't about tokens.

        `least` is a rate, in requests a second, that the server has been seen to keep up.
        """
        self._learnt.limited(self._clock(), number=number, ceiling=self._server, least=least)
        self._renew()

    def closed(self, now: float) -> float:
        """Seconds for which there is no turn, because the server says that nothing is left."""
        return self._closed_until - now

    @property
    def free(self) -> bool:
        """Whether a turn would come at once."""
        limiter = self._limiter
        if limiter is None:
            return True
        return self._spent(limiter) + 1 <= limiter.max_rate if self._is_new else limiter.has_capacity()

    async def turn(self) -> None:
        """Wait for a turn."""
        if (limiter := self._limiter) is not None:
            if self._is_new:  # it stands where the old one would, at least: a change of rates is no burst
                self._is_new = False
                await limiter.acquire(self._spent(limiter))
            await limiter.acquire()

    def _renew(self) -> None:
        stated = min(self._stated) / 60 if self._stated else None
        known = [rate for rate in (stated, self._server, self._learnt.rate) if rate is not None]
        rate = self.rate = min(known, default=None)
        if rate is None:
            changed, self._limiter = self._limiter is not None, None
        else:
            capacity = max(1.0, rate * BURST_SECONDS)
            old = self._limiter
            changed = old is None or (old.max_rate, old.time_period) != (capacity, capacity / rate)
            if changed:
                self._limiter = AsyncLimiter(capacity, capacity / rate)
                self._is_new = True
        if changed:
            self._changed()

    def _spent(self, limiter: AsyncLimiter) -> float:
        """What of a new bucket is gone, as if the last request had emptied it."""
        refilled = (self._clock() - self._last_turn) * limiter.max_rate / limiter.time_period
        return max(0.0, limiter.max_rate - refilled)
