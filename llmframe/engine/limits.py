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
        self._pace_from = 0.0
        self._last_start = float("-inf")
        self._pacing: dict[asyncio.Timeout, None] = {}  # in order of arrival
        self._closed_until = 0.0
        self._episodes = 0
        self.generation = 0
        self._ramp: int | None = None
        self.in_flight = 0
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
        await self._place()
        try:
            await self._turn()
        except BaseException:
            self.exit()
            raise
        self._last_start = self._clock()
        return self.generation

    def exit(self) -> None:
        """The request has ended, however it did."""
        self.in_flight -= 1
        self._wake()

    def succeeded(self, *, generation: int) -> None:
        """The server answered a request of `generation`: the ramp doubles, the next cooldown starts short again.

        An answer to a request that left before the last cooldown began says nothing about how it goes after it.
        """
        if generation != self.generation:
            return
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
        own = min(MAX_COOLDOWN, 2.0 ** min(self._episodes, 10)) if retry_after is None or self._episodes else 0.0
        if fresh:
            self.generation += 1
            self._episodes += 1
            self._ramp = 1
            self._closed_until = max(self._closed_until, now + max(own, retry_after or 0.0))
        elif retry_after is not None:
            self._closed_until = max(self._closed_until, now + retry_after)

    def _set_pace(self) -> None:
        rate = min(self._rates) / 60 if self._rates else None
        if rate is None:
            self._pace = None
        else:
            capacity = max(1.0, rate * BURST_SECONDS)
            if self._pace is not None and (self._pace.max_rate, self._pace.time_period) == (capacity, capacity / rate):
                return
            # A new bucket is empty: it waits until the old one would be, or a change of callers were a burst.
            self._pace, self._pace_from = AsyncLimiter(capacity, capacity / rate), self._last_start + capacity / rate
        for turn in list(self._pacing):
            if not turn.expired():
                turn.reschedule(0.0)

    async def _place(self) -> None:
        """Wait out a cooldown and find a place on the ramp."""
        try:
            while True:
                pause = self._closed_until - self._clock()
                if pause > 0:
                    await asyncio.sleep(pause)
                elif self._ramp is not None and self.in_flight >= self._ramp:
                    place = asyncio.get_running_loop().create_future()
                    self._waiting.append(place)
                    await place
                else:
                    break
        except BaseException:
            self._wake()  # the place it was told of is the next one's
            raise
        self.in_flight += 1

    async def _turn(self) -> None:
        """Wait for the pace; a pace that changes meanwhile, or a cooldown that begins, is waited for again."""
        while (pace := self._pace) is not None:
            pause = max(self._closed_until, self._pace_from) - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            try:
                async with asyncio.timeout(None) as turn:
                    self._pacing[turn] = None
                    try:
                        await pace.acquire()
                    finally:
                        del self._pacing[turn]
            except TimeoutError:  # the pace has changed
                continue
            if pace is self._pace and self._closed_until <= self._clock():
                return

    def _wake(self) -> None:
        free = len(self._waiting) if self._ramp is None else max(0, self._ramp - self.in_flight)
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1
