"""What a job does: a map over a frame, in the background."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, Protocol

from llmframe.api.arguments import Arguments
from llmframe.api.batch_access import attend
from llmframe.api.eager import Part, begin_run, is_empty_list, without_rows
from llmframe.api.keeping import ledgered_store, store_of
from llmframe.api.prepared import asking, prepare
from llmframe.api.questions import report_text
from llmframe.api.runs import new_run
from llmframe.batch.by_id import cancel
from llmframe.clients.opening_batch import open_batches
from llmframe.core.outcome import Answer, Outcome, Source
from llmframe.core.plan import Plan
from llmframe.engine.bridge import Post
from llmframe.engine.progress import Progress
from llmframe.engine.run import Run
from llmframe.frames import wrap
from llmframe.frames.held import held
from llmframe.stores.jobs import Ledger, Shard

MARK: Final = "llm_meta"
"""The column that tells rows which wait from rows that are finished."""

Ask = Callable[[Callable[[], Any]], Any]
"""Calls something between two steps of the work."""


class Errand(Protocol):
    """What a job does, and how far it got."""

    run: Run

    def work(self, show: Callable[[Progress], None] | None) -> Callable[[Post], Coroutine[Any, Any, None]]:
        """The coroutine of the private loop."""
        ...

    def so_far(self, ask: Ask, *, waiting: bool) -> object:
        """The frame by now; `ask` calls between two steps of the work, `waiting` says whether more may come."""
        ...

    def finish(self) -> object:
        """The result, after the end."""
        ...

    def shards(self) -> list[Shard]:
        """Its batches, as the ledger knows them."""
        ...

    def stop_batches(self) -> None:
        """Ask the provider to stop them, after the end."""
        ...


def errand_of(frame: object, said: Arguments) -> Errand:
    """What is to be done, checked to the last argument."""
    if is_empty_list(frame):
        return NoErrand(said)
    prepared = prepare(asking(said), wrap(held(frame)), verb="submit")
    store = store_of(said.sending.cache, prepared.client)
    return FrameErrand(Part(prepared, begin_run(prepared), prepared.plan(), store))


class FrameErrand:
    """A map over a frame."""

    def __init__(self, part: Part) -> None:
        self._part, self.run = part, part.run

    def work(self, show: Callable[[Progress], None] | None) -> Callable[[Post], Coroutine[Any, Any, None]]:
        """The part's."""
        return self._part.work(show)

    def so_far(self, ask: Ask, *, waiting: bool) -> object:
        """The frame by now, with the mark of rows that wait."""
        part = self._part
        prepared = part.prepared
        said, layout = prepared.asking.arguments, prepared.asking.layout
        taken = {*(field.name for field in layout.schema.fields)}
        if layout.into is None and not said.overwrite:
            taken |= {name.removeprefix(layout.prefix) for name in prepared.frame.names}
        if MARK not in taken:
            layout = replace(layout, meta=True)
        plan, outcomes = ask(lambda: (part.plan.so_far(), part.outcomes[:]))
        if said.mode == "batch" and not plan.shares:
            plan, outcomes = self._kept()
        columns = layout.columns(plan, outcomes, missing=None if waiting else part.run.missing)
        report = report_text(part.run.report(), prepared.frame.native, [column.name for column in columns])
        return prepared.frame.attach(prepared.kept(columns), report=report, replace=said.overwrite)

    def _kept(self) -> tuple[Plan, list[Outcome | None]]:
        """The whole plan, with the answers that the store has by now.

        Batches fill the store, which the run itself reads when they have ended.
        """
        part = self._part
        schema, plan = part.prepared.asking.schema, part.prepared.plan()
        outcomes: list[Outcome | None] = []
        for chunk in plan.draw():
            kept = part.store.get_many([planned.key for planned in chunk])
            for planned in chunk:
                entry = kept.get(planned.key)
                answer = None if entry is None else schema.read(entry.text)
                if entry is None or not isinstance(answer, Answer):
                    outcomes.append(None)
                    continue
                source: Source = "batch" if entry.created >= self.run.began else "cache"
                found = Outcome(
                    result=answer,
                    finish_reason=entry.finish_reason,
                    model=entry.model,
                    source=source,
                    fingerprint=planned.key.hex(),
                )
                outcomes.append(found)
        return plan, outcomes

    def finish(self) -> object:
        """What `map` returns, or raises."""
        return self._part.finish()

    def shards(self) -> list[Shard]:
        """Those of the run's job."""
        return [] if self.run.job_id is None else self._ledger().shards(job=self.run.job_id)

    def stop_batches(self) -> None:
        """Those of the run's job."""
        job_id, client = self.run.job_id, self._part.prepared.client
        if job_id is not None:
            attend(job_id, lambda desk: cancel(desk, job_id), ledger=self._ledger(), batches=open_batches(client))

    def _ledger(self) -> Ledger:
        prepared = self._part.prepared
        return ledgered_store(prepared.asking.arguments.sending.cache, prepared.client)[1]


class NoErrand:
    """A list without rows: there is nothing to do."""

    def __init__(self, said: Arguments) -> None:
        self._result = without_rows(said)
        client = asking(said).client()
        self.run = new_run(model=client.model, provider=client.provider, rows=0)
        self.run.ended = self.run.started

    def work(self, show: Callable[[Progress], None] | None) -> Callable[[Post], Coroutine[Any, Any, None]]:
        """Nothing."""
        del show
        return self._nothing

    def so_far(self, ask: Ask, *, waiting: bool) -> object:
        """The list."""
        del ask, waiting
        return self._result

    def finish(self) -> object:
        """The list."""
        return self._result

    def shards(self) -> list[Shard]:
        """None."""
        return []

    def stop_batches(self) -> None:
        """Nothing."""

    async def _nothing(self, post: Post) -> None:
        del post
