"""The store before the network: what was answered already is delivered, the rest is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from llmframe.core.outcome import Answer, Outcome, Usage
from llmframe.core.plan import Plan, Planned
from llmframe.core.schema import Schema
from llmframe.stores.base import Store

QUIET_CHUNKS: Final = 8
"""Chunks of known rows between two pauses: such a row takes a tenth of the time of a new one."""


def unanswered(
    plan: Plan,
    store: Store,
    schema: Schema,
    *,
    deliver: Callable[[int, Outcome], None],
    drawn: Callable[[list[Planned]], None] | None = None,
) -> Iterator[Planned | None]:
    """Draw `plan`, deliver what `store` has, yield the requests that must be sent.

    A `None` among them lets others have their turn: after every chunk of rows that has a request, and after
    `QUIET_CHUNKS` that have none.
    `drawn` is told of every chunk's requests first, of a chunk without any, too.
    A kept reply is read again with today's schema: where it no longer fits, the request is sent.
    """
    quiet = 0
    for chunk in plan.draw():
        if drawn is not None:
            drawn(chunk)
        if not chunk:
            quiet += 1
            if quiet == QUIET_CHUNKS:
                quiet = 0
                yield None
            continue
        quiet = 0
        kept = store.get_many([planned.key for planned in chunk])
        for planned in chunk:
            entry = kept.get(planned.key)
            result = schema.read(entry.text) if entry is not None else None
            if entry is None or not isinstance(result, Answer):
                yield planned
                continue
            outcome = Outcome(
                result=result,
                usage=Usage(0, 0, 0),
                usd=0.0,
                finish_reason=entry.finish_reason,
                model=entry.model,
                source="cache",
                fingerprint=planned.key.hex(),
            )
            deliver(planned.index, outcome)
        yield None
