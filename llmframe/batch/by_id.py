"""A job's batches looked after by whoever knows its id and none of its rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from llmframe.batch.collecting import GONE, KEPT_SECONDS, Reader, collect, give_up
from llmframe.batch.desk import Desk, NotOursError, within_thread
from llmframe.batch.embeddings import failed_line, read_vectors
from llmframe.batch.enqueued import is_token_limit
from llmframe.batch.submitting import adopt, create
from llmframe.batch.waiting import LOOKED_AT, refresh, wait
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState, Vectors
from llmframe.clients.refusals import transient
from llmframe.core.embeddings import Width
from llmframe.core.outcome import Answer, Failure
from llmframe.core.reply import Reply, read_reply
from llmframe.core.schema import Schema
from llmframe.core.scoring import tokens_evidence
from llmframe.engine.patience import patiently, pauses, rest
from llmframe.stores.base import Stored
from llmframe.stores.jobs import LineOutcome, LineRecord, Shard

WATCH_SECONDS: Final = 5.0
"""Seconds between two looks at a job whose batches another process is still sending, at most."""

FIND_SECONDS: Final = 60.0
"""How long a batch is looked for whose making was broken off, when its job is cancelled: it may not have been made."""

COLLECTED: Final = ("done", "gone")
BEFORE_END: Final = ("planned", "uploaded", "creating", "running")

REFUSED: Final = LineOutcome(state="failed", kind="bad_request", detail="the provider refused the batch")
LOST: Final = LineOutcome(state="missing", kind="batch_missing", detail="the provider knows the batch no more")


class AnyText:
    """In place of a schema: whoever reads the kept answer holds it against his own."""

    scoring: None = None

    def read(self, text: str) -> Answer:
        """The text, as it came."""
        return Answer(text, ())


def reader_of(shard: Shard, clock: Callable[[], float]) -> Reader:
    """Keeps what a shard's answers say, apart from those that are cut, filtered, refused or empty."""
    width = Width()

    def read(records: list[LineRecord], answer: Reply | Vectors) -> Sequence[tuple[LineOutcome, Stored | None]]:
        if isinstance(answer, Vectors):
            return read_vectors(records, answer, width=width, components=None, now=clock())
        result = read_reply(answer, cast("Schema", AnyText()), tool_name=shard.tool).result
        if isinstance(result, Failure):
            return [(LineOutcome(state="failed", kind=result.kind, detail=result.detail, usage=answer.usage), None)]
        told = None if answer.tokens is None else tokens_evidence(result.text, answer.tokens)
        entry = Stored(result.text, answer.usage, answer.model, answer.finish_reason, created=clock(), evidence=told)
        return [(LineOutcome(state="kept", usage=answer.usage), entry)]

    return Reader(read=read, failed=failed_line)


async def look(desk: Desk, job: str) -> list[Shard]:
    """Ask the provider once about every batch that still runs; returns the shards as they are then.

    One that it doesn't know is lost when it's as old as results may be; else that's an error.

    Raises
    ------
    RequestError
        If it doesn't say.
    """
    shards = await _shards(desk, job)
    return list(await asyncio.gather(*(_looked_at(desk, shard) for shard in shards)))


async def wait_for_end(desk: Desk, job: str, *, timeout: float | None = None) -> bool:
    """Wait until the provider has ended with every batch that it has, at most `timeout` seconds; tells whether it has.

    Raises as `look`.
    """
    waits = pauses(longest=WATCH_SECONDS)
    try:
        async with asyncio.timeout(timeout):
            while True:
                running = [shard for shard in await _shards(desk, job) if shard.execution == "running"]
                if running:
                    await asyncio.gather(*(_ended(desk, shard) for shard in running))
                elif await within_thread(lambda: _is_being_sent(desk, job)):
                    await rest(next(waits))
                else:
                    return True
    except TimeoutError:
        return False


async def collect_ended(desk: Desk, job: str) -> int:
    """Bring what ended batches came to into the store; returns how many batches are left. Raises as `look`."""
    left = await _of_each(await _shards(desk, job), lambda shard: _brought(desk, shard))
    if not left and not await within_thread(lambda: desk.ledger.is_worked_on(job)):
        await within_thread(lambda: desk.ledger.update_job(job, finished=True))
    return left


async def cancel(desk: Desk, job: str) -> int:
    """Stop every batch, those that others are making included; returns how many there were. Raises as `look`.

    Lines that are done by then are charged, and can be collected when the batches have ended.
    """
    shards = await _shards(desk, job)
    going = [shard for shard in shards if shard.execution in BEFORE_END]
    if not going and not await within_thread(lambda: desk.ledger.is_worked_on(job)):
        return 0
    await within_thread(lambda: desk.ledger.update_job(job, cancelled=True))
    return await _of_each(going, lambda shard: _stopped(desk, shard))


async def retry(desk: Desk, job: str) -> int:
    """Make batches again whose lines the provider has and that came to nothing; returns how many. Raises as `look`.

    Those are batches whose making was broken off, and those that were refused for the length of the provider's queue.
    """
    return await _of_each(await _shards(desk, job), lambda shard: _made_again(desk, shard))


async def _of_each(shards: list[Shard], work: Callable[[Shard], Awaitable[int]]) -> int:
    """What `work` returns in all; a batch of which the provider won't hear keeps nobody from the others.

    Raises the first refusal in the end; at once, what would pass.
    """
    done, refused = 0, None
    for shard in shards:
        try:
            done += await work(shard)
        except RequestError as error:
            if transient(error):
                raise
            refused = refused or error
    if refused is not None:
        raise refused
    return done


async def _brought(desk: Desk, shard: Shard) -> int:
    """Collect a batch that has ended; 1 when it hasn't, 0 else."""
    shard = await _looked_at(desk, shard)
    if shard.collection in COLLECTED:
        return 0
    if shard.execution == "failed":
        await _give_up_failed(desk, shard)
    elif shard.execution == "lost":
        await give_up(desk, shard, LOST, reader_of(shard, desk.clock))
    elif shard.execution == "ended":
        await _collect(desk, shard)
    else:
        return int(shard.execution != "abandoned")
    return 0


async def _stopped(desk: Desk, shard: Shard) -> int:
    """Stop a batch, wherever it stands; 1."""
    if shard.execution in ("planned", "uploaded"):  # where another works on it, that one makes no batch of it now
        await within_thread(lambda: desk.ledger.move_shard(shard.intent, of=["planned", "uploaded"], to="abandoned"))
    elif shard.execution == "creating":
        await _stop_unseen(desk, shard)
    elif shard.batch_id is not None:
        batch_id = shard.batch_id
        state = await patiently(lambda: desk.batches.cancel(batch_id))
        await desk.note(shard, status=state.status, polled=desk.clock())
    return 1


async def _made_again(desk: Desk, shard: Shard) -> int:
    """1 when there's a batch of it again, 0 else."""
    if shard.collection in COLLECTED:
        return 0
    try:
        if shard.execution in ("uploaded", "creating"):
            return int((await adopt(desk, shard)).execution == "running")
        if shard.execution == "failed" and shard.file_id is not None:
            await create(desk, await desk.move(shard, "uploaded"), shard.file_id)
            return 1
    except NotOursError:
        pass  # another process goes on with it
    return 0


async def _stop_unseen(desk: Desk, shard: Shard) -> None:
    """Stop a batch that is being made: whoever makes it does so; of one that nobody makes any more, it's looked for."""
    if await within_thread(lambda: desk.ledger.is_ours(shard.intent)):
        with contextlib.suppress(NotOursError, TimeoutError):  # one that can't be told yet is for the next call to stop
            async with asyncio.timeout(FIND_SECONDS):
                await adopt(desk, shard)


async def _collect(desk: Desk, shard: Shard) -> None:
    state = await _ended(desk, shard)
    if state is None:
        await give_up(desk, shard, GONE, reader_of(shard, desk.clock))
    else:
        await collect(desk, shard, state, reader_of(shard, desk.clock))


async def _ended(desk: Desk, shard: Shard) -> BatchState | None:
    """How a batch ended, which is waited for; `None` of one that isn't known any more and as old as results may be.

    A younger one may be known to another key: so that's an error, for whoever gives it up pays again.
    """
    try:
        return (await wait(desk, shard, loses=False))[1]
    except RequestError as error:
        if not _is_past(desk, shard, error):
            raise
    await desk.move(shard, "lost", of=LOOKED_AT)
    return None


def _is_past(desk: Desk, shard: Shard, error: RequestError) -> bool:
    """Whether a batch isn't known because it's too old."""
    return (
        error.kind == "not_found"
        and desk.clock() >= (float("inf") if shard.created is None else shard.created) + KEPT_SECONDS
    )


async def _give_up_failed(desk: Desk, shard: Shard) -> None:
    """A batch that was refused; for the length of the provider's queue alone it can be made again."""
    state = await desk.batches.state(shard.batch_id or "")
    if not is_token_limit(state):
        detail = f"{REFUSED.detail}: {shard.detail}" if shard.detail else REFUSED.detail
        await give_up(desk, shard, replace(REFUSED, detail=detail), reader_of(shard, desk.clock))


async def _looked_at(desk: Desk, shard: Shard) -> Shard:
    if shard.execution != "running":
        return shard
    try:
        return (await refresh(desk, shard))[0]
    except RequestError as error:
        if not _is_past(desk, shard, error):
            raise
    return await desk.move(shard, "lost", of=LOOKED_AT)


async def _shards(desk: Desk, job: str) -> list[Shard]:
    return await within_thread(lambda: desk.ledger.shards(job=job))


def _is_being_sent(desk: Desk, job: str) -> bool:
    """Whether a living process still has batches of the job to make."""
    on_their_way = ("planned", "uploaded", "creating")
    return desk.ledger.is_worked_on(job) and any(
        shard.execution in on_their_way for shard in desk.ledger.shards(job=job)
    )
