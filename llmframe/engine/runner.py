"""Workers over an iterator: every distinct request to its outcome, within the limits."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from typing import Final, Literal

from llmframe.clients.base import Client, Dialect, RequestError
from llmframe.clients.refusals import dooms_run
from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import Plan, Planned
from llmframe.core.reply import Reading, Reply, read_reply
from llmframe.core.request import Components
from llmframe.core.schema import Schema
from llmframe.engine.dialects import Negotiation
from llmframe.engine.hedging import Hedge
from llmframe.engine.queue import WorkQueue
from llmframe.engine.resolve import CLAIMED_AT_ONCE, Resolver
from llmframe.engine.retry import MAX_RETRY_AFTER, GiveUp, decide
from llmframe.engine.run import Run
from llmframe.engine.sending import Job, Sender, characters
from llmframe.engine.settled import Settled
from llmframe.engine.sharing import Flight, Shared, is_cancelled
from llmframe.errors import StoreError
from llmframe.options import SendOptions
from llmframe.stores.base import Store

logger = logging.getLogger("llmframe")

FIRST_FAILED: Final = Failure("cancelled", 'stopped after the first failed row (`on_error="raise"`)')

ELSEWHERE_SECONDS: Final = 0.2
"""Seconds until it's looked whether another process has answered what it has claimed; each look waits half as long
again, at most `ELSEWHERE_MOST`."""

ELSEWHERE_MOST: Final = 2.0

JITTER: Final = random.Random()  # noqa: S311 - spreads retries, protects nothing


class Runner:
    """Answers one part of a run.

    Parameters
    ----------
    run, plan
        The run it belongs to, and the part's rows.
    client
        Started; closing it is the caller's.
    schema, options
        What is asked for, and how it's sent.
    store
        Where answers are looked up and kept.
    shared
        Gates and flights of this loop.
    outcomes
        Filled by the requests' numbers as they end, so that what came back is there after an interrupt too.
    fail_fast
        Stop sending at the first failed row.
    components
        Digests of what is asked, for a store that tells later what has changed.
    settled
        What batches of this run have come to; `None` in a live run.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        run: Run,
        plan: Plan,
        *,
        client: Client,
        schema: Schema,
        options: SendOptions,
        store: Store,
        shared: Shared,
        outcomes: list[Outcome | None],
        fail_fast: bool = False,
        components: Components | None = None,
        settled: Settled | None = None,
    ) -> None:
        self._run, self._plan = run, plan
        self._client, self._schema, self._options = client, schema, options
        self._shared, self._fail_fast, self._keeper = shared, fail_fast, shared.keeper(store)
        self._resolver = Resolver(
            self._keeper,
            schema,
            since=run.began,
            components=components,
            together=min(options.max_concurrency, CLAIMED_AT_ONCE),
            settled=settled,
        )
        self._gate = shared.gate((client.identity, client.account, client.model))
        self._sender = Sender(
            run,
            client,
            self._gate,
            options=options,
            clock=shared.clock,
            characters=len(schema.canonical),
            came=self._keep,
        )
        self._hedge = Hedge(self._sender, run.metrics) if options.hedge else None
        self._flights: set[Flight] = set()
        self._outcomes = outcomes
        self._drawn_rows = 0
        self._queue: WorkQueue[Job]
        self._talk: Negotiation

    async def work(self) -> None:
        """Deliver an outcome for every request of the plan."""
        self._queue = WorkQueue(self._jobs(), clock=self._shared.clock)
        self._talk = Negotiation(self._client, note=self._run.metrics.notes.append, halt=self._run.halt)
        self._run.send()
        self._sender.join()
        self._run.stopping.add(self._hurry)
        try:
            async with asyncio.TaskGroup() as workers:
                self._hire(workers, self._options.max_concurrency)
            await self.landed()  # a slower copy's tokens are counted, too
        except BaseExceptionGroup as group:  # a row's failure never leaves a worker: drawing the rows failed
            raise group.exceptions[0] from None
        finally:
            for job in self._queue.left():
                self._abandon(job)
            self._resolver.leave()
            self._run.stopping.discard(self._hurry)
            self._sender.leave()
            self._run.metrics.output_mode = self._talk.dialect.mode
        await self._keeper.flush()

    def look(self) -> None:
        """Deliver what is kept, in place of `work`."""
        self._resolver.look(self._plan, self._deliver)

    async def landed(self) -> None:
        """Wait until no attempt of this part uses the client, those that others joined included."""
        while going := [*(flight.task for flight in self._flights), *(self._hedge.going if self._hedge else ())]:
            await asyncio.wait(going)
        self._sender.forget()

    async def kept(self) -> None:
        """Wait until all that came back is safe in the store."""
        await self._keeper.flush()
        if self._keeper.trouble is not None:
            self._run.metrics.store_trouble = self._keeper.trouble

    def _jobs(self) -> Iterator[Job | None]:
        fresh = self._resolver.unanswered(
            self._plan,
            deliver=self._deliver,
            drawn=self._drawn,
            missing=self._run.metrics.missing,
            going=lambda: self._run.stop is None,
        )
        try:
            for planned in fresh:
                if self._fail_fast and self._plan.failures:
                    self._run.halt(FIRST_FAILED)
                yield None if planned is None else self._job(planned)
        except StoreError as error:  # going on would pay again for what it has
            self._run.halt(Failure("internal", f"the answers kept can't be read: {error}"))

    def _job(self, planned: Planned) -> Job:
        job = self._resolver.job(planned)
        if job.invalid is not None and self._options.reask:
            job.reasks, job.again = 1, "reask"
            job.messages = self._client.reask(job.messages, *job.invalid, self._talk.dialect)
        return job

    def _drawn(self, chunk: list[Planned]) -> None:
        rows = self._plan.rows_drawn - self._drawn_rows
        self._drawn_rows += rows
        self._run.metrics.planned(len(chunk), sum(characters(each.messages) for each in chunk), rows=rows)

    def _hire(self, workers: asyncio.TaskGroup, left: int) -> None:
        """Start a worker, who starts the next of `left` with the first job: no more of them than there are jobs."""
        workers.create_task(self._worker(lambda: self._hire(workers, left - 1) if left > 1 else None))

    async def _worker(self, hire: Callable[[], None]) -> None:
        hired = False
        while (job := await self._queue.take()) is not None:
            if not hired:
                hired = True
                hire()
            if self._run.stop is not None:
                self._finish(job, self._run.stop)
                await asyncio.sleep(0)
                continue
            if self._keeper.full:
                await self._keeper.room()
            try:
                if self._talk.open_to_all:
                    await self._step(job)
                else:
                    async with self._talk.among_first():
                        await self._step(job)
            except asyncio.CancelledError:
                self._abandon(job)
                raise
            except Exception as error:  # the one seam where a row's failure, of whatever kind, becomes data
                logger.debug("unexpected failure of a request", exc_info=True)
                if job.joined and self._run.stop is None:  # somebody else's, perhaps of a client that is closed
                    self._put_back(job)
                else:
                    self._finish(job, Failure("internal", f"{type(error).__name__} in llmframe or a validator"))

    async def _step(self, job: Job) -> None:
        kept = self._resolver.meanwhile(job)
        if kept is None and job.elsewhere:
            if self._resolver.elsewhere(job):
                self._put_back(job, delay=min(ELSEWHERE_SECONDS * 1.5**job.looks, ELSEWHERE_MOST))
                job.looks += 1
                return
            kept = self._resolver.meanwhile(job)
        if kept is not None:
            self._settle(job, kept)
            return
        try:
            reply = await self._ask(job)
        except RequestError as error:
            self._after_fault(job, error)
            return
        self._after_reply(job, reply)

    async def _ask(self, job: Job) -> Reply:
        used = self._talk.dialect
        try:
            with self._talk.asking():
                reply = await self._attempt(job, used)
        except RequestError as error:
            if job.joined:
                raise
            reply = await self._talk.refused(error, used, lambda dialect: self._attempt(job, dialect))
            if reply is None:
                raise
            return reply
        if not job.joined:  # who else asked may have done so in another form
            self._talk.settle(used)
        return reply

    async def _attempt(self, job: Job, dialect: Dialect) -> Reply:
        """One attempt, joined when somebody else is asking the same just now."""
        flight = self._shared.flight(job.planned.key)
        job.joined = flight is not None
        if flight is None:
            job.read = None
            flight = self._shared.launch(job.planned.key, (self._hedge or self._sender).send(job, dialect))
            self._flights.add(flight)
            flight.task.add_done_callback(lambda _: self._flights.discard(flight))
        try:
            reply = await flight.wait(self)
        except asyncio.CancelledError:
            if flight.task.done() and not flight.task.cancelled() and flight.task.exception() is None:
                self._settle_cost(job, flight, flight.task.result())  # it came back: it's paid, so it's kept
                self._after_reply(job, flight.task.result())
            elif job.read is not None and not job.joined:  # it came, and one of two copies hasn't told so yet
                self._settle_cost(job, flight, job.read[0])
                self._after_reply(job, job.read[0])
            elif flight.task.cancelled() and not is_cancelled():
                raise RequestError("connection", "the client cancelled the request") from None
            raise
        self._settle_cost(job, flight, reply)
        return reply

    def _settle_cost(self, job: Job, flight: Flight, reply: Reply) -> None:
        job.joined = not flight.pays(self)
        if not job.joined:
            self._book(job, reply)

    def _book(self, job: Job, reply: Reply) -> None:
        usd = self._run.metrics.book(reply.usage)
        job.booked = True
        job.usage += reply.usage
        job.usd = usd if job.usd is None else job.usd + (usd or 0.0)

    def _keep(self, job: Job, reply: Reply) -> None:
        """An answer to a request of `job` has come, whoever still waits for it.

        Kept before the flight lands: whoever looks finds the answer in flight or in the store.
        """
        reading = self._read(job, reply, usage=job.usage + reply.usage)
        if job.read is not None or is_cancelled():
            self._book(job, reply)  # the other copy's came first, or nobody waits any more: it's paid all the same
        else:
            job.read = reply, reading

    def _read(self, job: Job, reply: Reply, *, usage: Usage) -> Reading:
        """Read a reply, and keep it when it's valid."""
        reading = read_reply(reply, self._schema, tool_name=self._schema.name)
        if isinstance(reading.result, Answer):
            self._resolver.keep(job, reading.result, reply, usage=usage)
        return reading

    def _after_fault(self, job: Job, error: RequestError) -> None:
        if self._run.stop is not None:
            unsent = error.kind in ("cancelled", "rate_limit")
            self._finish(job, self._run.stop if unsent else Failure(error.kind, error.detail))
            return
        if job.joined:
            self._put_back(job, delay=min(error.retry_after or 0.0, MAX_RETRY_AFTER))
            return
        job.attempts += error.kind != "rate_limit" and not job.blameless
        step = decide(
            error,
            attempts=job.attempts,
            max_attempts=self._options.max_attempts,
            waited=job.waited,
            chance=JITTER.random(),
            doomed=dooms_run(error),
            spent=job.spent,
        )
        if isinstance(step, GiveUp):
            failure = Failure(error.kind, step.detail)
            if step.stops_run:
                self._run.halt(failure)
            self._finish(job, failure)
            return
        if error.kind == "rate_limit":
            job.limited_at = self._shared.clock()
        job.fault = error.kind
        self._put_back(job, "retry", delay=step.delay)

    def _after_reply(self, job: Job, reply: Reply) -> None:
        sent, reading = job.read or (None, None)
        if reading is None or sent is not reply:  # another run's
            reading = self._read(job, reply, usage=job.usage)
        if isinstance(reading.result, Failure) and self._run.stop is None:
            if job.joined:  # only answers are shared
                self._put_back(job)
                return
            if reading.reask and job.reasks < self._options.reask:
                job.reasks += 1
                problem = reading.result.detail
                job.messages = self._client.reask(job.messages, reply, problem, self._talk.dialect)
                self._put_back(job, "reask")
                return
        self._finish(job, reading.result, reply)

    def _put_back(self, job: Job, again: Literal["retry", "reask"] | None = None, *, delay: float = 0.0) -> None:
        job.again = again or job.again
        self._queue.again(job, delay=delay)

    def _abandon(self, job: Job) -> None:
        """Tell what a request took whose answer nobody waits for any more, unless it has come."""
        index = job.planned.index
        if index >= len(self._outcomes) or self._outcomes[index] is None:
            self._finish(job, self._run.missing)

    def _finish(self, job: Job, result: Answer | Failure, reply: Reply | None = None) -> None:
        begun = job.first_sent
        outcome = Outcome(
            result=result,
            usage=job.usage if job.sent or job.booked else Usage(0, 0, 0),
            usd=job.usd if job.sent or job.booked else 0.0,
            attempts=job.sent,
            seconds=0.0 if begun is None else self._shared.clock() - begun,
            finish_reason=reply.finish_reason if reply else None,
            model=(reply.model if reply else None) or self._client.model,
            source="shared" if job.joined and isinstance(result, Answer) else "live",
            fingerprint=job.planned.key.hex(),
        )
        self._settle(job, outcome)

    def _settle(self, job: Job, outcome: Outcome) -> None:
        """The end of a job; its rows count as done when its answer is safe."""
        index = job.planned.index
        self._run.metrics.settled(job.characters)
        self._lay(index, outcome)
        self._keeper.after(job.planned.key, lambda: self._plan.finish(index))
        self._queue.done()
        if isinstance(outcome.result, Failure):
            self._run.metrics.failed_live += 1
            self._resolver.give_up(job)
            if self._fail_fast:
                self._run.halt(FIRST_FAILED)

    def _deliver(self, index: int, outcome: Outcome) -> None:
        """An answer that was kept already, or what a batch has come to."""
        self._lay(index, outcome)
        self._plan.finish(index)
        if isinstance(outcome.result, Failure):
            self._run.metrics.failed_live += 1
            if self._fail_fast:
                self._run.halt(FIRST_FAILED)
            return
        self._run.metrics.delivered(outcome.source)

    def _lay(self, index: int, outcome: Outcome) -> None:
        if index >= len(self._outcomes):
            self._outcomes.extend([None] * (index + 1 - len(self._outcomes)))
        self._outcomes[index] = outcome

    def _hurry(self) -> None:
        """The run has stopped: nobody waits for a turn or a delay any more."""
        self._queue.hurry()
        self._sender.hurry()
