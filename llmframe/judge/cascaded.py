"""Several models one after the other: each next one is asked the rows that the one before it is unsure of.

The first model answers all rows, with a confidence. Rows at its threshold or above end there; rows below it, without a
confidence or failed go on to the next model. The last one's answer stands whatever it is; it is asked for no
confidence, for nothing depends on it. Columns are those of the first model, with `tier`, the model that answered,
before `error`.

Thresholds are certified on rows with gold (Learn then Test, arXiv 2110.01052): of the rows that end before the last
model at most `target_error` are wrong, with probability 1 − `delta` over the draw of those rows. What the last model
answers is measured on gold, not promised. Where nothing can be certified all rows go on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, Final

from llmframe.api.arguments import PresetOptions, lazy_kind
from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.frames.derived import derive, dropped, names_of
from llmframe.judge.asks import columns_of
from llmframe.judge.columns import answer_columns, is_own
from llmframe.judge.course import Course
from llmframe.judge.judges import Models
from llmframe.judge.panel import Vote, panelled, put_to
from llmframe.judge.task import Ask, Task
from llmframe.judge.thresholds import checked_gold, passing
from llmframe.judge.tier_columns import ERROR, GOES_ON, META, TierColumns, Types, tier_prefix
from llmframe.judge.tiers import Cascade, Tiers, cascade_of, tiers_of
from llmframe.options import UNSET

Build = Callable[[Mapping[str, object]], Task]
"""A preset's task for a call's options."""

_SURELESS: Final[dict[str, object]] = {"confidence": None, "samples": None, "distribution": False, "calibration": None}


class JudgeOptions(PresetOptions, total=False):
    """The keyword arguments of `map` that presets pass on, and who judges."""

    models: Models | None
    vote: Vote | None
    gold: str | None
    cascade: Tiers | None


def judged_by(  # noqa: PLR0913 - who is asked
    build: Build,
    *,
    frame: object,
    options: Mapping[str, object],
    models: Models | None = None,
    vote: Vote | None = None,
    gold: str | None = None,
    cascade: Tiers | None = None,
) -> Task:
    """A preset's task put to one model, to a panel of them, or to one after the other.

    Parameters
    ----------
    build
        The task for one model and the call's options.
    frame, options
        Of the call.
    models, vote, gold
        As `panelled` takes them.
    cascade
        Models from the cheapest to the strongest, or a `Cascade`; `gold` then names the column of known answers.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    if cascade is None:
        return panelled(build(options), models, frame=frame, options=options, vote=vote, gold=gold)
    if models is not None or vote is not None:
        word = "models" if models is not None else "vote"
        raise UsageError(f"`{word}` is for a panel of judges, `cascade` for one model after the other; leave one out")
    return cascaded(build, cascade_of(cascade), frame=frame, options=options, gold=gold)


def cascaded(
    build: Build, cascade: Cascade, *, frame: object, options: Mapping[str, object], gold: str | None = None
) -> Task:
    """The task put to the tiers of a cascade; as in `judged_by`."""
    tiers = tiers_of(cascade)
    _refuse(cascade, frame, options)
    forced = [_forced(options, last=at == len(tiers) - 1) for at in range(len(tiers))]
    tasks = [build({**options, **own}) for own in forced]
    types = [
        task.types or tuple(columns_of(task.asks[0], {**options, **own}))
        for task, own in zip(tasks, forced, strict=True)
    ]
    if not any(name in ERROR for name, _ in types[0]):
        raise UsageError("`into` would make one struct of several fields; leave it out, name them by `prefix=`")
    columns = TierColumns(
        tiers=tiers,
        types=tuple(types),
        field=_field(cascade, tasks[0], types[0]),
        plain=options.get("labels") == "string",
        meta=bool(options.get("meta")),
    )
    labels = _labels(dict(types[0])[columns.field])
    where = options.get("where")
    checked_gold(frame, names_of(frame), gold, cascade, labels=labels, tiers=len(tiers) - 1, where=where)
    course = Course(cascade=cascade, columns=columns, gold=gold)

    def finish(out: Any, prefix: str) -> Any:
        out = _finished(course, tasks[-1], len(tiers) - 1, out, prefix)
        if not names_of(out):
            return out
        inputs, outputs = ([prefix + name for name in names] for names in (columns.inputs, dict(columns.outputs)))
        named = list(zip(outputs, dict(columns.outputs).values(), strict=True))
        out = derive(out, inputs, named, columns.merging(), replace=bool(options.get("overwrite")))
        course.tell(out, prefix)
        return dropped(out, inputs)

    return Task(
        asks=tuple(
            _to_tier(ask, at, {**forced[at], **tier.options}, options, after=after)
            for at, (tier, task) in enumerate(zip(tiers, tasks, strict=True))
            for ask, after in zip(task.asks, [*[None] * (len(task.asks) - 1), _after(course, task, at)], strict=True)
        ),
        verdict=columns.field,
        verdict_type=tasks[0].verdict_type,
        columns=tuple(dict(columns.outputs)),
        types=columns.outputs,
        finish=finish,
    )


def _refuse(cascade: Cascade, frame: object, options: Mapping[str, object]) -> None:
    if options.get("model", UNSET) not in (UNSET, None):
        raise UsageError("`model` and `cascade` are both said; leave one out")
    if options.get("into") is not None:
        raise UsageError("`into` has no place for a cascade's columns; leave it out, name them by `prefix=`")
    if options.get("confidence") is None:
        raise UsageError(
            'a cascade sends on what its first model is unsure of, so it takes a confidence: `confidence="logprobs"`, '
            'or "votes" where the endpoint tells no log-probabilities'
        )
    if lazy_kind(frame) is not None and cascade.threshold is None:
        raise UsageError(
            "a cascade's threshold is found when all its rows are there: `.collect()` first, or say one by hand: "
            "`llmframe.Cascade(models, threshold=0.9)`"
        )


def _forced(options: Mapping[str, object], *, last: bool) -> dict[str, object]:
    """What a tier is asked otherwise than the call says: what it took is told, its failure isn't the last word."""
    own: dict[str, object] = {"meta": True, "overwrite": False}
    if last:
        return {**own, **_SURELESS}
    return {**own, **({"on_error": "column"} if "on_error" in options else {})}


def _to_tier(
    ask: Ask,
    at: int,
    said: Mapping[str, object],
    options: Mapping[str, object],
    *,
    after: Callable[[Any, str], Any] | None,
) -> Ask:
    """One of the task's questions to one tier."""
    put = put_to(ask, tier_prefix(at).removesuffix("_"), said, options)
    return replace(put, rows=tier_prefix(at - 1) + GOES_ON if at else "", after=after)


def _labels(type_: ColumnType) -> tuple[Hashable, ...]:
    """What cells of a column may be; empty where that is open."""
    return (False, True) if type_.kind == "bool" else type_.labels


def _field(cascade: Cascade, task: Task, types: Types) -> str:
    """The column whose confidence decides."""
    names = [name for name, _ in types]
    fields = [name for name in names if not is_own(name) or f"{name}_confidence" in names]
    said = cascade.field or task.verdict
    if said:
        if said not in fields:
            raise UsageError(f"`field={said!r}` is no field of the answer; fields: {fields}")
        return said
    sure = [name for name in fields if f"{name}_confidence" in names]
    closed = [name for name, type_ in types if name in fields and type_.kind in ("enum", "bool")]
    for found in (fields, sure, [] if sure else closed):
        if len(found) == 1:
            return found[0]
    raise UsageError(
        f"several fields could decide which rows go on; name one: `llmframe.Cascade(models, field=...)`, of {fields}"
    )


def _after(course: Course, task: Task, at: int) -> Callable[[Any, str], Any] | None:
    """What becomes of a tier's answers: finished, and a column that tells which rows go on. The last one's wait."""
    if at == len(course.columns.tiers) - 1:
        return None

    def after(frame: Any, prefix: str) -> Any:
        out = _finished(course, task, at, frame, prefix)
        if not names_of(out):
            return out
        own = prefix + tier_prefix(at)
        found = answer_columns(names_of(out), own + course.columns.field)
        threshold = course.threshold(at, out, found)
        inputs = [found.value, str(found.shown), f"{found.shown}_source", str(found.error)]
        return derive(out, inputs, [(own + GOES_ON, ColumnType("bool"))], passing(threshold))

    return after


def _finished(course: Course, task: Task, at: int, frame: Any, prefix: str) -> Any:
    own = prefix + tier_prefix(at)
    course.spend(frame, [f"{own}{ask.prefix}{META}" for ask in task.asks])
    return task.finish(frame, own)
