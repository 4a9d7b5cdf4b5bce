"""What a job does: a map over a frame, in the background."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, Protocol

from llmframe.api.arguments import Arguments
from llmframe.api.eager import Part, begin_run, is_empty_list, without_rows
from llmframe.api.keeping import store_of
from llmframe.api.prepared import asking, prepare
from llmframe.api.runs import new_run
from llmframe.engine.bridge import Post
from llmframe.engine.progress import Progress
from llmframe.engine.run import Run
from llmframe.frames import wrap
from llmframe.frames.held import held

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
        columns = layout.columns(plan, outcomes, missing=None if waiting else part.run.missing)
        report = part.run.report().to_json()
        return prepared.frame.attach(prepared.kept(columns), report=report, replace=said.overwrite)

    def finish(self) -> object:
        """What `map` returns, or raises."""
        return self._part.finish()


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

    async def _nothing(self, post: Post) -> None:
        del post
