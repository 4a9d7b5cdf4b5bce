"""The line that workers pull from: fresh jobs in order, and jobs that wait for another attempt."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar, cast

J = TypeVar("J")

_END: Final = object()


class WorkQueue(Generic[J]):
    """Jobs for a bounded number of workers.

    Fresh jobs are drawn one at a time, so nothing is made ahead of time; a `None` among them is no job, others on
    the loop have their turn there. A job that waits for its next attempt lies in a heap by due time: it holds no
    worker. `take` answers `None` when all jobs are done.
    """

    def __init__(self, fresh: Iterator[J | None], *, clock: Callable[[], float]) -> None:
        self._fresh: Iterator[J | None] | None = fresh
        self._clock = clock
        self._delayed: list[tuple[float, int, J]] = []
        self._numbers = itertools.count()
        self._running = 0
        self._idle: dict[asyncio.Future[None], None] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._resting = False

    async def take(self) -> J | None:
        """The next job: one that is due before a fresh one; waits while neither is there."""
        while True:
            now = self._clock()
            if self._delayed and self._delayed[0][0] <= now:
                self._running += 1
                job = heapq.heappop(self._delayed)[2]
                self._set_alarm()
                return job
            if self._fresh is not None:
                job = None if self._resting else next(self._fresh, _END)
                if job is None:
                    await self._rest()
                    continue
                if job is not _END:
                    self._running += 1
                    return cast("J", job)
                self._fresh = None
            if not self._delayed and not self._running:
                self._wake_all()
                return None
            await self._wait()

    def again(self, job: J, *, delay: float) -> None:
        """Put a taken job back; it's due in `delay` seconds."""
        entry = (self._clock() + delay, next(self._numbers), job)
        heapq.heappush(self._delayed, entry)
        self._running -= 1
        if self._delayed[0] is entry:
            self._set_alarm()

    def more(self, job: J) -> None:
        """Add a job that came of one that is taken; it's due at once."""
        self._running += 1
        self.again(job, delay=0.0)

    def done(self) -> None:
        """A taken job has left its worker."""
        self._running -= 1
        # only at the end: those who wait would find nothing new, thousands of them at every answer
        if not self._running and not self._delayed:
            self._wake_all()

    def left(self) -> list[J]:
        """The jobs that wait for another attempt."""
        return [job for _, _, job in self._delayed]

    def hurry(self) -> None:
        """Make every waiting job due now: the run has stopped and they only need to be told."""
        self._delayed = [(0.0, number, job) for _, number, job in self._delayed]
        heapq.heapify(self._delayed)
        self._wake_all()

    async def _rest(self) -> None:
        """Let others on the loop have their turn; meanwhile no other worker draws."""
        first, self._resting = not self._resting, True
        try:
            await asyncio.sleep(0)
        finally:
            if first:
                self._resting = False

    async def _wait(self) -> None:
        """Wait for a job that comes back, or for the end: one worker a job, or each of thousands looks for each."""
        woken = asyncio.get_running_loop().create_future()
        self._idle[woken] = None
        if self._alarm is None:
            self._set_alarm()
        try:
            await woken
        except asyncio.CancelledError:
            self._idle.pop(woken, None)
            self._set_alarm()  # it may have been the one who was woken
            raise

    def _set_alarm(self) -> None:
        """Wake one who waits when the next job is due."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._idle and self._delayed:
            wait = max(0.0, self._delayed[0][0] - self._clock())
            self._alarm = asyncio.get_running_loop().call_later(wait, self._wake_one)

    def _wake_one(self) -> None:
        self._alarm = None
        while self._idle:
            woken = next(iter(self._idle))
            del self._idle[woken]
            if not woken.done():
                woken.set_result(None)
                return

    def _wake_all(self) -> None:
        idle, self._idle = self._idle, {}
        self._set_alarm()
        for woken in idle:
            if not woken.done():
                woken.set_result(None)
