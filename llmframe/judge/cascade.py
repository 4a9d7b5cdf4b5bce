"""Any question asked of a cheap model first, and of a stronger one where that isn't sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

from llmframe.api.arguments import MapOptions
from llmframe.judge.asks import arun, run
from llmframe.judge.cascaded import cascaded
from llmframe.judge.task import Ask, Task
from llmframe.judge.tiers import Cascade, Tiers, cascade_with
from llmframe.report import PlanReport

F = TypeVar("F")


class CascadeOptions(MapOptions, total=False):
    """The keyword arguments of `cascade`, but for `plan`."""

    gold: str | None
    target_error: float
    delta: float
    threshold: float | Sequence[float] | None
    random: bool
    tuned: bool
    field: str | None


@overload
def cascade(
    frame: object,
    prompt_template: object,
    schema: object,
    models: Tiers,
    *,
    plan: Literal[True],
    **options: Unpack[CascadeOptions],
) -> PlanReport: ...
@overload
def cascade(
    frame: F,
    prompt_template: object,
    schema: object,
    models: Tiers,
    *,
    plan: Literal[False] = False,
    **options: Unpack[CascadeOptions],
) -> F: ...
def cascade(  # noqa: PLR0913 - the facts of a cascade
    frame: Any,
    prompt_template: object,
    schema: object,
    models: Tiers,
    *,
    gold: str | None = None,
    target_error: float = 0.05,
    delta: float = 0.1,
    threshold: float | Sequence[float] | None = None,
    random: bool = True,
    tuned: bool = False,
    field: str | None = None,
    plan: bool = False,
    **options: Unpack[MapOptions],
) -> Any:
    """Ask the first model about every row, and each next one about those that the one before it is unsure of.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame, a `pyarrow.Table` or a list of dicts; with `threshold` a polars LazyFrame, too.
        It is never changed.
    prompt_template, schema
        As `llmframe.map` takes them.
    models
        From the cheapest to the strongest: a list of models, or a dict of tiers' names with a model or sending
        options each; or a `llmframe.Cascade`, which says the next six arguments but `gold` itself.
    gold
        Name of a column of known answers, null where unknown: a random sample of the rows.
    target_error
        Largest share of wrong answers among the rows that end before the last model, in (0, 1).
    delta
        Probability, over the draw of the gold rows, that it is exceeded all the same, in (0, 1).
    threshold
        A confidence said by hand, or one for each model but the last. Then nothing is certified.
    random
        Whether the rows with gold are a random sample of all rows; the certificate holds only if they are.
    tuned
        Whether anything was tuned on them, such as the prompt: such gold is refused.
    field
        Of several fields the one whose confidence decides and whose gold is known.
    plan
        Ask nothing, and tell what would be asked: at least of the first model, at most of all.
    **options
        As `llmframe.map` takes them; `confidence` is needed, `model` and struct columns have no place.

    Returns
    -------
    same kind as `frame`, or PlanReport
        With the schema's columns, `confidence` and `confidence_source` (null where the last model answered), `tier`
        (a categorical or Enum of models) and `error`. `llmframe.last_cascade()` tells of the tiers, their cost and
        errors, and what is certified.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work: gold that isn't a random sample, or too little of it.
    MissingExtraError
        Without scipy, where a threshold is to be found: `pip install 'llmframe[judge]'`.

    Warns
    -----
    LlmframeWarning
        Where nothing can be certified, so that all rows go on to the next model.

    Notes
    -----
    Thresholds are found by `llmframe.stats.selective.certified_threshold` (Learn then Test, arXiv 2110.01052). With
    three models or more each threshold has gold rows and a part of `delta` of its own.
    """
    said = cascade_with(
        models, target_error=target_error, delta=delta, threshold=threshold, random=random, tuned=tuned, field=field
    )
    task, rest = _task(frame, prompt_template, schema, said, options, gold)
    return run(frame, task, rest, of=cascade, plan=plan)


async def acascade(  # noqa: PLR0913 - as `cascade`
    frame: F,
    prompt_template: object,
    schema: object,
    models: Tiers,
    *,
    gold: str | None = None,
    target_error: float = 0.05,
    delta: float = 0.1,
    threshold: float | Sequence[float] | None = None,
    random: bool = True,
    tuned: bool = False,
    field: str | None = None,
    **options: Unpack[MapOptions],
) -> F:
    """`cascade` for async code; it takes the same, but for `plan`."""
    said = cascade_with(
        models, target_error=target_error, delta=delta, threshold=threshold, random=random, tuned=tuned, field=field
    )
    task, rest = _task(frame, prompt_template, schema, said, options, gold)
    return await arun(frame, task, rest, of=acascade)


def _task(  # noqa: PLR0913, PLR0917 - the facts of a cascade
    frame: object,
    template: object,
    schema: object,
    said: Cascade,
    options: Mapping[str, object],
    gold: str | None,
) -> tuple[Task, dict[str, object]]:
    """The task and the options that are left: `into` names a single value's column, which is the question's affair."""
    rest = {name: value for name, value in options.items() if name != "into"}
    decided = {"into": options["into"]} if options.get("into") is not None else {}
    task = Task(asks=(Ask(template=template, schema=schema, options=decided),), verdict="")
    return cascaded(lambda _options: task, said, frame=frame, options=rest, gold=gold), rest
