"""Admission to one endpoint, key and model: pace, one shared cooldown, a ramp after it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from aiolimiter import AsyncLimiter

BURST_SECONDS: Final = 0.1
"""Seconds of the rate that may pass at once: capacity 1 loses 4 % of 6,000 a minute, a whole minute's worth
would let twice the rate pass in the first one."""

MAX_COOLDOWN: Final = 60.0
"""Seconds: the longest cooldown of our own choosing."""

FULL_RAMP: Final = 256
"""Requests in flight from which the ramp after a cooldown is over."""


class Gate:
    """What all calls of the process to the same endpoint, key and model pass through.

    A request takes its turn in three steps: it waits out a cooldown, finds a place on the ramp (only after a
    cooldown), then is paced. In every window of w seconds at most `rate·w + max(1, rate·0.1 s)` requests start.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rates: Counter[float] = Counter()
        self._pace: AsyncLimiter | None = None
        self._closed_until = 0.0
        self._episodes = 0
        self.generation = 0
        self._ramp: int | None = None
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def join(self, requests_per_minute: float | None) -> None:
        """A call with this rate begins; the lowest stated rate among running calls holds."""
        if requests_per_minute is not None:
            self._rates[requests_per_minute] += 1
            self._set_pace()

    def leave(self, requests_per_minute: float | None) -> None:
        """A call with this rate has ended."""
        if requests_per_minute is not None:
            self._rates[requests_per_minute] -= 1
            self._rates += Counter()
            self._set_pace()

    async def enter(self) -> int:
        """Wait for a turn; returns the generation of cooldowns that the request belongs to."""
        while True:
            pause = self._closed_until - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            if self._ramp is not None and self._in_flight >= self._ramp:
                await self._place()
                continue
            break
        self._in_flight += 1
        try:
            while self._pace is not None:
                pace = self._pace
                await pace.acquire()
                pause = self._closed_until - self._clock()
                if pause <= 0:
                    break
                await asyncio.sleep(pause)
        except BaseException:
            self.exit()
            raise
        return self.generation

    def exit(self) -> None:
        """The request has ended, however it did."""
        self._in_flight -= 1
        self._wake()

    def succeeded(self) -> None:
        """The server answered: the ramp doubles, the next cooldown starts short again."""
        self._episodes = 0
        if self._ramp is not None:
            self._ramp = None if self._ramp * 2 > FULL_RAMP else self._ramp * 2
            self._wake()

    def limited(self, retry_after: float | None, *, generation: int) -> None:
        """The server said 429 to a request of `generation`.

        All requests wait `retry_after`, or `min(60, 2^k)` seconds after the k-th episode in a row; a request that
        left before the last cooldown began doesn't count as another episode.
        """
        now = self._clock()
        fresh = generation == self.generation
        own = min(MAX_COOLDOWN, 2.0**self._episodes) if retry_after is None or self._episodes else 0.0
        if fresh:
            self.generation += 1
            self._episodes += 1
            self._ramp = 1
            self._closed_until = max(self._closed_until, now + max(own, retry_after or 0.0))
        elif retry_after is not None:
            self._closed_until = max(self._closed_until, now + retry_after)

    def _set_pace(self) -> None:
        if not self._rates:
            self._pace = None
            return
        rate = min(self._rates) / 60
        capacity = max(1.0, rate * BURST_SECONDS)
        if self._pace is None or (self._pace.max_rate, self._pace.time_period) != (capacity, capacity / rate):
            self._pace = AsyncLimiter(capacity, capacity / rate)

    async def _place(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        finally:
            if not place.done() or place.cancelled():
                if place in self._waiting:
                    self._waiting.remove(place)
                else:
                    self._wake()

    def _wake(self) -> None:
        free = len(self._waiting) if self._ramp is None else max(0, self._ramp - self._in_flight)
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1
