"""Rows to be labelled by people, picked so that all rows can be concluded about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar, cast, get_args

import numpy as np

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.frames.derived import Table, position_of
from llmframe.judge.columns import answer_columns, comparable, confidences, is_own, read, said_or_column
from llmframe.stats.sampling import FLOOR, Picked, pick_by_stratum, pick_by_weight, pick_evenly

N = TypeVar("N")

How = Literal["random", "stratified", "expected_error"]

ID: Final = "review_id"
PROBABILITY: Final = "review_probability"

DIGITS: Final = 10
"""Significant digits of a probability: as many as a spreadsheet keeps."""


def pick_for_review(  # noqa: PLR0913 - the facts of a sample
    frame: N,
    budget: int,
    *,
    how: How = "random",
    judge: str | None = None,
    by: object = None,
    confidence: object = None,
    row_id: str | None = None,
    floor: float = FLOOR,
    seed: int = 0,
) -> N:
    """Rows for people to label, with the probability by which each was picked.

    Parameters
    ----------
    frame
        What `map` or a preset gave, or any frame. It is never changed.
    budget
        How many rows.
    how
        `"random"`: each with the same probability. `"stratified"`: as many of each value of `by` as go, so that rare
        ones are seen. `"expected_error"`: in proportion to 1 - confidence, so that labels go where the judge may be
        wrong; no row's probability is below `floor` times that of a random sample.
    judge
        The column with the judge's answers: rows that failed are not picked, for there is nothing to correct. `None`:
        all rows can be.
    by
        For `"stratified"`: name of a column, or a value for each row; `None`: the judge's answers.
    confidence
        For `"expected_error"`: name of a column, or a value for each row, in [0, 1], best calibrated. `None`: the one
        beside `judge`, or the only one there is. Rows without one have the average.
    row_id
        A column whose values name the rows, each once. `None`: the rows' place, which does only as long as the frame
        keeps its order.
    floor
        In (0, 1].
    seed
        Decides which rows.

    Returns
    -------
    frame
        The picked rows in random order, with `review_id` and `review_probability`: for `to_review_file`, and for
        `estimate(..., probability="review_probability")`.

    Raises
    ------
    UsageError
        If there are fewer rows than `budget`, a column is missing, or an argument doesn't go with `how`.

    Notes
    -----
    Gligoric et al. (2024), arXiv 2408.15204; sources of the draws stand at `llmframe.stats.sampling`. With unequal
    probabilities the labels alone are no picture of the rows: they have to be weighted, as `estimate` does.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"text": list("abcdef"), "label": ["x", "y"] * 3, "confidence": [0.9, 0.5] * 3})
    >>> picked = pick_for_review(df, 3, how="expected_error", judge="label")
    >>> picked["review_probability"].round(2).to_list()
    [0.83, 0.83, 0.83]
    """
    table = wrap(frame)
    if not isinstance(table, Table):
        raise UsageError("`pick_for_review` takes a frame, not a Series: its columns are what people look at")
    _check(table, how, by=by, confidence=confidence, row_id=row_id)
    ids = row_ids(table, row_id)
    rows = list(range(len(table)))
    if judge is not None:
        columns = answer_columns(table.names, judge)
        answers = zip(comparable(read(table, columns.value)), read(table, columns.error), strict=True)
        rows = [at for at, (answer, error) in enumerate(answers) if answer is not None and error is None]
    picked = _picked(table, rows, budget, how, judge=judge, by=by, confidence=confidence, floor=floor, seed=seed)
    chosen = [rows[at] for at in picked.rows]
    chances = [float(f"{picked.probabilities[at]:.{DIGITS}g}") for at in picked.rows]
    out = table.taken(chosen).attach(
        [
            Column(ID, ColumnType("string"), [ids[at] for at in chosen]),
            Column(PROBABILITY, ColumnType("float"), list(chances)),
        ]
    )
    return cast("N", out)


def row_ids(table: Table, row_id: str | None) -> list[str]:
    """What each row is called in a review: the cell of `row_id`, or its place.

    Raises
    ------
    UsageError
        If `row_id` is missing, has a null, or names two rows alike.
    """
    if row_id is None:
        return [f"r{at}" for at in range(len(table))]
    cells = read(table, table.names[position_of(row_id, table.names)])
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if "" in texts:
        raise UsageError(f"`row_id` {row_id!r} is null or empty in row {texts.index('')} (counted from 0)")
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise UsageError(
            f"`row_id` {row_id!r} names several rows {twice!r}; take a column in which each value stands once, or none"
        )
    return texts


def _check(table: Table, how: str, *, by: object, confidence: object, row_id: str | None) -> None:
    kinds: tuple[str, ...] = get_args(How)
    if how not in kinds:
        raise UsageError(f"`how` is one of {list(kinds)}, got {how!r}{did_you_mean(str(how), kinds)}")
    for said, argument, kind in ((by, "by", "stratified"), (confidence, "confidence", "expected_error")):
        if said is not None and how != kind:
            raise UsageError(
                f'`{argument}` is for `how="{kind}"`, and this is `how="{how}"`; leave it out, or change it'
            )
    taken = [name for name in (ID, PROBABILITY) if name in table.names]
    if taken:
        raise UsageError(
            f"the frame has a column {taken[0]!r} already: it was picked from before; pick from the whole frame, or "
            f"drop {taken}"
        )
    if row_id == ID:
        raise UsageError(f"`row_id` is a column of the frame's own, and {ID!r} is what it becomes")


def _picked(  # noqa: PLR0913 - what was said
    table: Table,
    rows: Sequence[int],
    budget: int,
    how: str,
    *,
    judge: str | None,
    by: object,
    confidence: object,
    floor: float,
    seed: int,
) -> Picked:
    if how == "random":
        return pick_evenly(len(rows), budget, seed=seed)
    if how == "stratified":
        said = judge if by is None else by
        if said is None:
            raise UsageError('`how="stratified"` takes `by=...`: the column whose values should all be seen')
        strata = comparable(said_or_column([table], said, argument="by"))
        return pick_by_stratum([strata[at] for at in rows], budget, seed=seed)
    said = _confidence(table, judge) if confidence is None else confidence
    sure = confidences(said_or_column([table], said, argument="confidence"), said)
    strange = [each for each in sure if each is not None and not 0 <= each <= 1]
    if strange:
        raise UsageError(f"`confidence` is between 0 and 1, and there is {strange[0]!r}")
    doubts = np.array([np.nan if sure[at] is None else 1.0 - cast("float", sure[at]) for at in rows])
    if np.isnan(doubts).all():
        raise UsageError('no row has a confidence; map with `confidence="logprobs"`, or pick by `how="random"`')
    return pick_by_weight(np.where(np.isnan(doubts), np.nanmean(doubts), doubts), budget, floor=floor, seed=seed)


def _confidence(table: Table, judge: str | None) -> str:
    if judge is not None:
        found = [name for name in (answer_columns(table.names, judge).shown,) if name is not None]
    else:
        found = [name for name in table.names if is_own(name) and name.endswith("confidence")]
    if len(found) != 1:
        why = f"several columns are confidences: {found}" if found else "no column is a confidence"
        raise UsageError(f"{why}; name the one that tells how sure the judge is: `confidence=...`")
    return found[0]
