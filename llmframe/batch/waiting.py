"""Where a batch stands at the provider, looked at now and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llmframe.batch.desk import Desk, NotOursError
from llmframe.batch.enqueued import is_token_limit
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState
from llmframe.clients.refusals import transient
from llmframe.engine.patience import patiently, pauses, rest
from llmframe.stores.jobs import Execution, Shard

KNOWN_STATUS: Final = frozenset(
    "validating in_progress finalizing completed failed expired cancelling cancelled canceling ended".split()
)
"""Words that we know; a batch in any other state is still running."""

LOOKED_AT: Final[tuple[Execution, ...]] = ("running", "ended", "failed")

LOST_AFTER: Final = 3
"""Times that the provider says not to know a batch, one after the other, until it may be believed,"""

LOST_SECONDS: Final = 600.0
"""and for how long: a batch isn't known everywhere at once, and one that is given up is paid again."""


UNSEEN_SECONDS: Final = 15.0
"""The same where a batch isn't given up but told to be unknown."""


async def refresh(desk: Desk, shard: Shard) -> tuple[Shard, BatchState]:
    """Ask the provider once where a running shard stands, and write it down, unless that's for another worker to do.

    One that failed only because the provider's queue was full is uploaded again then: it will be made again.

    Raises
    ------
    RequestError
        If it doesn't say.
    NotOursError
        If the shard is another batch by now.
    """
    batch_id = shard.batch_id or ""
    state = await patiently(lambda: desk.batches.state(batch_id))
    if not _is_news(shard, state):
        return shard, state
    now = await desk.again(shard)
    if now.batch_id != batch_id or now.execution not in LOOKED_AT:
        raise NotOursError(shard.intent)
    changes = {
        "status": state.status,
        "total": state.total,
        "done": state.done,
        "failed": state.failed,
        "polled": desk.clock(),
        "detail": _told(state),
    }
    to: Execution = "uploaded" if is_token_limit(state) and shard.file_id is not None else state.phase
    try:
        return await desk.move(now, to, of=LOOKED_AT, **changes), state
    except NotOursError:
        return now, state


async def wait(
    desk: Desk,
    shard: Shard,
    *,
    seen: Callable[[Shard, BatchState], None] | None = None,
    loses: bool = True,
) -> tuple[Shard, BatchState | None]:
    """Wait until nothing more happens with a shard at the provider.

    Parameters
    ----------
    seen
        Told after every look.
    loses
        Whether a batch that the provider doesn't know is given up in the end; else that's an error.

    Returns
    -------
    Shard, BatchState
        Ended or failed; without a state it's lost: the provider knows it no more.

    Raises
    ------
    RequestError
        If the provider refuses to say, as with a key that isn't valid any more. The batch goes on.
    """
    unknown, since = 0, 0.0
    waits = pauses()
    while True:
        try:
            shard, state = await refresh(desk, shard)
        except RequestError as error:
            if error.kind == "not_found":
                since = since if unknown else desk.clock()
                unknown += 1
            elif not transient(error):
                raise
            if unknown >= LOST_AFTER and not loses and desk.clock() - since >= UNSEEN_SECONDS:
                raise
            if unknown >= LOST_AFTER and desk.clock() - since >= LOST_SECONDS:
                return await desk.move(shard, "lost", of=LOOKED_AT), None
        else:
            unknown = 0
            if seen is not None:
                seen(shard, state)
            if state.phase != "running":
                return shard, state
        await rest(next(waits))


def _told(state: BatchState) -> str | None:
    """What the provider said about the batch as a whole; its words about a line may quote the line."""
    told = (f"{each.code or 'error'}{f': {each.message}' if each.line is None else ''}" for each in state.problems[:3])
    return "; ".join(told) or None


def _is_news(shard: Shard, state: BatchState) -> bool:
    """Whether there's something to write down: a batch that stands still costs no write a look."""
    counts = (shard.total, shard.done, shard.failed) != (state.total, state.done, state.failed)
    return counts or shard.status != state.status or shard.execution != state.phase
