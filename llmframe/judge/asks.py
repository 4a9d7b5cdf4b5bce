"""Putting a preset's questions to `map`, one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, Literal, overload

from llmframe.api.arguments import LOCAL_ARGUMENTS, Arguments, arguments, lazy_kind
from llmframe.api.keeping import cache_of_asks
from llmframe.api.planning import run_plans
from llmframe.api.prepared import asking
from llmframe.api.verbs import amap, map  # noqa: A004 - the verb's name
from llmframe.budget import budget_of
from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.frames.derived import names_of, where_true
from llmframe.judge.spending import report_in, with_reports
from llmframe.judge.task import Ask, Task
from llmframe.options import SENDING_OPTIONS
from llmframe.report import PlanReport
from llmframe.report.plan_report import bounded
from llmframe.stores.base import MemoryStore
from llmframe.words import refuse_unknown

OPEN: Final = ("confidence", "samples", "distribution", "calibration", "meta", "overwrite", "prefix", "on_error")
"""Arguments of `map` that an ask may decide in another way than the call says, for its finish brings back what was
said."""

_DECIDED: Final = ("prompt_template", "schema")
"""What no preset takes; `_options` refuses them."""

_KNOWN: Final = (*_DECIDED, *LOCAL_ARGUMENTS, *SENDING_OPTIONS)
_DEFAULTS: Final = {field.name: field.default for field in fields(Arguments)}


@overload
def run(
    frame: object,
    task: Task,
    options: Mapping[str, object],
    *,
    of: Callable[..., object] | None = None,
    plan: Literal[True],
) -> PlanReport: ...
@overload
def run(
    frame: Any,
    task: Task,
    options: Mapping[str, object],
    *,
    of: Callable[..., object] | None = None,
    plan: bool = False,
) -> Any: ...
def run(
    frame: Any,
    task: Task,
    options: Mapping[str, object],
    *,
    of: Callable[..., object] | None = None,
    plan: bool = False,
) -> Any:
    """Map every ask of `task`, then finish.

    Parameters
    ----------
    frame
        As `map` takes it; a LazyFrame stays lazy.
    task
        Its asks share answers, whatever `cache` says, and one budget.
    options
        Arguments of `map` as the call said them, without those that the preset decides.
    of
        The preset, whose name and own arguments errors tell.
    plan
        Ask nothing, and tell what would be asked.

    Returns
    -------
    same kind as `frame`, or PlanReport
        What `task.finish` makes of it; the plan counts a request that several asks have in common once.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    RowError
        Under `on_error="raise"`, by the first ask with a failure.
    """
    _refuse_unknown(options, of)
    if not plan:
        reports: list[Mapping[str, object]] = []
        for ask, each in zip(task.asks, _asks(frame, task, options, verb="map"), strict=True):
            frame = map(frame, **_narrowed(ask, each, frame, options))
            reports.append(report_in(frame))
            frame = frame if ask.after is None else ask.after(frame, _prefix(options))
        return task.finish(with_reports(frame, reports), _prefix(options))
    said = _said(frame, task, options, verb="plan")
    if lazy_kind(frame):
        raise UsageError("`plan` needs rows that are there: collect (part of) the lazy query first")
    sure = [one for ask, one in zip(task.asks, said, strict=True) if not ask.rows]
    most = run_plans(frame, said)
    return most if len(sure) == len(said) else bounded(run_plans(frame, sure), most)


async def arun(
    frame: Any, task: Task, options: Mapping[str, object], *, of: Callable[..., object] | None = None
) -> Any:
    """`run` for async code."""
    _refuse_unknown(options, of)
    reports: list[Mapping[str, object]] = []
    for ask, each in zip(task.asks, _asks(frame, task, options, verb="amap"), strict=True):
        frame = await amap(frame, **_narrowed(ask, each, frame, options))
        reports.append(report_in(frame))
        frame = frame if ask.after is None else ask.after(frame, _prefix(options))
    return task.finish(with_reports(frame, reports), _prefix(options))


def columns_of(ask: Ask, options: Mapping[str, object]) -> list[tuple[str, ColumnType]]:
    """Name, without any prefix, and type of the columns that an ask writes."""
    known = {name: value for name, value in options.items() if name in _KNOWN}  # `run` refuses others
    said = arguments(ask.template, ask.schema, {**_options(ask, known), "prefix": ""})
    return asking(said).layout.types


def _asks(frame: object, task: Task, options: Mapping[str, object], *, verb: str) -> list[dict[str, Any]]:
    """The arguments of each ask's map, all of them checked before the first."""
    said = _said(frame, task, options, verb=verb)
    own = MemoryStore()
    budget = budget_of(said[0].sending.budget)
    shared: dict[str, Any] = {} if budget is None else {"budget": budget}
    asks: list[dict[str, Any]] = []
    for ask, one in zip(task.asks, said, strict=True):
        each = {**_options(ask, options), **shared, "prompt_template": ask.template, "schema": ask.schema}
        client = asking(one).client()
        if one.mode == "live":  # a batch reads its own answers in the store, where its jobs stand
            each["cache"] = cache_of_asks(one.sending.cache, client, own)
        asks.append(each)
    return asks


def _narrowed(ask: Ask, each: Mapping[str, Any], frame: object, options: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of an ask's map, once its rows are known."""
    return {**each, "where": where_true(frame, _prefix(options) + ask.rows)} if ask.rows else {**each}


def _said(frame: object, task: Task, options: Mapping[str, object], *, verb: str) -> list[Arguments]:
    if lazy_kind(frame) == "Expr":
        raise UsageError("a preset writes several columns, so it needs a frame, not an expression: `frame.llm`")
    if task.columns and options.get("into") is not None:
        raise UsageError("a preset with columns of its own writes no struct: leave `into` out, name them by `prefix=`")
    said = [arguments(ask.template, ask.schema, _options(ask, options), verb=verb) for ask in task.asks]
    _refuse_taken(frame, task, options)
    return said


def _options(ask: Ask, options: Mapping[str, object]) -> dict[str, Any]:
    """What the call said, and over it what the ask decides."""
    for name, value in options.items():
        decided = name in _DECIDED or (name in ask.options and name in LOCAL_ARGUMENTS and name not in OPEN)
        if decided and not any(value is same for same in (None, _DEFAULTS[name], ask.options.get(name))):
            raise UsageError(f"`{name}` is decided by the preset; leave it out, or ask by `llmframe.map`")
    return {**options, **ask.options, "prefix": _prefix(options) + ask.prefix}


def _refuse_unknown(options: Mapping[str, object], of: Callable[..., object] | None) -> None:
    if of is None:
        return
    own = [name for name in inspect.signature(of).parameters if name not in ("frame", "options")]
    unknown = {name: value for name, value in options.items() if name not in _KNOWN}
    shown = [*own, *(name for name in _KNOWN if name not in (*_DECIDED, *own, "system"))]
    refuse_unknown(unknown, tuple(shown), verb=of.__name__)


def _refuse_taken(frame: object, task: Task, options: Mapping[str, object]) -> None:
    prefix, existing = _prefix(options), names_of(frame) if task.columns else []
    taken = [repr(prefix + name) for name in task.columns if prefix + name in existing]
    if taken and options.get("overwrite") and options.get("where") is not None:
        raise UsageError(
            f"`overwrite=True` would leave nothing of {taken[0]} in rows outside `where`; name the new columns apart "
            "with `prefix=`"
        )
    if taken and not options.get("overwrite"):
        raise UsageError(
            f"the frame already has {'a column' if len(taken) == 1 else 'columns'} {', '.join(taken)}; "
            'keep both by `prefix="llm_"`, or replace what is there by `overwrite=True`'
        )


def _prefix(options: Mapping[str, object]) -> str:
    prefix = options.get("prefix", "")
    if not isinstance(prefix, str):
        raise UsageError(f"`prefix` must be text, got {prefix!r}")
    return prefix
