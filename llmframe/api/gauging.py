"""The width of a model's vectors, found before the first of them is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast

from llmframe.api.before import Before
from llmframe.api.embedding import EmbedAsking
from llmframe.api.prepared import Prepared
from llmframe.clients.embeddings import EmbeddingClient
from llmframe.core.outcome import Answer, Failure, Outcome
from llmframe.engine.bridge import Post
from llmframe.engine.embedding import Embedder
from llmframe.engine.hop import OnLoop
from llmframe.engine.settled import Settlement
from llmframe.engine.sharing import shared_here
from llmframe.errors import LlmframeError
from llmframe.stores.base import Store

MOST_TEXTS: Final = 8
"""Texts that are tried, one after the other, until one has a vector."""

_OF_THE_TEXT: Final = frozenset({"bad_request", "context_length", "content_filter", "invalid", "refusal"})


def first_texts(parts: Iterable[Prepared], ask: EmbedAsking, store: Store) -> list[Prepared]:
    """The first rows that would be asked, each on its own; none where the width is known, or no row has a text.

    A vector that `store` has of one of the first rows tells the width.
    """
    if ask.width.size is not None:
        return []
    for part in parts:
        plan = part.plan()
        for chunk in plan.draw():
            for entry in store.get_many([planned.key for planned in chunk]).values():
                if isinstance(ask.schema.read(entry.text), Answer):
                    return []
            if chunk:
                rows = [plan.first_rows[planned.index] for planned in chunk[:MOST_TEXTS]]
                return [replace(part, frame=part.frame.part(row, row + 1), asked=None) for row in rows]
    return []


class Gauge:
    """Embeds the first texts of a run until one has a vector, on the private loop.

    Parameters
    ----------
    texts
        Of `first_texts`.
    before
        The run that they belong to; it is told what they took.
    home
        The caller's loop, when the client's connections belong to it.
    """

    def __init__(
        self, ask: EmbedAsking, texts: list[Prepared], before: Before, *, home: asyncio.AbstractEventLoop | None
    ) -> None:
        self._ask, self._texts, self._before, self._home = ask, texts, before, home

    async def work(self, post: Post) -> None:
        """Ask, one text after the other.

        Raises
        ------
        LlmframeError
            If none of them has a vector, and the run goes on all the same.
        """
        del post
        run, ask = self._before.run, self._ask
        for number, text in enumerate(self._texts, start=1):
            result = await self._embed(text)
            if not isinstance(result, Failure) or run.stop is not None or ask.arguments.on_error == "raise":
                return
            if result.kind not in _OF_THE_TEXT or number == len(self._texts):
                raise LlmframeError(
                    f"the first {number:,} texts have no vector ({result}), so nobody can tell how wide the output's "
                    "vectors are: give `dimensions=`, or try again"
                )

    async def _embed(self, text: Prepared) -> Answer | Failure:
        run, ask, plan = self._before.run, self._ask, text.plan()
        own = cast("EmbeddingClient", text.client)
        client = own if self._home is None else OnLoop(own, self._home)
        outcomes: list[Outcome | None] = []
        worker = Embedder(
            run,
            plan,
            client=client,
            width=ask.width,
            options=ask.arguments.sending,
            bounds=ask.bounds(own),
            store=self._before.store,
            shared=shared_here(),
            outcomes=outcomes,
            components=ask.question(own).components(),
        )

        async def work() -> None:
            await client.start()
            await worker.work()
            plan.rows_done = 0  # its part counts the row

        try:
            await run.execute(plan, lambda: asyncio.create_task(work()))
        finally:
            await worker.landed()
            await client.close()
            await worker.kept()
        outcome = next(iter(outcomes), None)
        if outcome is None:
            return run.missing
        if outcome.attempts and outcome.fingerprint is not None:
            self._before.settled[bytes.fromhex(outcome.fingerprint)] = Settlement(
                usage=outcome.usage,
                usd=outcome.usd,
                attempts=outcome.attempts,
                failure=outcome.result if isinstance(outcome.result, Failure) else None,
                source="live",
            )
        return outcome.result
