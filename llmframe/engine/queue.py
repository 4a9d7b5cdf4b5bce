"""The line that workers pull from: fresh jobs in order, and jobs that wait for another attempt."""

from __future__ import annotations

import asyncio
import contextlib
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
        self._changed = asyncio.Event()
        self._resting = False

    async def take(self) -> J | None:
        """The next job: one that is due before a fresh one; waits while neither is there."""
        while True:
            now = self._clock()
            if self._delayed and self._delayed[0][0] <= now:
                self._running += 1
                return heapq.heappop(self._delayed)[2]
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
                self._changed.set()
                return None
            await self._wait(self._delayed[0][0] - now if self._delayed else None)

    def again(self, job: J, *, delay: float) -> None:
        """Put a taken job back; it's due in `delay` seconds."""
        heapq.heappush(self._delayed, (self._clock() + delay, next(self._numbers), job))
        self._running -= 1
        self._changed.set()

    def done(self) -> None:
        """A taken job has left its worker."""
        self._running -= 1
        if not self._running:  # else those who wait would find nothing new: thousands of them, at every answer
            self._changed.set()

    def left(self) -> list[J]:
        """The jobs that wait for another attempt."""
        return [job for _, _, job in self._delayed]

    def hurry(self) -> None:
        """Make every waiting job due now: the run has stopped and they only need to be told."""
        self._delayed = [(0.0, number, job) for _, number, job in self._delayed]
        heapq.heapify(self._delayed)
        self._changed.set()

    async def _rest(self) -> None:
        """Let others on the loop have their turn; meanwhile no other worker draws."""
        first, self._resting = not self._resting, True
        try:
            await asyncio.sleep(0)
        finally:
            if first:
                self._resting = False

    async def _wait(self, seconds: float | None) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
