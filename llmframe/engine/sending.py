"""One attempt: a turn, one sending within its time, told to everybody whom it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from llmframe.clients.base import Client, Dialect, RequestError
from llmframe.clients.refusals import dooms_run, next_dialects, transient
from llmframe.core.outcome import Failure, Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reading, Reply
from llmframe.core.template import Message
from llmframe.engine.gate import ClosedError, Gate
from llmframe.engine.line import Ticket
from llmframe.engine.run import Run
from llmframe.engine.spending import Claim
from llmframe.engine.tokens import Cost
from llmframe.options import SendOptions


@dataclass(slots=True)
class Job:
    """A distinct request on its way to an outcome.

    `attempts` counts towards the row's limit, `sent` what went out, `spent` the seconds of the last failed attempt, and
    `fault` is the kind that the next one is a retry after.
    `blameless` tells that the last failure says nothing about the row, and `answers_before` how many others the run had
    been answered when it first failed.
    `others_puts` is how many answers other runs had kept when the store was looked at, `elsewhere` tells that another
    process has claimed it, and `looks` how often that one's answer was looked for.
    `invalid` is a batch's reply that didn't fit, with what was wrong with it: the first live ask shows both.
    """

    planned: Planned
    messages: list[Message]
    characters: int
    attempts: int = 0
    sent: int = 0
    reasks: int = 0
    waited: float = 0.0
    limited_at: float | None = None
    first_sent: float | None = None
    again: Literal["retry", "reask"] | None = None
    fault: str = ""
    blameless: bool = False
    spent: float = 0.0
    answers_before: int | None = None
    usage: Usage = field(default_factory=lambda: Usage(None, None, None))
    usd: float | None = None
    booked: bool = False
    joined: bool = False
    read: tuple[Reply, Reading] | None = None
    digest: bytes | None = None
    others_puts: int = 0
    elsewhere: bool = False
    looks: int = 0
    invalid: tuple[Reply, str] | None = None


class Sender:
    """Sends jobs of one part of a run through the gate of their endpoint.

    Parameters
    ----------
    characters
        Of the part that all requests share (the schema).
    came
        Told of every answer at the instant it comes, before anybody who waits for it may be cancelled.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        run: Run,
        client: Client,
        gate: Gate,
        *,
        options: SendOptions,
        clock: Callable[[], float],
        characters: int,
        came: Callable[[Job, Reply], None] | None = None,
    ) -> None:
        self._run, self._client, self._gate = run, client, gate
        self._options, self._clock, self._characters = options, clock, characters
        self._told = came
        self._lane = run.lane(gate, options)
        limit = options.params.get("max_tokens", options.params.get("max_completion_tokens"))
        self._max_tokens = limit if isinstance(limit, int) else None
        self._seconds = None if client.streams else options.timeout

    def join(self) -> None:
        """The part begins."""
        self._gate.join(self._lane.flow)

    def leave(self) -> None:
        """The part has ended."""
        self._gate.leave(self._lane.flow)

    def forget(self) -> None:
        """Tell nobody of answers any more: who is told holds the sender, and a circle lives until it's looked for."""
        self._told = None

    def hurry(self) -> None:
        """The run has stopped: nobody waits for a turn any more."""
        self._gate.close(self._lane.flow)
        if self._lane.purse is not None:
            self._lane.purse.leave()

    async def send(self, job: Job, dialect: Dialect) -> Reply:
        """Send `job` once, when it has a turn.

        Raises
        ------
        RequestError
            If the attempt failed, took too long, or the run stopped before it was sent (`cancelled`).
        """
        return await self.attempt(job, dialect, await self.turn(job))

    async def spare(self, job: Job) -> Ticket | None:
        """A turn for another copy of `job`, when there is room to spare."""
        if self._run.stop:
            return None
        return await self._gate.spare(self._lane.flow, self._cost(job), self._claim(job))

    def unsent(self, ticket: Ticket) -> None:
        """Give back a turn that wasn't used; nothing happens when it was."""
        self._gate.unsent(ticket)

    async def turn(self, job: Job) -> Ticket:
        """Wait for the turn of `job`.

        Raises
        ------
        RequestError
            If the run stopped before it came (`cancelled`).
        """
        if self._run.stop is None:
            try:
                ticket = await self._gate.enter(self._lane.flow, self._cost(job), self._claim(job))
            except ClosedError:
                pass
            else:
                if self._run.stop is None:
                    return ticket
                self._gate.unsent(ticket)
        raise RequestError("cancelled", self._run.missing.detail)

    async def attempt(self, job: Job, dialect: Dialect, ticket: Ticket) -> Reply:
        """Send `job` with a turn that it has."""
        try:
            return await self._send(job, dialect, ticket)
        finally:
            self._gate.unsent(ticket)  # what a telemetry exporter raises must take no place from all calls for good

    async def _send(self, job: Job, dialect: Dialect, ticket: Ticket) -> Reply:
        metrics, begun = self._run.metrics, self._clock()
        metrics.started(begun, waited=begun - ticket.came)
        self._count(job, begun)
        error: RequestError
        try:
            async with asyncio.timeout(self._seconds):
                reply = await self._client.send(job.messages, dialect)
        except TimeoutError:
            within = "" if self._seconds is None else f" within {self._seconds:g} s"
            error = RequestError("timeout", f"no whole answer{within}")
        except RequestError as raised:
            error = raised
        except BaseException:
            metrics.unknown_usage += 1
            metrics.ended(self._clock(), seconds=self._clock() - begun, kind="cancelled")
            self._gate.cancelled(ticket)
            raise
        else:
            self._came(job, ticket, reply, begun)
            return reply
        metrics.unknown_usage += error.kind == "timeout"
        job.spent = self._clock() - begun
        metrics.ended(self._clock(), seconds=job.spent, kind=error.kind)
        if dooms_run(error) and not next_dialects(dialect, error, self._client.dialects):
            self._run.halt(Failure(error.kind, error.detail))  # before the next one goes in this one's place
        self._failed(job, ticket, error)
        raise error

    def _cost(self, job: Job) -> Cost:
        return self._gate.limits.cost(self._characters + job.characters, self._max_tokens)

    def _claim(self, job: Job) -> Claim | None:
        purse = self._lane.purse
        return None if purse is None else Claim(purse, lambda: self._cost(job))

    def _came(self, job: Job, ticket: Ticket, reply: Reply, begun: float) -> None:
        now, usage = self._clock(), reply.usage
        known = usage.input_tokens is not None and usage.output_tokens is not None
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None
        self._run.metrics.ended(now, seconds=now - begun, tokens=tokens)
        self._gate.limits.learn_size(self._characters + job.characters, reply)
        self._alive()
        self._gate.answered(ticket, reply)
        if self._told is not None:
            self._told(job, reply)

    def _failed(self, job: Job, ticket: Ticket, error: RequestError) -> None:
        breaker, now = self._lane.breaker, self._clock()
        if transient(error) and error.kind != "rate_limit":
            pause = breaker.failed(probe=ticket.probe, answers_before=job.answers_before, now=now)
            job.blameless = ticket.probe and breaker.answers > 0 and not breaker.is_own_trouble(job.answers_before)
            if job.answers_before is None:
                job.answers_before = breaker.answers
            if pause is not None:
                self._run.metrics.paused(pause, now + pause)
                self._gate.hold(self._lane.flow, now + pause)
        elif error.kind != "internal":
            self._alive(limited=error.kind == "rate_limit")
        self._gate.faulted(ticket, error)
        if error.kind == "rate_limit" and breaker.limited(now):
            self._run.halt(Failure(error.kind, f"{error.detail}; given up, nothing else came for half an hour"))
        if breaker.hopeless(now):
            self._run.halt(Failure(error.kind, f"{error.detail}; given up, the provider seems down"))

    def _alive(self, *, limited: bool = False) -> None:
        breaker = self._lane.breaker
        since = breaker.opened_at
        if breaker.answered(limited=limited) and since is not None:
            self._gate.limits.restart(since=since)
            self._gate.go_on(self._lane.flow)

    def _count(self, job: Job, begun: float) -> None:
        """Count a request that goes out now as what it is."""
        metrics = self._run.metrics
        if job.again == "retry":
            metrics.retried(job.fault)
        metrics.reasks += job.again == "reask"
        job.again = None
        job.blameless = False
        job.sent += 1
        if job.first_sent is None:
            job.first_sent = begun
        if job.limited_at is not None:
            job.waited += begun - job.limited_at
            job.limited_at = None


def characters(messages: list[Message]) -> int:
    """Characters of all contents."""
    contents = [message["content"] for message in messages]
    return sum(len(content if isinstance(content, str) else str(content)) for content in contents)
