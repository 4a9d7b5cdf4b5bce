"""Workers over packs of texts: every distinct text to its vector, within the limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Final, cast

from llmframe.clients.base import Client, RequestError
from llmframe.clients.embeddings import BASE64, FLOATS, Encoding, refuses_base64
from llmframe.clients.refusals import dooms_run
from llmframe.core.embeddings import VectorReply, Width, embedding_schema
from llmframe.core.outcome import Failure, Outcome
from llmframe.core.plan import CHUNK_ROWS, Plan, Planned
from llmframe.core.reply import Reply
from llmframe.core.request import Components
from llmframe.engine.embedding_packs import Pack, Party, gathered, pack_of, splittable, tokens_of_text, too_large
from llmframe.engine.embedding_results import Results
from llmframe.engine.packing import REQUEST_INPUTS, Bounds, Gathering, Halves, Packer
from llmframe.engine.queue import WorkQueue
from llmframe.engine.resolve import Resolver
from llmframe.engine.retry import MAX_RETRY_AFTER, GiveUp, decide
from llmframe.engine.run import Run
from llmframe.engine.runner import ELSEWHERE_MOST, ELSEWHERE_SECONDS, FIRST_FAILED, JITTER
from llmframe.engine.sending import Job, Sender, characters
from llmframe.engine.settled import Settled
from llmframe.engine.sharing import Flight, Shared, is_cancelled
from llmframe.errors import StoreError
from llmframe.options import SendOptions
from llmframe.stores.base import Store

logger = logging.getLogger("llmframe")

INPUTS_IN_FLIGHT: Final = 16 * REQUEST_INPUTS
"""Texts that are asked for at a time, at most: an answer waits in memory as bytes, as text and as vectors."""

LEAST_WORKERS: Final = 8

IN_FLOATS: Final = 'the server takes no `encoding_format="base64"`: vectors came as JSON numbers'


class Embedder:
    """Embeds one part of a run.

    Parameters
    ----------
    run, plan
        The run it belongs to, and the part's rows: a distinct request of theirs is one text.
    client
        Started; closing it is the caller's.
    width
        Of the run's vectors.
    options
        How they are sent.
    bounds
        Of one request.
    wait
        Seconds that texts which don't fill a request wait for those of other calls.
    store, shared, outcomes, fail_fast, components, settled
        As a `Runner`'s.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        run: Run,
        plan: Plan,
        *,
        client: Client,
        width: Width,
        options: SendOptions,
        bounds: Bounds,
        store: Store,
        shared: Shared,
        outcomes: list[Outcome | None],
        wait: float = 0.0,
        fail_fast: bool = False,
        components: Components | None = None,
        settled: Settled | None = None,
    ) -> None:
        self._run, self._plan, self._client, self._options = run, plan, client, options
        self._width, self._bounds, self._wait = width, bounds, wait
        self._shared, self._fail_fast, self._keeper = shared, fail_fast, shared.keeper(store)
        self._resolver = Resolver(
            self._keeper,
            embedding_schema("vector", width),
            since=run.began,
            components=components,
            together=CHUNK_ROWS,
            settled=settled,
        )
        self._results = Results(
            run,
            plan,
            outcomes,
            resolver=self._resolver,
            keeper=self._keeper,
            width=width,
            model=client.model,
            clock=shared.clock,
            fail_fast=fail_fast,
        )
        self._place = (client.identity, client.account, client.model)
        self._sender = Sender(
            run,
            client,
            shared.gate(self._place),
            options=options,
            clock=shared.clock,
            characters=0,
            came=self._came,
        )
        self._encoding, self._settled = BASE64, False
        self._flights: set[Flight] = set()
        self._open: set[Gathering[Party]] = set()
        self._drawn_rows = 0
        self._queue: WorkQueue[Pack]

    async def work(self) -> None:
        """Deliver an outcome for every text of the plan."""
        self._queue = WorkQueue(self._packs(), clock=self._shared.clock)
        self._run.send()
        self._sender.join()
        self._run.stopping.add(self._hurry)
        places = max(LEAST_WORKERS, INPUTS_IN_FLIGHT // self._bounds.inputs)
        try:
            async with asyncio.TaskGroup() as workers:
                self._hire(workers, min(self._options.max_concurrency, places))
            await self.landed()
        except BaseExceptionGroup as group:  # a row's failure never leaves a worker: drawing the rows failed
            raise group.exceptions[0] from None
        finally:
            for pack in self._queue.left():
                self._results.fail(pack, self._run.missing)
            self._resolver.leave()
            self._run.stopping.discard(self._hurry)
            self._sender.leave()
        await self._keeper.flush()

    def look(self) -> None:
        """Deliver what is kept, in place of `work`."""
        self._resolver.look(self._plan, self._results.deliver)

    async def landed(self) -> None:
        """Wait until no request of this part uses the client."""
        while going := [flight.task for flight in self._flights]:
            await asyncio.wait(going)
        self._sender.forget()

    async def kept(self) -> None:
        """Wait until all that came back is safe in the store."""
        await self._keeper.flush()
        if self._keeper.trouble is not None:
            self._run.metrics.store_trouble = self._keeper.trouble

    def _packs(self) -> Iterator[Pack | None]:
        packer, elsewhere = Packer[Job](self._bounds), list[Job]()
        fresh = self._resolver.unanswered(
            self._plan,
            deliver=self._results.deliver,
            drawn=self._drawn,
            missing=self._run.metrics.missing,
            going=lambda: self._run.stop is None,
        )
        try:
            for planned in fresh:
                if self._fail_fast and self._plan.failures:
                    self._run.halt(FIRST_FAILED)
                if planned is None:
                    yield None
                    continue
                text = self._resolver.job(planned)
                if text.elsewhere:  # it may be long until they are answered
                    elsewhere.append(text)
                elif full := packer.add(text, tokens_of_text(text)):
                    yield pack_of(full)
        except StoreError as error:  # going on would pay again for what it has
            self._run.halt(Failure("internal", f"the answers kept can't be read: {error}"))
        if rest := packer.take():
            yield self._gathered(pack_of(rest))
        if elsewhere:
            yield pack_of(elsewhere)

    def _gathered(self, pack: Pack) -> Pack:
        """The last texts, which don't fill a request: for `wait` seconds those of other calls may go with them."""
        if self._wait > 0 and self._run.budget is None and self._run.stop is None:
            params = sorted((name, repr(value)) for name, value in self._options.params.items())
            question = (*self._place, *params, self._width.asked, self._bounds.inputs, self._options.timeout)
            gathered(pack, self._results, question, shared=self._shared, bounds=self._bounds, wait=self._wait)
            if pack.host and pack.gathering is not None:
                self._open.add(pack.gathering)
        return pack

    def _drawn(self, chunk: list[Planned]) -> None:
        rows = self._plan.rows_drawn - self._drawn_rows
        self._drawn_rows += rows
        self._run.metrics.planned(len(chunk), sum(characters(each.messages) for each in chunk), rows=rows)

    def _hire(self, workers: asyncio.TaskGroup, left: int) -> None:
        """Start a worker, who starts the next of `left` with the first pack: no more of them than there are packs."""
        workers.create_task(self._worker(lambda: self._hire(workers, left - 1) if left > 1 else None))

    async def _worker(self, hire: Callable[[], None]) -> None:
        hired = False
        while True:
            if self._keeper.full:  # before a pack is drawn: the next part would pack what isn't in flight once more
                await self._keeper.room()
            if (pack := await self._queue.take()) is None:
                return
            if not hired:
                hired = True
                hire()
            hosted = pack.gathering if pack.host else None
            try:
                await self._step(pack)
            except asyncio.CancelledError:
                self._results.fail(pack, self._run.missing)
                raise
            except Exception as error:  # the one seam where a row's failure, of whatever kind, becomes data
                logger.debug("unexpected failure of a request", exc_info=True)
                self._fail(pack, Failure("internal", f"{type(error).__name__} in llmframe"))
            finally:
                if hosted is not None:
                    hosted.settle(None)
                    self._open.discard(hosted)

    async def _step(self, pack: Pack) -> None:
        if pack.gathering is not None:
            await self._gather(pack, pack.gathering)
        if self._run.stop is not None:
            self._fail(pack, self._run.stop)
            await asyncio.sleep(0)
        elif pack.flight is not None:
            await self._join(pack, pack.flight)
        elif self._ready(pack):
            await self._send(pack)

    async def _gather(self, pack: Pack, gathering: Gathering[Party]) -> None:
        """Wait until the pack goes out that others may join, or that this one has joined."""
        if pack.host:
            parties = await gathering.closed()
            pack.guests = [party for party in parties if party[0] is not self._results]
            return
        try:
            flight = await gathering.result()
        except asyncio.CancelledError:
            gathering.leave(lambda party: party[0] is self._results)
            raise
        pack.gathering, pack.flight = None, cast("Flight | None", flight)

    def _ready(self, pack: Pack) -> bool:
        """Take out of a pack what needn't be asked now; whether something is left that must be."""
        waiting, asked, joined = list[Job](), list[Job](), dict[Flight, list[Job]]()
        for text in pack.texts:
            kept = self._resolver.meanwhile(text)
            if kept is None and text.elsewhere:
                if self._resolver.elsewhere(text):
                    waiting.append(text)
                    continue
                kept = self._resolver.meanwhile(text)
            if kept is not None:
                self._results.settle(text, kept)
            elif flight := self._shared.flight(text.planned.key):
                joined.setdefault(flight, []).append(text)
            else:
                asked.append(text)
        self._put_apart(pack, asked, joined)
        if asked and waiting:
            self._queue.more(pack_of(waiting))
        elif waiting:
            pack.texts = waiting
            self._queue.again(pack, delay=min(ELSEWHERE_SECONDS * 1.5**pack.looks, ELSEWHERE_MOST))
            pack.looks += 1
        elif not asked:
            self._queue.done()
        return bool(asked)

    def _put_apart(self, pack: Pack, asked: list[Job], joined: dict[Flight, list[Job]]) -> None:
        """Leave in a pack what one request holds; the rest are packs of their own."""
        for flight, texts in joined.items():
            self._queue.more(pack_of(texts, sent=pack.sent, flight=flight))
        most = self._bounds.inputs
        for start in range(most, len(asked), most):
            self._queue.more(pack_of(asked[start : start + most], sent=pack.sent))
        pack.texts = asked[:most]

    async def _send(self, pack: Pack) -> None:
        try:
            await self._ask(pack)
        except RequestError as error:
            self._after_fault(pack, error)
            pack.guests, pack.gathering = [], None
        else:
            self._queue.done()

    async def _ask(self, pack: Pack) -> None:
        used = self._encoding
        try:
            await self._attempt(pack, used)
        except RequestError as error:
            if used is FLOATS or (self._settled and self._encoding is BASE64) or not refuses_base64(error):
                raise
            pack.guests = []
            await self._attempt(pack, FLOATS)
            if self._encoding is BASE64:
                self._encoding = FLOATS
                self._run.metrics.notes.append(IN_FLOATS)
        self._settled = True

    async def _attempt(self, pack: Pack, encoding: Encoding) -> None:
        """One attempt, which others may join; what it brings is laid at the instant it comes."""
        pack.load()
        first, *others = [text.planned.key for _, texts in ((None, pack.texts), *pack.guests) for text in texts]
        flight = self._shared.launch(first, self._sender.send(pack, encoding), also=others)
        self._flights.add(flight)
        flight.task.add_done_callback(lambda _: self._flights.discard(flight))
        if pack.gathering is not None:
            pack.gathering.settle(flight)
        try:
            await flight.wait(self)
        except asyncio.CancelledError:
            if flight.task.cancelled() and not is_cancelled():
                raise RequestError("connection", "the client cancelled the request") from None
            raise

    async def _join(self, pack: Pack, flight: Flight) -> None:
        """Wait for another call's request: only its answers are shared."""
        pack.flight, delay = None, 0.0
        try:
            reply = cast("VectorReply", await flight.wait(self))
        except RequestError as error:
            delay = min(error.retry_after or 0.0, MAX_RETRY_AFTER)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
        else:
            pack.texts = self._results.shared(self._results.open(pack), flight, reply)
        if pack.texts:
            self._queue.again(pack, delay=delay)
        else:
            self._queue.done()

    def _came(self, job: Job, reply: Reply) -> None:
        self._results.came(cast("Pack", job), cast("VectorReply", reply))

    def _after_fault(self, pack: Pack, error: RequestError) -> None:
        if self._run.stop is not None:
            unsent = error.kind in ("cancelled", "rate_limit")
            self._fail(pack, self._run.stop if unsent else Failure(error.kind, error.detail))
            return
        if splittable(error):
            if pack.halves is not None:
                pack.halves.refused(self._bounds)
            if len(pack.texts) > 1 or pack.guests:
                self._split(pack, certainly=too_large(error))
                return
            if self._bounds.alone is not None and tokens_of_text(pack.texts[0]) > self._bounds.alone:
                error.kind = "context_length"  # servers say no more than that it's a bad request
        pack.attempts += error.kind != "rate_limit" and not pack.blameless
        step = decide(
            error,
            attempts=pack.attempts,
            max_attempts=self._options.max_attempts,
            waited=pack.waited,
            chance=JITTER.random(),
            doomed=dooms_run(error),
            spent=pack.spent,
        )
        if isinstance(step, GiveUp):
            failure = Failure(error.kind, step.detail)
            if step.stops_run:
                self._run.halt(failure)
            self._fail(pack, failure)
            return
        if error.kind == "rate_limit":
            pack.limited_at = self._shared.clock()
        pack.fault, pack.again = error.kind, "retry"
        self._queue.again(pack, delay=step.delay)

    def _split(self, pack: Pack, *, certainly: bool) -> None:
        """Send both halves of a refused pack, or one without its guests: one bad text must not fail its neighbours."""
        count, alone = len(pack.texts), not pack.guests
        if certainly and alone:
            self._bounds.shrink(count)
        halves, middle = Halves(count), count // 2
        parts = (pack.texts[:middle], pack.texts[middle:]) if alone else (pack.texts,)
        for texts in parts:
            self._queue.more(pack_of(texts, sent=pack.sent, halves=halves if alone and not certainly else None))
        self._queue.done()

    def _fail(self, pack: Pack, failure: Failure) -> None:
        self._results.fail(pack, failure)
        self._queue.done()

    def _hurry(self) -> None:
        """The run has stopped: nobody waits for a turn, a delay or others any more."""
        self._queue.hurry()
        self._sender.hurry()
        for gathering in list(self._open):
            gathering.close()
