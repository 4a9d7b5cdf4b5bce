"""What every step of a batch needs: the ledger, the provider, the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from llmframe.clients.batch import Batches
from llmframe.errors import StoreError
from llmframe.stores.jobs import Execution, Ledger, Shard

T = TypeVar("T")


class NotOursError(Exception):
    """Another process works on the shard, or it isn't where this one believed it to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A ledger and a provider's batch service, which is started.

    Parameters
    ----------
    clock
        Seconds since 1970.
    """

    ledger: Ledger
    batches: Batches
    clock: Callable[[], float] = time.time

    async def note(self, shard: Shard, **changes: Any) -> Shard:
        """Write changes of a shard down; returns it as it is then."""
        await within_thread(lambda: self.ledger.update_shard(shard.intent, **changes))
        return replace(shard, **changes)

    async def move(
        self, shard: Shard, to: Execution, *, of: Iterable[Execution] | None = None, **changes: Any
    ) -> Shard:
        """Write down where a shard stands now; returns it as it is then.

        Raises
        ------
        NotOursError
            If the shard isn't where it was, or is another process's.
        """
        whence: list[Execution] = [shard.execution] if of is None else list(of)
        moved = await within_thread(lambda: self.ledger.move_shard(shard.intent, of=whence, to=to, **changes))
        if not moved:
            raise NotOursError(shard.intent)
        return replace(shard, execution=to, **changes)

    async def again(self, shard: Shard) -> Shard:
        """The shard as the ledger has it now."""
        found = await within_thread(lambda: self.ledger.shards(intents=[shard.intent]))
        if not found:
            raise StoreError(
                f"the ledger doesn't know the batch {shard.intent!r} any more: the store was replaced or cleared",
                reason="io",
            )
        return found[0]


async def within_thread(call: Callable[[], T]) -> T:
    """What `call` returns, which may wait for the disk; once begun, it ends before whoever waits is cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
