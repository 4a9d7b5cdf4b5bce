"""The store before the network: what was answered already is delivered, the rest is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llmframe.core.outcome import Answer, Outcome, Usage
from llmframe.core.plan import Plan, Planned
from llmframe.core.schema import Schema
from llmframe.stores.base import Store


def unanswered(
    plan: Plan, store: Store, schema: Schema, *, deliver: Callable[[int, Outcome], None]
) -> Iterator[Planned | None]:
    """Draw `plan`, deliver what `store` has, yield the requests that must be sent, and a `None` after every chunk.

    A kept reply is read again with today's schema: where it no longer fits, the request is sent.
    """
    for chunk in plan.draw():
        kept = store.get_many([planned.key for planned in chunk]) if chunk else {}
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
