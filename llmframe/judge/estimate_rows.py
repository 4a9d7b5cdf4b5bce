"""The numbers that an estimate is made of: a judge's answers and the known ones, row by row."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import Frame
from llmframe.judge.columns import answer_columns, comparable, numbers, read, said_or_column
from llmframe.judge.gold_guards import check_spelling
from llmframe.judge.gold_rows import label_name

Floats = NDArray[np.float64]

MOST_TOLD: Final = 8
"""Labels that an error names."""


WHOLE: Final = 1.5
"""Rows that are estimated to be there, over the frame's, from which on the frame is but a part of them."""

EVERY: Final = 1.05
"""The same where every row is known: then each was picked for sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRows:
    """Numbers by row, of the whole frame.

    Attributes
    ----------
    of
        What their mean is, in words.
    judge, gold
        nan where there is none; shape (rows,).
    share
        Whether their mean is the share of a label.
    """

    of: str
    judge: Floats
    gold: Floats
    share: bool


def estimate_rows(frame: Frame, judge: str, gold: object, *, label: Hashable) -> EstimateRows:
    """The numbers of one judge's column and its gold.

    Parameters
    ----------
    judge
        Scores, labels, probabilities of `label`, or a distribution column.
    gold
        Name of a column, or a value for each row; null where unknown.
    label
        Whose share is wanted; `None` of scores, and of what is true or false.

    Raises
    ------
    UsageError
        If columns are missing, labels come without `label`, or `label` is none of them.
    """
    columns = answer_columns(frame.names, judge)
    errors = read(frame, columns.error)
    raw = read(frame, columns.value)
    cells = [None if error is not None else cell for cell, error in zip(raw, errors, strict=True)]
    truth = comparable(said_or_column([frame], gold, argument="gold"))
    if label is None and all(isinstance(cell, bool) for cell in (*cells, *truth) if cell is not None):
        label = True
    if label is None:
        return EstimateRows(
            of=f"mean of {judge!r}",
            judge=_scores(cells, judge, "judge"),
            gold=_scores(truth, gold if isinstance(gold, str) else "gold", "gold"),
            share=False,
        )
    said = _of_label(cells, truth, label, judge)
    return EstimateRows(
        of=f"share of {label!r}",
        judge=said,
        gold=np.array([math.nan if cell is None else float(cell == label) for cell in truth]),
        share=True,
    )


def less(second: EstimateRows, first: EstimateRows, names: tuple[str, str]) -> EstimateRows:
    """The second's numbers less the first's; nan where either is."""
    what = (
        f"{second.of} of {names[1]!r} less that of {names[0]!r}" if second.share else f"{names[1]!r} less {names[0]!r}"
    )
    return EstimateRows(
        of=what if second.share else f"mean of {what}",
        judge=second.judge - first.judge,
        gold=second.gold - first.gold,
        share=second.share,
    )


def chances(
    frame: Frame, probability: object, known: NDArray[np.bool_], answered: NDArray[np.bool_]
) -> tuple[Floats, str]:
    """The probabilities by which rows were picked, nan where nobody tells, and what is to be said.

    Where only picked rows have one, picked rows that nobody labelled are made up for by the others.

    Parameters
    ----------
    known, answered
        Whether each row has gold and an answer of the judge's; whether it has the latter.

    Raises
    ------
    UsageError
        If a known row has none, or the frame is but a part of what was picked from.
    """
    found = np.array(
        [
            math.nan if each is None else each
            for each in numbers(said_or_column([frame], probability, argument="probability"))
        ]
    )
    told = np.isfinite(found)
    lacking = int((known & ~told).sum())
    if lacking:
        raise UsageError(
            f"{lacking:,} rows with gold have no probability in `probability`: each row that was picked has one; drop "
            "the gold of rows that weren't picked, or fill in theirs"
        )
    _check_whole(found[known], int(answered.sum()))
    left = int((told & ~known).sum())
    if not left or told.all():
        return found, ""
    part = int(known.sum()) / int(told.sum())
    note = (
        f"{left:,} of {int(told.sum()):,} picked rows have no gold or no answer: the others stand for them, which is "
        "right only if those were left by chance"
    )
    return found * part, note


def _check_whole(found: Floats, rows: int) -> None:
    """The sum of 1 / probability estimates how many rows there were to pick from."""
    if not ((found > 0) & (found <= 1)).all():
        return  # refused where the terms are weighted
    there = float((1 / found).sum())
    most = len(found) * 2 >= rows  # of a whole frame that would have taken probabilities of a half and more
    if (most and there > WHOLE * rows) or (len(found) == rows and there > EVERY * rows):
        raise UsageError(
            f"by their probabilities the known rows were picked from about {there:,.0f} rows, and this frame has "
            f"{rows:,}: pass the whole frame, with the judge's answers to the rows that weren't picked; "
            "`llmframe.from_review_file(frame, path)` puts the labels into it"
        )


def _scores(cells: Sequence[object], name: object, argument: str) -> Floats:
    found = [float(cell) if isinstance(cell, bool) else cell for cell in comparable(cells)]
    scores = numbers(found)
    others = [cell for cell, score in zip(found, scores, strict=True) if score is None and cell is not None]
    if others:
        labels = list(dict.fromkeys(map(repr, others)))
        raise UsageError(
            f"`{argument}` {name!r} holds labels, not scores: {', '.join(labels[:MOST_TOLD])}; say whose share is "
            f"wanted: `label={labels[0]}`"
        )
    return np.array([math.nan if score is None else score for score in scores])


def _of_label(cells: Sequence[object], truth: Sequence[Hashable], label: Hashable, judge: str) -> Floats:
    """1 where the judge said `label`, 0 where it said another; or its probability of it."""
    if any(isinstance(cell, dict) for cell in cells):
        shares = [
            cast("dict[str, Any]", cell).get(label_name(label)) if isinstance(cell, dict) else None for cell in cells
        ]
        _check_label(
            label, [key for cell in cells if isinstance(cell, dict) for key in cast("dict[str, Any]", cell)], str
        )
        return _probabilities(numbers(shares), judge)
    told = [cell for cell in truth if cell is not None]
    scores = numbers(cells)
    answers = [cell for cell in comparable(cells) if cell is not None]
    numeric = bool(answers) and sum(score is not None for score in scores) == len(answers)
    if numeric and told and all(score is None for score in numbers(told)):
        _check_label(label, told, None)
        return _probabilities(scores, judge)
    _check_label(label, [*answers, *told], None)
    check_spelling(told, answers, judge=judge)
    return np.array([math.nan if cell is None else float(cell == label) for cell in comparable(cells)])


def _check_label(label: Hashable, labels: Sequence[Hashable], kind: type[str] | None) -> None:
    known = list(dict.fromkeys(labels))
    if known and (label if kind is None else label_name(label)) not in known:
        hint = did_you_mean(str(label), [each for each in known if isinstance(each, str)])
        raise UsageError(f"no answer and no gold is {label!r}{hint}; labels: {known[:MOST_TOLD]}")


def _probabilities(found: Sequence[float | None], judge: str) -> Floats:
    strange = [each for each in found if each is not None and not 0 <= each <= 1]
    if strange:
        raise UsageError(
            f"{judge!r} holds numbers while the gold holds labels, and {strange[0]!r} is no probability; pass a column "
            "of labels, or of probabilities between 0 and 1"
        )
    return np.array([math.nan if each is None else each for each in found])
