"""A map inside a lazy query: one run, answered in parts as polars hands rows over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmframe.api.arguments import Arguments
from llmframe.api.eager import Part
from llmframe.api.examples import examples_of
from llmframe.api.keeping import store_of_parts
from llmframe.api.prepared import Asking, Prepared, asking
from llmframe.api.questions import question_digest
from llmframe.api.runs import STALE_SECONDS, new_run, runs_now, warn_of_failures
from llmframe.core.columns import Column
from llmframe.engine import bridge
from llmframe.engine.interrupts import watched
from llmframe.engine.progress import Progress, cell_number, listener
from llmframe.engine.run import Run
from llmframe.errors import UsageError, callers_place
from llmframe.frames.base import Frame

if TYPE_CHECKING:
    import polars as pl


class LazyRun:
    """What answers the parts of one lazy query; polars calls it from several threads at once."""

    def __init__(self, ask: Asking, *, verb: str) -> None:
        client = ask.client()  # wrong use shows now, not in the middle of a query
        self._ask, self._verb = ask, verb
        self._layout = replace(ask.layout, prefix="", into=None)
        self._store = store_of_parts(ask.arguments.sending.cache, client)
        self._lock = threading.Lock()
        self._place, self._cell = callers_place(), cell_number()
        self._inside = 0  # parts that polars waits for
        self._begin()

    def __call__(self, frame: Frame, asked: list[bool] | None) -> Sequence[Column]:
        """The new columns of some rows."""
        ask, run = self._ask, self._enter()
        try:
            prompt = ask.prompt(frame.names, series=frame.single)
            prepared = Prepared(ask, frame, prompt, ask.client(), asked)
            part = Part(prepared, run, prepared.plan(), self._store)
            if len(frame):
                with watched(run):
                    bridge.run(part.work(self._show), interrupt=run.cancel, verb=self._verb)
        finally:
            self._leave(run)
        with self._lock:
            if run.metrics.failed and not self._warned and not self._inside:  # below the bar, not in it
                self._warned = True
                warn_of_failures(run, place=self._place)
        return self._layout.columns(part.plan, part.outcomes, missing=run.missing)

    def _begin(self) -> None:
        client, sending = self._ask.client(), self._ask.arguments.sending
        self._run = new_run(
            model=client.model,
            provider=client.provider,
            rows=None,
            budget=sending.budget,
            prices=sending.prices,
            tier=sending.params.get("service_tier"),
            question=question_digest(self._ask, client, series=False),
        )
        show, self._close = listener(self._ask.arguments.progress)
        self._show = None if show is None else _one_at_a_time(show)
        self._warned = False

    def _enter(self) -> Run:
        """The run that a part belongs to; in another cell or after a pause the query is collected anew: another one."""
        with self._lock:
            run, cell = self._run, cell_number()
            idle = run.clock() - run.ended if run.ended is not None and not self._inside else 0.0
            if idle > (STALE_SECONDS if cell == self._cell else 0.0):
                self._begin()
            self._cell = cell
            runs_now(self._run)
            self._inside += 1
            return self._run

    def _leave(self, run: Run) -> None:
        """A part has ended. Nobody knows which one is the query's last: the bar is closed whenever none goes on."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._close(run.progress())


def run_lazy(native: pl.LazyFrame, arguments: Arguments) -> pl.LazyFrame:
    """`map` over a `polars.LazyFrame`: nothing runs, the new columns' dtypes are known."""
    from llmframe.frames.polars_lazy import column_names, map_lazy  # noqa: PLC0415 - polars is loaded by the user

    _refuse_eager_options(arguments)
    ask = asking(arguments)
    names = column_names(native)
    prompt = ask.prompt(names, series=False)
    ask.layout.check(names, overwrite=arguments.overwrite, verb="map")
    return map_lazy(
        native,
        LazyRun(ask, verb="map"),
        used=[names[position] for position in prompt.positions],
        parts=ask.layout.parts,
        names=[name for name, _ in ask.layout.types],
        where=arguments.where,
        keep=arguments.overwrite,
    )


def run_expression(native: pl.Expr, arguments: Arguments) -> pl.Expr:
    """`map` over a polars expression: a Struct named `into`, or `llm`."""
    from llmframe.frames.polars_lazy import map_expression  # noqa: PLC0415 - polars is loaded by the user

    _refuse_eager_options(arguments)
    ask = asking(arguments, struct=True)
    # a wrong answer is told now; the template waits for its columns' names
    examples_of(arguments.examples, ask.schema, template=arguments.prompt_template, series=True)
    return map_expression(
        native,
        LazyRun(ask, verb="map"),
        ask.layout.parts,
        name=arguments.prefix + (arguments.into or "llm"),
        where=arguments.where,
    )


def _one_at_a_time(show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """`show` for parts that report from threads of their own: there is one bar."""
    lock = threading.Lock()

    def alone(progress: Progress) -> None:
        with lock:
            show(progress)

    return alone


def _refuse_eager_options(arguments: Arguments) -> None:
    if arguments.on_error == "raise":
        raise UsageError('`on_error="raise"` needs rows that are there: collect first, or filter on the error column')
    if arguments.on_null == "raise":
        raise UsageError('`on_null="raise"` needs rows that are there: collect first, or filter the nulls out')
    if arguments.loop == "current":
        raise UsageError("`loop='current'` can't serve a lazy query, which runs in threads of polars")
