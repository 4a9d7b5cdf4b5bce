"""A second copy of a request that is late; the first answer counts (Dean and Barroso, The Tail at Scale, 2013)."""

from __future__ import annotations

import asyncio
from typing import Final

from llmframe.clients.base import Dialect
from llmframe.core.reply import Reply
from llmframe.engine.line import Ticket
from llmframe.engine.metrics import Metrics
from llmframe.engine.sending import Job, Sender

LATE: Final = 0.95
"""Quantile of the times on the way from which a request is late."""

SLOW: Final = 1.5
"""Times the median that a late request takes at least: where all take about the same time a copy gains nothing."""

KNOWN_FROM: Final = 20
"""Requests that have ended before anything is called late."""

SHARE: Final = 0.05
"""Copies a request, at most."""


class Hedge:
    """Sends late requests of one run a second time.

    A copy goes out only where there is room to spare, and counts as a request like any other. The slower one of the two
    is cancelled: what it took is unknown, and counted as that.

    Attributes
    ----------
    going
        Attempts that haven't ended, those that were cancelled included: nobody waits for them, for whoever is
        interrupted while he waits would lose the answer that he has.
    """

    def __init__(self, sender: Sender, metrics: Metrics) -> None:
        self._sender, self._metrics = sender, metrics
        self.going: set[asyncio.Task[Reply]] = set()

    async def send(self, job: Job, dialect: Dialect) -> Reply:
        """As `Sender.send`."""
        ticket = await self._sender.turn(job)
        if self._metrics.latencies.count < KNOWN_FROM:
            return await self._sender.attempt(job, dialect, ticket)
        typical, late = self._metrics.latencies.quantiles([0.5, LATE])
        patience = max(late or 0.0, SLOW * (typical or 0.0))
        pair = [self._task(job, dialect, ticket)]
        try:
            while len(pair) == 1 and not (await asyncio.wait(pair, timeout=patience))[0]:
                copy = await self._copy(job)  # where there is no room now there may be some later
                if copy is not None:
                    pair.append(self._task(job, dialect, copy))
            return await self._first(job, pair)
        finally:
            for task in pair:
                task.cancel()

    def _task(self, job: Job, dialect: Dialect, ticket: Ticket) -> asyncio.Task[Reply]:
        def ended(task: asyncio.Task[Reply]) -> None:
            self.going.discard(task)
            self._sender.unsent(ticket)  # a task that is cancelled before its first step has told nobody
            if not task.cancelled():
                task.exception()

        task = asyncio.create_task(self._sender.attempt(job, dialect, ticket))
        self.going.add(task)
        task.add_done_callback(ended)
        return task

    async def _copy(self, job: Job) -> Ticket | None:
        if self._metrics.hedges + 1 > SHARE * self._metrics.requests:
            return None
        ticket = await self._sender.spare(job)
        if ticket is not None:
            self._metrics.hedged()
        return ticket

    async def _first(self, job: Job, tasks: list[asyncio.Task[Reply]]) -> Reply:
        """The first answer; a failure only when there is no answer to wait for any more."""
        waiting = set(tasks)
        while waiting:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            replies = [task.result() for task in tasks if _answered(task)]
            if replies:
                if not _answered(tasks[0]):
                    self._metrics.hedge_won()
                return next((reply for reply in replies if job.read and reply is job.read[0]), replies[0])
        return tasks[0].result()


def _answered(task: asyncio.Task[Reply]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
