"""The ways of shards: from a written intent to a batch at the provider, to answers in the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from llmframe.batch.account import Account
from llmframe.batch.collecting import NOTHING, Read, collect, give_up
from llmframe.batch.desk import Desk, NotOursError, within_thread
from llmframe.batch.enqueued import Queue, is_token_limit
from llmframe.batch.packing import Pack
from llmframe.batch.submitting import adopt, create, is_cancelled, upload
from llmframe.batch.waiting import KNOWN_STATUS, wait
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState
from llmframe.clients.refusals import dooms_run
from llmframe.core.outcome import Failure
from llmframe.engine.patience import first_of, pauses, rest
from llmframe.engine.run import Run
from llmframe.stores.jobs import OPEN, LineOutcome, Shard

FILES_AT_ONCE: Final = 2
"""Shards whose lines lie on the disk: one is uploaded while the next is written."""

COLLECTED_AT_ONCE: Final = 2
"""Shards whose results are read: one takes some 20 MB for its fingerprints, and a hundred may end together."""

QUEUE_ATTEMPTS: Final = 100
"""Times that a batch is made again which failed only for the length of the provider's queue: a day or more."""

QUEUE_FIRST_SECONDS: Final = 5.0
QUEUE_LONGEST_SECONDS: Final = 900.0

ALONE_TRIES: Final = 8
"""Times that a batch is made again which found the queue full with none of ours in it, before it's made smaller: some
minutes, in which others may leave it."""

WATCH_SECONDS: Final = 5.0
"""Seconds between two looks at a batch that another process works on, at most."""

CANCELLED: Final = LineOutcome(
    state="cancelled", kind="cancelled", detail="the job was cancelled before this request was sent", usage=NOTHING
)

NOTHING_TO_COME: Final = ("failed", "lost", "abandoned")


class Ways:
    """The shards of one call, each on its way in a task of its own.

    Attributes
    ----------
    shards
        By intent, as they stand.
    queue
        The provider's limit of tokens.
    files
        Places for lines on the disk; one is taken by whoever begins a file, and given back by `set_out`.
    """

    def __init__(self, run: Run, desk: Desk, account: Account, read: Read, *, wanted: Callable[[Shard], bool]) -> None:
        self._run, self._desk, self._account, self._read, self._wanted = run, desk, account, read, wanted
        self.shards: dict[str, Shard] = {}
        self.queue = Queue()
        self.files = asyncio.Semaphore(FILES_AT_ONCE)
        self._collecting = asyncio.Semaphore(COLLECTED_AT_ONCE)
        self._alone: Counter[str] = Counter()
        self._strange: set[str] = set()
        self._unsent: set[str] = set()
        self._drawing = False

    def begin(self, tasks: asyncio.TaskGroup, shard: Shard, way: Coroutine[Any, Any, None]) -> None:
        """Start a shard's way."""
        self.shards[shard.intent] = shard
        self._unsent.add(shard.intent)
        tasks.create_task(self._guarded(shard, way))

    def drawing(self, *, now: bool) -> None:
        """Whether more shards may come."""
        self._drawing = now
        self._tell_sent()

    def text(self) -> str:
        """Where it stands, in a line."""
        shards = [each for each in self.shards.values() if each.collection not in ("done", "gone")]
        if not shards:
            return ""
        total, done = sum(each.lines for each in shards), sum((each.done or 0) + (each.failed or 0) for each in shards)
        words = ", ".join(sorted({each.status or each.execution for each in shards}))
        name = "batch" if len(shards) == 1 else "batches"
        return f"{len(shards)} {name}: {done:,} of {total:,} requests done ({words})"

    async def set_out(self, shard: Shard, pack: Pack) -> None:
        """The whole way of a new shard."""
        source: str | Path = pack.path
        try:
            try:
                if self._desk.batches.uploads:
                    shard = await upload(self._desk, shard, pack.path)
                    source = shard.file_id or ""
            finally:
                if source != pack.path:
                    self._let_go(pack)
            await self._room(shard)
            shard = self.shards[shard.intent] = await create(self._desk, shard, source)
        except RequestError as error:
            await self._refused(await self._desk.again(shard), error)
            return
        finally:
            self._let_go(pack)
            self._sent(shard)
        self._run.metrics.batches += 1
        await self._to_the_end(shard)

    async def take_over(self, shard: Shard) -> None:
        """The rest of the way of a shard that others have begun."""
        try:
            while True:
                try:
                    if await within_thread(lambda s=shard: self._desk.ledger.is_ours(s.intent)):
                        shard = await adopt(self._desk, shard, wanted=self._wanted)
                        break
                except NotOursError:
                    pass
                except RequestError as error:
                    await self._refused(await self._desk.again(shard), error)
                    return
                shard = self.shards[shard.intent] = await self._watched(shard)
                if shard.collection in ("done", "gone") or shard.execution in NOTHING_TO_COME:
                    self._account.free_round = True  # another call's: what it left open was in no batch of this one
                    return
        finally:
            self._sent(shard)
        if shard.execution == "abandoned":
            self.shards[shard.intent] = await self._desk.note(shard, collection="done")
            self._account.free_round = True
            return
        self._run.metrics.batches += 1
        await self.queue.enter(shard.intent, shard.tokens)
        await self._to_the_end(shard)

    async def _room(self, shard: Shard) -> None:
        """Wait until the provider's queue has room for a shard."""
        entering = asyncio.ensure_future(self.queue.enter(shard.intent, shard.tokens))
        await rest(0)
        if not entering.done():
            self._sent(shard)  # as good as
        await entering

    def _let_go(self, pack: Pack) -> None:
        if pack.path.exists():
            pack.remove()
            self.files.release()

    async def _watched(self, shard: Shard) -> Shard:
        self._sent(shard)  # it's in somebody's hands
        for seconds in pauses(longest=WATCH_SECONDS):
            await rest(seconds)
            now = await self._desk.again(shard)
            if now.collection in ("done", "gone") or now.execution in NOTHING_TO_COME:
                return now
            if await within_thread(lambda: self._desk.ledger.is_ours(shard.intent)):
                return now
        raise AssertionError

    async def _to_the_end(self, shard: Shard) -> None:
        """From a batch at the provider to answers in the store."""
        try:
            while True:
                shard, state = await wait(self._desk, shard, seen=self._seen)
                self.shards[shard.intent] = shard
                if state is None or not is_token_limit(state) or shard.attempts >= QUEUE_ATTEMPTS:
                    break
                again = await self._queued_again(shard, state)
                if again is None:
                    return
                shard = again
            self.queue.leave(shard.intent)
            await self._collect(shard, state)
        except RequestError as error:
            await self._refused(await self._desk.again(shard), error)
        finally:
            self.queue.leave(shard.intent)

    async def _queued_again(self, shard: Shard, state: BatchState) -> Shard | None:
        """Make a batch again that the provider refused for the length of its queue; `None` if it never fits."""
        alone = self.queue.refused(shard.intent, state)
        if shard.file_id is None or (alone and self._is_too_large(shard)):
            await self._desk.note(shard, execution="abandoned", collection="done")
            self.shards.pop(shard.intent)
            lines = await within_thread(lambda: self._desk.ledger.lines(shard.intent))
            self._account.released(record.key for record in lines)
            self._account.free_round = True  # its requests are packed anew, into smaller batches
            return None
        seconds = min(QUEUE_LONGEST_SECONDS, QUEUE_FIRST_SECONDS * 1.5 ** (shard.attempts - 1))
        if not self.queue.alone:
            await first_of(self.queue.freed(), rest(seconds))
        else:
            await rest(seconds)
        await self.queue.enter(shard.intent, shard.tokens)
        return await create(self._desk, shard, shard.file_id or "")

    def _is_too_large(self, shard: Shard) -> bool:
        """Whether a batch that was refused with no other one in the queue is to be cut."""
        self._alone[shard.intent] += 1
        if shard.lines == 1:
            return False
        limit = self.queue.limit
        if limit is not None and shard.tokens > limit:
            return True
        return self._alone[shard.intent] > ALONE_TRIES and self.queue.halve(shard.tokens)

    async def _collect(self, shard: Shard, state: BatchState | None) -> None:
        reader = self._account.reader(shard, self._read)
        if state is None:
            lost = LineOutcome(state="missing", kind="batch_missing", detail="the provider knows the batch no more")
            await give_up(self._desk, shard, lost, reader)
            self._run.metrics.notes.append(
                f"the provider hasn't known the batch {shard.batch_id} for ten minutes: given up, and what is asked "
                "again is paid again; only keys of the project that made it know it"
            )
        elif state.phase == "failed":
            await give_up(self._desk, shard, self._account.refused_batch(state), reader)
        else:
            async with self._collecting:
                found = await collect(self._desk, shard, state, reader)
            if found.strange:
                self._run.metrics.notes.append(
                    f"{found.strange:,} lines of a batch's results were nobody's, or had come before: left out"
                )
        now = self.shards[shard.intent] = await self._desk.again(shard)
        if now.collection == "gone":
            self._run.metrics.notes.append(f"the results of the batch {shard.batch_id} are there no more")

    async def _refused(self, shard: Shard, error: RequestError) -> None:
        """The provider won't have the batch, or won't say a word: what becomes of its requests."""
        if shard.execution in ("planned", "uploaded"):
            told = LineOutcome(state="failed", kind=error.kind, detail=error.detail, usage=NOTHING)
            shard = await self._desk.move(shard, "abandoned")
            await give_up(self._desk, shard, told, self._account.reader(shard, self._read))
            self.shards[shard.intent] = await self._desk.again(shard)
        self.queue.leave(shard.intent)
        self._run.halt(Failure(error.kind, error.detail))
        if not dooms_run(error):
            self._run.metrics.notes.append("the same call again goes on where the batches stand")

    def _seen(self, shard: Shard, state: BatchState) -> None:
        self.shards[shard.intent] = shard
        if state.status not in KNOWN_STATUS and state.status not in self._strange:
            self._strange.add(state.status)
            self._run.metrics.notes.append(
                f"the provider says {state.status!r} of a batch, a word that isn't known: taken to be running"
            )

    def _sent(self, shard: Shard) -> None:
        self._unsent.discard(shard.intent)
        self._tell_sent()

    def _tell_sent(self) -> None:
        if not self._drawing and not self._unsent:
            self._run.batches_at_provider.set()

    async def _guarded(self, shard: Shard, way: Awaitable[None]) -> None:
        """A shard's way; one whose job was cancelled ends, one that another process has taken over goes on there."""
        try:
            await way
        except NotOursError:
            self.queue.leave(shard.intent)
            now = await self._desk.again(shard)
            if await within_thread(lambda: is_cancelled(self._desk, shard.job)):
                if now.execution in ("planned", "uploaded"):
                    now = await self._desk.move(now, "abandoned")
                if now.execution == "abandoned" and now.collection == "none":
                    await give_up(self._desk, now, CANCELLED, self._account.reader(now, self._read))
                self._account.cancelled |= shard.job == self._run.job_id
                self.shards[shard.intent] = await self._desk.again(now)
            else:
                self._run.metrics.notes.append(f"another process goes on with the batch {shard.intent}")


def is_open(shard: Shard) -> bool:
    """Whether it may still come to something."""
    return shard.execution in OPEN and shard.collection not in ("done", "gone")
