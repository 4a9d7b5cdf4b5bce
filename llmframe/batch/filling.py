"""One call's way through the Batch API: rounds of batches until every request has its answer or its end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from llmframe.batch.account import Account
from llmframe.batch.desk import Desk, NotOursError, within_thread
from llmframe.batch.disk import new_folder
from llmframe.batch.drafts import Draft, Lines
from llmframe.batch.packing import Pack, begin_pack, custom_id
from llmframe.batch.submitting import adopt, is_cancelled
from llmframe.batch.ways import Ways, is_open
from llmframe.core.outcome import Failure
from llmframe.core.plan import CHUNK_ROWS, Planned
from llmframe.engine.dialects import remember
from llmframe.engine.patience import every, pauses, rest
from llmframe.engine.run import Run
from llmframe.errors import StoreError
from llmframe.stores.jobs import JobRecord, Kind, Shard

BEAT_SECONDS: Final = 10.0
"""Seconds between two signs of life to other processes: one that is silent for a minute counts as dead."""

STORED_SECONDS: Final = 0.001
"""To what part of a second the store keeps times."""

LEAST_SHARE: Final = 0.25
"""Part of the first batches' requests from which on what a budget gets back is sent in batches of its own: estimates
are higher than what was taken, and each further batch may take a day."""

AGAIN: Final = 2
"""Further batches for what one left without a valid answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a call asks of the Batch API.

    Parameters
    ----------
    question
        Digest of what all requests share.
    rows
        Of the call; `None` where they aren't counted yet.
    requests
        Draws the call's distinct requests anew, a list at a time; equal ones may come again in later lists.
    unanswered
        Those of a list that the store has no valid answer to, kept at this time or later (seconds since 1970).
    fresh
        Whether only answers of this job count, not those that the store had before.
    again
        Further batches for what one left without a valid answer.
    """

    question: str
    rows: int | None
    requests: Callable[[], AsyncIterator[list[Planned]]]
    unanswered: Callable[[list[Planned], float], list[Planned]]
    fresh: bool = False
    again: int = AGAIN


class Filling:
    """Fills the store by batches, on the private loop.

    Parameters
    ----------
    run
        Whose it is; it is told of what came back, and stopped by what would fail every batch.
    desk
        Ledger and provider; the provider's side is started when there's something for it.
    lines
        What the call's requests are in batches.
    account
        What has been settled so far, and what of it may be asked again.
    """

    def __init__(self, run: Run, desk: Desk, order: Order, *, lines: Lines, account: Account) -> None:
        self._run, self._desk, self._order = run, desk, order
        self._drafts, self._account = lines.drafts, account
        self._kind: Kind = lines.kind
        self._ways = Ways(run, desk, account, lines.read, wanted=self._is_wanted)
        self._left: list[Shard] = []
        self._job: JobRecord | None = None
        self._jobs: list[str] = []
        self._pack: Pack | None = None
        self._pack_keys: set[bytes] = set()
        self._pack_form = lines.drafts.dialect, lines.drafts.tool
        self._count = self._mark = self._lines = 0
        self._broke = self._waited = self._started = False

    async def run(self) -> None:
        """Ask in batches for everything that isn't answered, and collect what they come to.

        What the provider or the budget refuses for good stops the run. Raises `StoreError` when the ledger can't be
        read or written: nothing is sent that couldn't be written down.
        """
        self._folder = await within_thread(new_folder)
        beating = asyncio.create_task(every(BEAT_SECONDS, self._beat))
        self._run.waiting = self._text
        finished = False
        try:
            await self._adopt()
            left, first = self._order.again, 0
            waits = pauses(longest=60.0)
            while self._goes_on:
                before = self._lines
                if await self._round():
                    left -= not self._account.free_round and not self._broke
                    first = first or self._lines
                    if left < 0 or (self._broke and self._is_rest(self._lines - before, first)):
                        break
                    if not (self._broke or self._waited or self._account.open or self._account.free_round):
                        break  # another round would draw all rows to find nothing
                elif self._broke and self._account.refusal is None:
                    await rest(next(waits))  # what is left of the budget is set aside for another run
                else:
                    break
            if self._account.refusal is not None and self._broke:
                self._run.halt(self._account.refusal)
            finished = True
        finally:
            if self._kind == "chat" and self._drafts.dialect in self._account.answered:
                remember(self._desk.batches, self._drafts.dialect)
            beating.cancel()
            if self._started:
                await self._desk.batches.close()
            await within_thread(lambda: self._end(finished=finished))
            self._run.batches_at_provider.set()

    def _is_rest(self, sent: int, first: int) -> bool:
        """Whether what the budget has left since the last batches isn't worth the hours of further ones."""
        if sent >= LEAST_SHARE * first:
            return False
        told = "what is left of the budget is worth no further batch just now; the same call goes on with it"
        self._account.refusal = self._account.refusal or Failure("budget", told)
        return True

    def _text(self) -> str:
        """Where the job stands, in a line."""
        text = self._ways.text()
        return f"{self._job_id}, {text}" if self._job is not None and text else text

    async def _adopt(self) -> None:
        """Go on with an unfinished job of the same question; one that was cancelled is only brought to its end."""
        job = await within_thread(lambda: self._desk.ledger.adopt_job(self._order.question))
        if job is None:
            return
        self._jobs.append(job.id)
        # Batches that run are waited for where they ask what this call asks; these here take no time.
        shards = await within_thread(lambda: self._desk.ledger.shards(job=job.id))
        self._left = [each for each in shards if is_open(each) and each.execution in ("planned", "ended")]
        if not job.cancelled:
            self._go_on_with(job)

    @property
    def since(self) -> float:
        """From when on answers count that the store has, in seconds since 1970."""
        if not self._order.fresh:
            return 0.0
        return self._run.began if self._job is None else self._job.created - STORED_SECONDS

    @property
    def _job_id(self) -> str:
        return "" if self._job is None else self._job.id

    @property
    def _goes_on(self) -> bool:
        return self._run.stop is None and not self._account.cancelled

    async def _round(self) -> bool:
        """Send everything that is open in batches and wait for their end; returns whether there was anything."""
        try:
            return await self._send_all()
        except BaseExceptionGroup as group:  # what the provider says never leaves a shard's way: the ledger failed
            raise group.exceptions[0] from None

    async def _send_all(self) -> bool:
        self._account.begin_round()
        self._broke, self._waited, before = False, False, self._count
        self._mark = await within_thread(self._desk.ledger.mark)
        self._ways.drawing(now=True)
        async with asyncio.TaskGroup() as tasks:
            if self._left:
                await self._start()
            for shard in self._left:
                await self._join(shard, tasks)
            self._left = []
            async for chunk in self._order.requests():
                if not self._goes_on or self._broke:
                    break
                for draft in self._drafts.add(await self._open(chunk, tasks)):
                    await self._add(draft, tasks)
                await rest(0)
            for draft in self._drafts.flush():
                await self._add(draft, tasks)
            await self._close_pack(tasks)
            self._ways.drawing(now=False)
        if self._job is not None and await within_thread(lambda: is_cancelled(self._desk, self._job_id)):
            self._account.cancelled = True
        return self._count > before

    async def _open(self, chunk: list[Planned], tasks: asyncio.TaskGroup) -> list[Planned]:
        """Those of a list that have to be put into a batch; whose batch is under way, that is joined."""
        keys = [planned.key for planned in chunk if planned.key not in self._pack_keys]
        # Looked up before the answers: what another call settles in between is seen there.
        under_way = await within_thread(lambda: self._desk.ledger.open_shards(keys))
        left = self._order.unanswered(chunk, self.since)
        left = [planned for planned in left if planned.key not in self._pack_keys and not self._run.stop]
        if not left:
            return []
        await self._start()
        keys = [planned.key for planned in left]
        freed = await self._join_all({under_way[key] for key in keys if key in under_way}, tasks)
        under_way = {key: intent for key, intent in under_way.items() if intent not in freed}
        rest_ = [key for key in keys if key not in under_way]
        ended = await within_thread(lambda: self._account.ended(rest_))
        return [planned for planned in left if planned.key not in under_way and planned.key not in ended]

    async def _start(self) -> None:
        """Open the provider's side, when there is something for it."""
        if not self._started:
            self._started = True
            await self._desk.batches.start()

    async def _join_all(self, intents: set[str], tasks: asyncio.TaskGroup) -> set[str]:
        """Wait for those of these batches that are new here; returns those that were freed."""
        new = intents - self._ways.shards.keys()
        if not new:
            return set()
        shards = await within_thread(lambda: self._desk.ledger.shards(intents=new))
        return {shard.intent for shard in shards if not await self._join(shard, tasks)}

    async def _join(self, shard: Shard, tasks: asyncio.TaskGroup) -> bool:
        """Wait for a batch that an earlier call, or another process, has begun.

        One that nobody goes on with and that was only planned is freed: then there's nothing to wait for, and False.
        """
        if shard.execution == "planned":
            with contextlib.suppress(NotOursError):
                await adopt(self._desk, shard)
                return False
        self._count += 1
        self._waited = True
        self._ways.begin(tasks, shard, self._ways.take_over(shard))
        return True

    def _is_wanted(self, shard: Shard) -> bool:
        """Whether none of a shard's requests has an answer by now."""
        asked = [Planned(0, record.key, []) for record in self._desk.ledger.lines(shard.intent)]
        chunks = (asked[at : at + CHUNK_ROWS] for at in range(0, len(asked), CHUNK_ROWS))
        return all(len(self._order.unanswered(chunk, self.since)) == len(chunk) for chunk in chunks)

    async def _add(self, draft: Draft, tasks: asyncio.TaskGroup) -> None:
        if self._broke or not self._goes_on:
            return
        refused = self._account.reserve(draft)
        if refused is not None:
            self._broke = True
            if refused:
                self._account.refusal = Failure("budget", refused)
            return
        inputs = len(draft.keys)
        form = self._drafts.dialect, self._drafts.tool  # of the draft: what comes back meanwhile may change it
        if form != self._pack_form:
            await self._close_pack(tasks)
            self._pack_form = form
        for again in (False, True):
            if self._pack is None:
                await self._ways.files.acquire()
                self._pack = begin_pack(self._folder)
            pack = self._pack
            line = draft.render(custom_id(pack.intent, pack.lines, draft.keys))
            if pack.has_room(self._desk.batches.limits, len(line), inputs, draft.tokens, self._ways.queue.limit):
                pack.add(line, draft)
                self._pack_keys.update(draft.keys)
                return
            assert not again  # noqa: S101 - the first line always fits
            await self._close_pack(tasks)

    async def _close_pack(self, tasks: asyncio.TaskGroup) -> None:
        """Write a full shard's intent down, and set out with it."""
        pack, self._pack, self._pack_keys = self._pack, None, set()
        if pack is None:
            return
        pack.close()
        if self._job is not None and await within_thread(lambda: is_cancelled(self._desk, self._job_id)):
            self._account.cancelled = True
        if not self._goes_on:
            self._leave_out(pack)
            return
        if self._job is None:
            await self._open_job()
        shard = self._planned(pack)
        plan = self._desk.ledger.plan_shard
        while others := await within_thread(lambda s=shard: plan(s, pack.records, seen=self._mark)):
            self._account.released(await within_thread(lambda o=others: pack.drop(o)))
            self._account.free_round = True  # lines that hold other texts, too, are made anew
            self._count += 1
            under_way = await within_thread(lambda o=others: self._desk.ledger.open_shards(list(o)))
            await self._join_all(set(under_way.values()), tasks)
            if not pack.lines:
                self._leave_out(pack)
                return
            shard = self._planned(pack)
        self._lines += pack.lines
        pack.records = []  # the ledger has them, and the shard may be on its way for a day
        self._count += 1
        self._ways.begin(tasks, shard, self._ways.set_out(shard, pack))

    def _leave_out(self, pack: Pack) -> None:
        """The pack isn't sent."""
        self._account.released({record.key for record in pack.records})
        pack.remove()
        self._ways.files.release()

    def _planned(self, pack: Pack) -> Shard:
        dialect, tool = self._pack_form
        return Shard(
            intent=pack.intent,
            job=self._job_id,
            number=len(self._ways.shards),
            execution="planned",
            mode=dialect.form,
            max_tokens_name=dialect.max_tokens_name,
            tool=tool,
            lines=pack.lines,
            bytes=pack.bytes,
            tokens=pack.tokens,
            planned=self._desk.clock(),
        )

    async def _open_job(self) -> None:
        batches, order = self._desk.batches, self._order
        job = JobRecord(
            id=f"job-{secrets.token_hex(5)}",
            created=self._desk.clock(),
            provider=batches.name,
            identity=batches.identity,
            model=batches.model,
            question=order.question,
            kind=self._kind,
            rows=order.rows,
        )
        await within_thread(lambda: self._desk.ledger.open_job(job))
        self._jobs.append(job.id)
        self._go_on_with(job)

    def _go_on_with(self, job: JobRecord) -> None:
        self._job = job
        self._run.job_id = job.id
        self._account.goes_on(job.id)

    async def _beat(self) -> None:
        with contextlib.suppress(StoreError):  # the next one may do
            await within_thread(self._desk.ledger.beat)

    def _end(self, *, finished: bool) -> None:
        if self._pack is not None:
            self._leave_out(self._pack)
        self._run.job_cancelled = self._account.cancelled
        self._account.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if finished and not self._run.interrupted:
            for job in self._jobs:
                if not any(map(is_open, self._desk.ledger.shards(job=job))):
                    self._desk.ledger.update_job(job, finished=True)
        if self._job is not None and any(map(is_open, self._ways.shards.values())):
            self._run.goes_on = (
                f"the batches of {self._job.id} go on at the provider: the same call waits for them again, "
                f"`llmframe jobs cancel {self._job.id}` stops them"
            )
            self._run.metrics.notes.append(self._run.goes_on)
        self._desk.ledger.leave()
