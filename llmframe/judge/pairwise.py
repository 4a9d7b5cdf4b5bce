"""Which of two texts is better, asked in both orders.

Models favour a place: GPT-4 kept its verdict in about 65 % of swaps (arXiv 2306.05685). So each pair is asked as (A, B)
and as (B, A), which are two requests, one where both texts are equal. Columns: `winner`, the name of one of the two
columns or `"tie"`; `consistent`, whether both orders agree, where disagreement is a tie; `confidence`, the mean of both
orders' probabilities of the winner, and `confidence_source`; `error`. Where one order failed all but `error` are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload

from llmframe.api.arguments import PresetOptions
from llmframe.frames.derived import derive
from llmframe.judge.asks import arun, columns_of, run
from llmframe.judge.cascaded import JudgeOptions, judged_by
from llmframe.judge.pair_asks import ORDERS, Sides, check_pair, pair_asks
from llmframe.judge.pair_columns import pair_columns
from llmframe.judge.panel import Models, Vote
from llmframe.judge.task import Task
from llmframe.judge.tiers import Tiers
from llmframe.report import PlanReport

F = TypeVar("F")


class PairwiseOptions(JudgeOptions, total=False):
    """The keyword arguments of `pairwise`, but for `plan`."""

    ties: bool
    keep_orders: bool


@overload
def pairwise(
    frame: object, a: str, b: str, criterion: str, *, plan: Literal[True], **options: Unpack[PairwiseOptions]
) -> PlanReport: ...
@overload
def pairwise(
    frame: F, a: str, b: str, criterion: str, *, plan: Literal[False] = False, **options: Unpack[PairwiseOptions]
) -> F: ...
def pairwise(  # noqa: PLR0913 - the preset's own arguments
    frame: Any,
    a: str,
    b: str,
    criterion: str,
    *,
    ties: bool = True,
    keep_orders: bool = False,
    models: Models | None = None,
    vote: Vote | None = None,
    gold: str | None = None,
    cascade: Tiers | None = None,
    plan: bool = False,
    **options: Unpack[PresetOptions],
) -> Any:
    """Judge in every row which of two columns' texts meets a criterion better.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame, a polars LazyFrame, a `pyarrow.Table` or a list of dicts. It is never changed.
    a, b
        Names of the two columns.
    criterion
        What is compared, in a sentence or a paragraph.
    ties
        Whether a judge may call it a tie; where both orders disagree it's one all the same.
    keep_orders
        Add `first_winner` and `second_winner`, the verdicts when `a`, and when `b`, stood first.
    models, vote, gold, cascade
        Several models as judges of the same rows, or one after the other; see `llmframe.classify`.
    plan
        Ask nothing, and tell what would be asked.
    **options
        As `llmframe.map` takes them: `confidence`, `where`, `prefix`, `model`, …; `calibration` has no place.

    Returns
    -------
    same kind as `frame`, or PlanReport
        With `winner` (a categorical or Enum: the two names and `"tie"`), `consistent` (bool), `confidence` and
        `confidence_source` when asked for, and `error`.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    build = partial(_task, frame, (a, b), criterion, ties=ties, keep=keep_orders)
    task = judged_by(build, frame=frame, options=options, models=models, vote=vote, gold=gold, cascade=cascade)
    return run(frame, task, options, of=pairwise, plan=plan)


async def apairwise(  # noqa: PLR0913 - as `pairwise`
    frame: F,
    a: str,
    b: str,
    criterion: str,
    *,
    ties: bool = True,
    keep_orders: bool = False,
    models: Models | None = None,
    vote: Vote | None = None,
    gold: str | None = None,
    cascade: Tiers | None = None,
    **options: Unpack[PresetOptions],
) -> F:
    """`pairwise` for async code; it takes the same, but for `plan`."""
    build = partial(_task, frame, (a, b), criterion, ties=ties, keep=keep_orders)
    task = judged_by(build, frame=frame, options=options, models=models, vote=vote, gold=gold, cascade=cascade)
    return await arun(frame, task, options, of=apairwise)


def _task(  # noqa: PLR0913 - the preset's own arguments
    frame: object, sides: Sides, criterion: str, options: Mapping[str, object], *, ties: bool, keep: bool
) -> Task:
    check_pair(frame, sides, criterion, options)
    known = options.get("confidence") in ("logprobs", "votes", "auto")
    asks = pair_asks(sides, criterion, ties=ties, distribution=known)
    asked = columns_of(asks[0], options)
    outputs, make = pair_columns(sides, asked, keep=keep, shown=bool(options.get("distribution")))

    def finish(out: Any, prefix: str) -> Any:
        temporary = [prefix + before + name for before in ORDERS for name, _ in asked]
        named = [(prefix + name, type_) for name, type_ in outputs]
        return derive(out, temporary, named, make, drop=temporary, replace=bool(options.get("overwrite")))

    return Task(
        asks=asks,
        verdict="winner",
        verdict_type=dict(outputs)["winner"],
        columns=tuple(dict(outputs)),
        types=tuple(outputs),
        finish=finish,
    )
