"""A map over rows that are there: run, attach, tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, cast

from llmframe.api.answering import answer
from llmframe.api.arguments import Arguments
from llmframe.api.batching import batching
from llmframe.api.keeping import store_of
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.questions import question_digest, report_text
from llmframe.api.runs import new_run, warn_of_failures
from llmframe.core.columns import Column
from llmframe.core.outcome import Failure, Outcome
from llmframe.core.plan import Plan, first_failure
from llmframe.engine import bridge
from llmframe.engine.bridge import Post
from llmframe.engine.progress import Progress, listener
from llmframe.engine.run import Run
from llmframe.engine.settled import Settled
from llmframe.errors import RowError
from llmframe.frames import wrap
from llmframe.frames.base import SeriesFrame
from llmframe.stores.base import Store

INTERRUPTED: Final = (
    "what was answered stands in this exception's `.frame` and in `llmframe.last_run().frame`; "
    "the same call again asks only for what is missing"
)


@dataclass(slots=True)
class Part:
    """One part of a run: prepared rows on their way to columns; `offset` rows of the frame stand before them.

    `settled` tells what batches have come to, where they were made for several parts together.
    """

    prepared: Prepared
    run: Run
    plan: Plan
    store: Store
    outcomes: list[Outcome | None] = field(default_factory=list[Outcome | None])
    offset: int = 0
    settled: Settled | None = None

    def work(
        self, listener_: Callable[[Progress], None] | None, home: asyncio.AbstractEventLoop | None = None
    ) -> Callable[[Post], Coroutine[Any, Any, None]]:
        """The coroutine of the private loop, for the bridge."""
        return lambda post: answer(
            self.prepared,
            self.run,
            self.plan,
            self.outcomes,
            store=self.store,
            post=post,
            listener=listener_,
            home=home,
            settled=self.settled,
        )

    def columns(self) -> list[Column]:
        """The new columns as far as outcomes are there."""
        columns = self.prepared.asking.layout.columns(self.plan, self.outcomes, missing=self.run.missing)
        return self.prepared.kept(columns)

    def result(self) -> object:
        """The native frame, or for a Series and one value a Series."""
        ask, frame = self.prepared.asking, self.prepared.frame
        columns = self.columns()
        if isinstance(frame, SeriesFrame) and ask.gives_series:
            return frame.series(columns[0])
        report = report_text(self.run.report(), frame.native, [column.name for column in columns])
        return frame.attach(columns, report=report, replace=ask.arguments.overwrite)

    def finish(self) -> object:
        """The result, with the warning, or the exception of `on_error="raise"`."""
        result = self.result()
        if self.run.interrupted or self.run.stop is not None:
            self.run.frame = result
        if self.prepared.asking.arguments.on_error == "raise":
            self.raise_first(result)
        warn_of_failures(self.run)
        return result

    def first_failure(self) -> tuple[int, Failure] | None:
        """The first failed row by position here, with its failure."""
        return first_failure(self.plan, self.outcomes, missing=self.run.missing)

    def raise_first(self, result: object) -> None:
        """Raise `RowError` with `result` for the first failed row, if there is one."""
        found = self.first_failure()
        if found is None:
            return
        row, failure = found
        ask = self.prepared.asking
        hint = f"`{ask.layout.error_place}` in this exception's `.frame` says why"
        if isinstance(self.prepared.frame, SeriesFrame) and ask.gives_series:
            hint = "a map over the Series' `.to_frame()` has an error column that says why"
        raise RowError(
            f"row {self.offset + row} failed: {failure.kind} ({hint})",
            kind=failure.kind,
            frame=result,
        )


def run_map(native: object, arguments: Arguments) -> object:
    """`map` over an eager frame, from synchronous code."""
    if is_empty_list(native):
        return without_rows(arguments)
    part = _part(native, arguments, verb="map")
    show, close = listener(arguments.progress)
    try:
        try:
            if arguments.loop == "current":
                bridge.run_here(lambda: _on_callers_loop(part, show), interrupt=part.run.cancel)
            else:
                bridge.run(part.work(show), interrupt=part.run.cancel, verb="map")
        finally:
            close(part.run.progress())
        return part.finish()
    except KeyboardInterrupt as interrupt:
        interrupt.args = interrupt.args or (f"{part.run.goes_on}; {INTERRUPTED}" if part.run.goes_on else INTERRUPTED,)
        part.run.frame = part.result()
        interrupt.frame = part.run.frame  # pyright: ignore[reportAttributeAccessIssue] - ours to add
        raise


async def run_amap(native: object, arguments: Arguments) -> object:
    """`amap` over an eager frame."""
    if is_empty_list(native):
        return without_rows(arguments)
    part = _part(native, arguments, verb="amap")
    show, close = listener(arguments.progress)
    # the connections of a client with a transport of its own belong to the loop that it was made for: this one
    at_home = arguments.loop == "current" or getattr(part.prepared.client, "foreign_loop", False)
    try:
        if at_home:
            await _on_callers_loop(part, show)
        else:
            await bridge.arun(part.work(show), interrupt=part.run.cancel)
    except asyncio.CancelledError:
        part.run.frame = part.result()
        raise
    finally:
        close(part.run.progress())
    return part.finish()


async def _on_callers_loop(part: Part, show: Callable[[Progress], None] | None) -> None:
    home = asyncio.get_running_loop()
    await bridge.arun(part.work(show, home), interrupt=part.run.cancel)


def is_empty_list(native: object) -> bool:
    """Whether `native` is a list of dicts without any."""
    return isinstance(native, list) and not cast("list[object]", native)


def without_rows(arguments: Arguments) -> list[object]:
    """A list without rows has no columns that a template could be held against; the rest is checked."""
    asking(arguments).client()
    return []


def begin_run(prepared: Prepared) -> Run:
    """A run over the rows of a frame, beginning now.

    Raises
    ------
    UsageError
        If it's to be one by batches, and there can't be any; or by a budget without a price.
    """
    batching(prepared.asking, prepared.client)
    client, sending = prepared.client, prepared.asking.arguments.sending
    return new_run(
        model=client.model,
        provider=client.provider,
        rows=len(prepared.frame),
        budget=sending.budget,
        prices=sending.prices,
        tier=sending.params.get("service_tier"),
        question=question_digest(prepared.asking, client, series=prepared.frame.single),
    )


def _part(native: object, arguments: Arguments, *, verb: str) -> Part:
    prepared = prepare(asking(arguments), wrap(native), verb=verb)
    return Part(prepared, begin_run(prepared), prepared.plan(), store_of(arguments.sending.cache, prepared.client))
