"""Where a batch stands at the provider, looked at now and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llmframe.batch.desk import Desk
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState
from llmframe.clients.refusals import transient
from llmframe.engine.patience import patiently, pauses, rest
from llmframe.stores.jobs import Shard

KNOWN_STATUS: Final = frozenset(
    "validating in_progress finalizing completed failed expired cancelling cancelled canceling ended".split()
)
"""Words that we know; a batch in any other state is still running."""

LOST_AFTER: Final = 3
"""Times that the provider says not to know a batch, one after the other, until it's believed."""


async def refresh(desk: Desk, shard: Shard) -> tuple[Shard, BatchState]:
    """Ask the provider once where a running shard stands, and write it down.

    Raises
    ------
    RequestError
        If it doesn't say.
    """
    batch_id = shard.batch_id or ""
    state = await patiently(lambda: desk.batches.state(batch_id))
    if not _is_news(shard, state):
        return shard, state
    told = "; ".join(f"{problem.code or 'error'}: {problem.message}" for problem in state.problems[:3]) or None
    execution = {"running": "running", "ended": "ended", "failed": "failed"}[state.phase]
    shard = await desk.note(
        shard,
        execution=execution,
        status=state.status,
        total=state.total,
        done=state.done,
        failed=state.failed,
        polled=desk.clock(),
        detail=told,
    )
    return shard, state


async def wait(
    desk: Desk, shard: Shard, *, seen: Callable[[Shard, BatchState], None] | None = None
) -> tuple[Shard, BatchState | None]:
    """Wait until nothing more happens with a shard at the provider.

    Parameters
    ----------
    seen
        Told after every look.

    Returns
    -------
    Shard, BatchState
        Ended or failed; without a state it's lost: the provider knows it no more.

    Raises
    ------
    RequestError
        If the provider refuses to say, as with a key that isn't valid any more. The batch goes on.
    """
    unknown = 0
    waits = pauses()
    while True:
        try:
            shard, state = await refresh(desk, shard)
        except RequestError as error:
            unknown = unknown + 1 if error.kind == "not_found" else 0
            if unknown == LOST_AFTER:
                return await desk.note(shard, execution="lost"), None
            if not unknown and not transient(error):
                raise
        else:
            unknown = 0
            if seen is not None:
                seen(shard, state)
            if state.phase != "running":
                return shard, state
        await rest(next(waits))


def _is_news(shard: Shard, state: BatchState) -> bool:
    """Whether there's something to write down: a batch that stands still costs no write a look."""
    counts = (shard.total, shard.done, shard.failed) != (state.total, state.done, state.failed)
    return counts or shard.status != state.status or shard.execution != state.phase
