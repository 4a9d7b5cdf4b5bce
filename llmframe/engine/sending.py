"""One attempt: a place, a turn, one sending within its time, counted as what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from llmframe.clients.base import Client, Dialect, RequestError
from llmframe.core.outcome import Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reading, Reply
from llmframe.core.template import Message
from llmframe.engine.limits import Gate
from llmframe.engine.retry import MAX_RETRY_AFTER
from llmframe.engine.run import Run
from llmframe.options import SendOptions


@dataclass(slots=True)
class Job:
    """A distinct request on its way to an outcome."""

    planned: Planned
    messages: list[Message]
    attempts: int = 0
    sent: int = 0
    reasks: int = 0
    waited: float = 0.0
    limited_at: float | None = None
    first_sent: float | None = None
    again: Literal["retry", "reask"] | None = None
    usage: Usage = field(default_factory=lambda: Usage(None, None, None))
    usd: float | None = None
    booked: bool = False
    joined: bool = False
    read: tuple[Reply, Reading] | None = None


class Sender:
    """Sends jobs of one part of a run through the gate of their endpoint."""

    def __init__(
        self, run: Run, client: Client, gate: Gate, *, options: SendOptions, clock: Callable[[], float]
    ) -> None:
        self._run, self._client, self._gate = run, client, gate
        self._options, self._clock = options, clock
        self._turns: set[asyncio.Timeout] = set()

    async def send(self, job: Job, dialect: Dialect) -> Reply:
        """Send `job` once, when it has a place and a turn.

        Raises
        ------
        RequestError
            If the attempt failed, took too long, or the run stopped before it was sent (`cancelled`).
        """
        async with self._run.places(self._options.max_concurrency):
            return await self._send_placed(job, dialect)

    def hurry(self) -> None:
        """The run has stopped: nobody waits for a turn any more."""
        for turn in self._turns:
            if not turn.expired():
                turn.reschedule(0.0)

    async def _send_placed(self, job: Job, dialect: Dialect) -> Reply:
        run, clock = self._run, self._clock
        generation = await self._admitted()
        begun = clock()
        run.in_flight += 1
        self._count(job, begun)
        try:
            async with asyncio.timeout(self._options.timeout):
                reply = await self._client.send(job.messages, dialect)
        except TimeoutError:
            run.metrics.unknown_usage += 1
            raise RequestError("timeout", f"no whole answer within {self._options.timeout:g} s") from None
        except asyncio.CancelledError:
            run.metrics.unknown_usage += 1
            raise
        except RequestError as error:
            if error.kind == "rate_limit":
                asked = error.retry_after
                # a wait over the cap ends this run; closing the gate for so long would silence the next ones
                self._gate.limited(None if asked and asked > MAX_RETRY_AFTER else asked, generation=generation)
            raise
        finally:
            run.in_flight -= 1
            run.metrics.latencies.append(clock() - begun)
            self._gate.exit()
        self._gate.succeeded(generation=generation)
        return reply

    async def _admitted(self) -> int:
        """Wait for a turn, but not for one that a stopped run no longer needs; the gate's generation."""
        if self._run.stop is not None:  # while it waited for a place, so that nobody hurried it
            raise RequestError("cancelled", self._run.stop.detail)
        try:
            async with asyncio.timeout(None) as turn:
                self._turns.add(turn)
                try:
                    generation = await self._gate.enter()
                finally:
                    self._turns.discard(turn)
        except TimeoutError:
            raise RequestError("cancelled", self._run.missing.detail) from None
        if self._run.stop is not None:
            self._gate.exit()
            raise RequestError("cancelled", self._run.stop.detail)
        return generation

    def _count(self, job: Job, begun: float) -> None:
        """Count a request that goes out now as what it is."""
        metrics = self._run.metrics
        metrics.requests += 1
        metrics.retries += job.again == "retry"
        metrics.reasks += job.again == "reask"
        job.again = None
        job.sent += 1
        if job.first_sent is None:
            job.first_sent = begun
        if job.limited_at is not None:
            job.waited += begun - job.limited_at
            job.limited_at = None
