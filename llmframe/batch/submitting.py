"""From the written intent of a shard to a batch at the provider, and back to that way after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from llmframe.batch.desk import Desk, within_thread
from llmframe.clients.base import RequestError
from llmframe.clients.batch import NO_BATCH_API, BatchState, UndecidedError
from llmframe.clients.refusals import NOT_REACHED, transient
from llmframe.engine.patience import patiently, pauses, rest, unbroken
from llmframe.stores.jobs import Shard

SETTLE_SECONDS: Final = 30.0
"""How long after its end a call may still come to a batch whose answer was lost; before that, none is none yet."""

LATE_SECONDS: Final = 900.0
"""How long a call may be on its way; one that was made earlier has come to all that it ever will."""

UNSEEN_TRIES: Final = 8
"""Tries of a batch whose file the provider says not to know: for a while after its upload that means nothing."""

QUEUE_SECONDS: Final = 86_400.0
"""How long a provider may say that its queue is full: as long as it takes to do a batch."""

GRACE_SECONDS: Final = 8.0
"""Seconds that a paid call under way gets to end, and to be written down, when its run is stopped."""

_UNKNOWN_STATUS: Final = frozenset({408, 409})
_REFUSED: Final = range(400, 500)


async def upload(desk: Desk, shard: Shard, lines: Path) -> Shard:
    """Upload the lines of a planned shard.

    Raises
    ------
    RequestError
        If the provider refuses, or can't be reached; the shard stands where it got to.
    NotOursError
        If another process works on it.
    """
    file_id = await patiently(lambda: desk.batches.upload(lines, intent=shard.intent))
    return await desk.move(shard, "uploaded", file_id=file_id)


async def create(desk: Desk, shard: Shard, source: str | Path) -> Shard:
    """Make the batch of what was uploaded, or of the lines themselves: the step that is paid for.

    It is written down before it goes out. When its answer is lost, the provider is asked whether there is a batch of
    this intent, and only when there is none the call is made again. A provider whose queue is full is waited for, as
    long as a batch may take. Raises as `upload`.
    """
    unseen, begun = 0, desk.clock()
    before = shard.execution
    waits = pauses()

    async def attempt() -> Shard | None:
        nonlocal unseen, shard
        shard = await desk.move(shard, "creating", of=[before], created=desk.clock())
        try:
            state = await desk.batches.create(source, intent=shard.intent)
        except RequestError as error:
            if not _is_unknown(error):
                shard = await desk.move(shard, before)
                unseen += _is_unseen(error, source)
                if _is_unseen(error, source) and unseen < UNSEEN_TRIES:
                    return None
                raise
            found = await find(desk, shard)
            if found is None:
                shard = await desk.move(shard, before)
                raise
            state = found
        return await made(desk, shard, state)

    while True:
        try:
            created = await patiently(lambda: unbroken(attempt(), seconds=GRACE_SECONDS))
        except RequestError as error:
            if error.kind != "rate_limit" or desk.clock() > begun + QUEUE_SECONDS:
                raise
            created = None
        if created is not None:
            await _stop_if_cancelled(desk, created)
            return created
        await rest(next(waits))


async def adopt(desk: Desk, shard: Shard, *, wanted: Callable[[Shard], bool] | None = None) -> Shard:
    """Go on with a shard that another call left where it stands; raises as `upload`.

    One that was only planned is given up: what it was to hold is planned anew by whoever has the rows. An outcome that
    nobody has seen is looked for at the provider.

    Parameters
    ----------
    wanted
        Whether none of its requests has been answered otherwise, for instance by a live call; one with such requests
        is given up before it's paid for. `None` where nobody knows.
    """
    if shard.execution == "planned":
        return await desk.move(shard, "abandoned")
    if shard.execution == "creating":
        shard = await desk.move(shard, "creating")  # it's this one's from here on
        state = await find(desk, shard)
        if state is not None:
            shard = await made(desk, shard, state)
            await _stop_if_cancelled(desk, shard)
            return shard
        shard = await desk.move(shard, "abandoned" if shard.file_id is None else "uploaded")
    if shard.execution == "uploaded" and shard.file_id is not None:
        if await within_thread(lambda: is_cancelled(desk, shard.job)):
            return await desk.move(shard, "abandoned", detail="its job was cancelled")
        if wanted is not None and not await within_thread(lambda: wanted(shard)):
            return await desk.move(shard, "abandoned", detail="some of its requests have been answered since")
        try:
            return await create(desk, shard, shard.file_id)
        except RequestError as error:
            if not _is_unseen(error, shard.file_id):
                raise
            return await desk.move(shard, "abandoned", of=["uploaded"], detail="its file is gone")
    return shard


async def made(desk: Desk, shard: Shard, state: BatchState) -> Shard:
    """Write down that the provider has the batch."""
    return await desk.move(
        shard,
        "running",
        of=["creating"],
        batch_id=state.id,
        status=state.status,
        attempts=shard.attempts + 1,
        created=state.created or desk.clock(),
    )


async def find(desk: Desk, shard: Shard) -> BatchState | None:
    """The batch of a shard whose paid call has no known outcome; `None` when there surely is none.

    While the provider can't be reached or can't tell, this waits.
    """
    called, begun = shard.created or shard.planned, desk.clock()
    settled = begun if begun - called > LATE_SECONDS else begun + SETTLE_SECONDS
    waits = pauses(longest=60.0)
    while True:
        known = await within_thread(lambda: desk.ledger.batch_ids(since=0.0))
        try:
            state = await desk.batches.find(shard.intent, since=called, known=known)
        except UndecidedError:
            pass
        except RequestError as error:
            if not transient(error):
                raise
        else:
            if state is not None or desk.clock() >= settled:
                return state
        await rest(next(waits))


def is_cancelled(desk: Desk, job_id: str) -> bool:
    """Whether somebody has asked for a job's end."""
    job = desk.ledger.job(job_id)
    return job is not None and job.cancelled


async def _stop_if_cancelled(desk: Desk, shard: Shard) -> None:
    """Ask the provider to stop a batch whose job was cancelled while it was being made."""
    if await within_thread(lambda: is_cancelled(desk, shard.job)):
        await patiently(lambda: desk.batches.cancel(shard.batch_id or ""))


def _is_unknown(error: RequestError) -> bool:
    """Whether the batch may have been made all the same."""
    if error.code == NOT_REACHED or error.kind in ("rate_limit", "auth", "quota", "cancelled"):
        return False
    return error.status is None or error.status not in _REFUSED or error.status in _UNKNOWN_STATUS


def _is_unseen(error: RequestError, source: str | Path) -> bool:
    """Whether the provider says that it doesn't know the file."""
    return isinstance(source, str) and error.kind == "not_found" and error.code != NO_BATCH_API
