"""How far each row meets a rubric.

Columns: `level`; `score`, its place on the scale, or where the levels' probabilities are known (`confidence=` by
log-probabilities or votes) their expected value, beside its standard deviation `score_sd` (G-Eval, arXiv 2303.16634);
`reason`; `confidence`, `confidence_source`; `error`. A row that failed has null in all of them but `error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal, TypeVar, Unpack, overload

from llmframe.api.arguments import PresetOptions
from llmframe.frames.derived import derive, names_of, position_of
from llmframe.judge.asks import arun, columns_of, run
from llmframe.judge.cascaded import JudgeOptions, judged_by
from llmframe.judge.grading import graded_columns, grading, in_codes
from llmframe.judge.panel import Models, Vote
from llmframe.judge.rubric import Rubric
from llmframe.judge.rubric_text import examples_of, judged, system_of, template_of, verdict_of
from llmframe.judge.task import Ask, Task
from llmframe.judge.tiers import Tiers
from llmframe.report import PlanReport

F = TypeVar("F")
Judged = str | Rubric

ASKED: Final = "score_asked_"
"""Before the temporary columns of what was asked."""


@overload
def score(
    frame: object, column: Judged, rubric: Rubric | None = None, *, plan: Literal[True], **options: Unpack[JudgeOptions]
) -> PlanReport: ...
@overload
def score(
    frame: F,
    column: Judged,
    rubric: Rubric | None = None,
    *,
    plan: Literal[False] = ...,
    **options: Unpack[JudgeOptions],
) -> F: ...
def score(  # noqa: PLR0913 - the preset's own arguments
    frame: Any,
    column: Judged,
    rubric: Rubric | None = None,
    *,
    models: Models | None = None,
    vote: Vote | None = None,
    gold: str | None = None,
    cascade: Tiers | None = None,
    plan: bool = False,
    **options: Unpack[PresetOptions],
) -> Any:
    """Judge every row's text by a rubric; several rubrics are several calls, each with a `prefix`.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame, a polars LazyFrame, a `pyarrow.Table` or a list of dicts. It is never changed.
    column
        Name of the column that is judged. Its text stands last, between marks that it can't have itself. Left out,
        as in `score(rubric)`, the only column that the frame has beside the rubric's `reference` is judged.
    rubric
        Criterion and levels.
    models, vote, gold, cascade
        Several models as judges of the same rows, or one after the other; see `llmframe.classify`.
    plan
        Ask nothing, and tell what would be asked.
    **options
        As `llmframe.map` takes them: `confidence`, `where`, `prefix`, `model`, `cache`, ….

    Returns
    -------
    same kind as `frame`, or PlanReport
        With `level` (whole numbers, or a categorical or Enum of the rubric's names); `score` (float), but not on a
        nominal scale; `score_sd` where probabilities are asked for; `reason` where the rubric has one; `confidence`
        and `confidence_source` when asked for; `error`.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.

    Notes
    -----
    With probabilities p_k of levels with numbers s_k, `score` is sum p_k s_k and `score_sd` the root of
    sum p_k (s_k - score)^2. Where a row's probabilities can't be told (`confidence_source` says why), `score` is the
    level's number and `score_sd` null.
    """
    build = partial(_task, frame, column, rubric)
    task = judged_by(build, frame=frame, options=options, models=models, vote=vote, gold=gold, cascade=cascade)
    return run(frame, task, options, of=score, plan=plan)


async def ascore(  # noqa: PLR0913 - as `score`
    frame: F,
    column: Judged,
    rubric: Rubric | None = None,
    *,
    models: Models | None = None,
    vote: Vote | None = None,
    gold: str | None = None,
    cascade: Tiers | None = None,
    **options: Unpack[PresetOptions],
) -> F:
    """`score` for async code; it takes the same, but for `plan`."""
    build = partial(_task, frame, column, rubric)
    task = judged_by(build, frame=frame, options=options, models=models, vote=vote, gold=gold, cascade=cascade)
    return await arun(frame, task, options, of=ascore)


def _task(frame: object, column: object, rubric: object, options: Mapping[str, object]) -> Task:
    names = names_of(frame)
    name, rubric = judged(names, column, rubric)
    for each in (name, rubric.reference) if names else ():
        if each is not None:
            position_of(each, names)
    known = options.get("confidence") in ("logprobs", "votes", "auto")
    turns = rubric.reason is None and options.get("confidence") != "stated"  # an anchor's answer has a code alone
    decided: dict[str, object] = {
        "system": system_of(rubric, anchors=not turns),
        "examples": (turns and examples_of(rubric, name)) or None,
        "overwrite": False,
        "calibration": in_codes(options.get("calibration"), rubric),
        **({} if rubric.reason else {"into": "level"}),
        **({"distribution": True} if known else {}),
    }
    ask = Ask(template=template_of(rubric, name), schema=verdict_of(rubric), prefix=ASKED, options=decided)
    asked = columns_of(ask, options)
    outputs = graded_columns(rubric, asked, known=known, shown=bool(options.get("distribution")))
    replace = bool(options.get("overwrite"))

    def finish(out: Any, prefix: str) -> Any:
        temporary = [f"{prefix}{ASKED}{name}" for name, _ in asked]
        named = [(prefix + name, type_) for name, type_ in outputs]
        make = grading(rubric, [name for name, _ in asked], [name for name, _ in outputs])
        return derive(out, temporary, named, make, drop=temporary, replace=replace)

    names, types = tuple(dict(outputs)), tuple(outputs)
    return Task(asks=(ask,), verdict="level", verdict_type=rubric.type, columns=names, types=types, finish=finish)
