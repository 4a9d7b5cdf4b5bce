"""A map by batches: what it needs before anything is sent, and how it fills the store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

from llmframe.api.keeping import Renewed, ledgered_store
from llmframe.api.prepared import Asking, Prepared
from llmframe.batch.account import Account
from llmframe.batch.desk import Desk
from llmframe.batch.filling import AGAIN, Filling, Order
from llmframe.clients.base import Client
from llmframe.clients.opening_batch import open_batches
from llmframe.core.outcome import Answer
from llmframe.core.plan import Planned
from llmframe.core.request import canonical_json
from llmframe.engine.run import Run
from llmframe.engine.settled import Settled
from llmframe.stores.base import Store

Requests = Callable[[], AsyncIterator[list[Planned]]]
"""Draws a call's requests anew, a list at a time."""


@dataclass(frozen=True, slots=True)
class Batching:
    """A map's way through the Batch API, checked and not begun.

    Parameters
    ----------
    asking, desk
        What is asked; ledger and provider.
    store
        Where answers are kept, as the map reads it afterwards.
    """

    asking: Asking
    desk: Desk
    store: Store

    def filling(self, run: Run, requests: Requests, *, rows: int | None, parts: bool = False) -> Stage:
        """The batches of one run; to be called on the private loop.

        Parameters
        ----------
        rows
            Of the call; `None` where they aren't counted yet.
        parts
            Whether the run has several parts.
        """
        said, batches = self.asking.arguments, self.desk.batches
        lines = self.asking.lines(batches, clock=self.desk.clock)
        account = Account(run, self.desk.ledger, lines, live=said.fallback == "live", parts=parts)
        text = None if callable(said.prompt_template) else [said.prompt_template, said.system]
        fresh = isinstance(self.store, Renewed)
        question = canonical_json([lines.kind, str(self.asking.question(batches).components()), text, fresh])
        order = Order(
            question=hashlib.sha256(question.encode()).hexdigest()[:32],
            rows=rows,
            requests=requests,
            unanswered=self._unanswered,
            fresh=fresh,
            again=AGAIN if said.fallback == "batch" else 0,
        )
        filling = Filling(run, self.desk, order, lines=lines, account=account)
        return Stage(filling, account, self.store)

    def _unanswered(self, requests: list[Planned], since: float) -> list[Planned]:
        entries = self.store.get_many([planned.key for planned in requests])
        return [
            planned
            for planned in requests
            if (entry := entries.get(planned.key)) is None
            or entry.created < since
            or not isinstance(self.asking.schema.read(entry.text), Answer)
        ]


@dataclass(frozen=True, slots=True)
class Stage:
    """The first stage of a run by batches; `settled` tells the second one what they came to."""

    filling: Filling
    settled: Settled
    store: Store

    async def run(self) -> None:
        """Fill the store."""
        try:
            await self.filling.run()
        finally:
            if isinstance(self.store, Renewed):
                self.store.since = self.filling.since


def batching(asking: Asking, client: Client) -> Batching | None:
    """The way through the Batch API that a call asks for; `None` for a live one.

    Raises
    ------
    UsageError
        If the provider has no Batch API, or the jobs couldn't be written down.
    """
    said = asking.arguments
    if said.mode != "batch":
        return None
    batches = open_batches(client, timeout=said.sending.timeout)
    store, ledger = ledgered_store(said.sending.cache, client)
    return Batching(asking, Desk(ledger=ledger, batches=batches), store)


def drawn(prepared: Iterable[Prepared]) -> Callable[[], AsyncIterator[list[Planned]]]:
    """Draws the requests of maps that are there."""
    whole = list(prepared)

    async def requests() -> AsyncIterator[list[Planned]]:
        for each in whole:
            for chunk in each.plan().draw():
                yield chunk

    return requests
