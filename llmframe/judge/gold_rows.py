"""The rows of a run whose right answer is known."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.core.request import canonical_json
from llmframe.errors import UsageError
from llmframe.frames import Frame
from llmframe.judge.columns import (
    AnswerColumns,
    answer_columns,
    comparable,
    confidences,
    is_own,
    numbers,
    read,
    said_or_column,
)

FEWEST: Final = 30
"""Fewest rows with gold, an answer and a confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldRows:
    """Rows with gold, an answer and a confidence.

    Attributes
    ----------
    confidences
        Raw, in [0, 1].
    right
        Whether the answer is the gold.
    groups
        Equal for rows with the same prompt.
    labels
        In the order of the distributions; empty where there are none.
    distributions
        Probabilities of the labels, by row; empty without labels, as `chosen` and `gold` are.
    chosen, gold
        Places of the answer and of the gold among the labels.
    notes
        What is to be known about these rows.
    """

    confidences: tuple[float, ...]
    right: tuple[bool, ...]
    groups: tuple[Hashable, ...]
    labels: tuple[str, ...] = ()
    distributions: tuple[tuple[float, ...], ...] = ()
    chosen: tuple[int, ...] = ()
    gold: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def part(self, places: Sequence[int]) -> GoldRows:
        """Some of the rows."""
        return GoldRows(
            confidences=tuple(self.confidences[at] for at in places),
            right=tuple(self.right[at] for at in places),
            groups=tuple(self.groups[at] for at in places),
            labels=self.labels,
            distributions=tuple(self.distributions[at] for at in places) if self.labels else (),
            chosen=tuple(self.chosen[at] for at in places) if self.labels else (),
            gold=tuple(self.gold[at] for at in places) if self.labels else (),
        )


def gold_rows(frame: Frame, gold: object, *, field: str | None = None) -> tuple[AnswerColumns, GoldRows]:
    """The rows of a run that a calibration can be learnt from, and the columns they were read from.

    Parameters
    ----------
    gold
        Name of a column, or a value for each row; null where unknown.
    field
        The column with the answers; `None`: the one whose values are the gold's.

    Raises
    ------
    UsageError
        If columns are missing or ambiguous, no row has a confidence, or gold isn't among the labels.
    """
    truth = comparable(said_or_column([frame], gold, argument="gold"))
    gold_name = gold if isinstance(gold, str) else None
    columns = answer_columns(frame.names, answered_column(frame, truth, but=gold_name) if field is None else field)
    sure = confidences(read(frame, columns.confidence), columns.confidence)
    if all(each is None for each in sure):
        why = "has no value" if columns.confidence else "is missing"
        raise UsageError(
            f"the confidence of {columns.value!r} {why}, and there is nothing to calibrate without it; map with "
            '`confidence="logprobs"`, or "votes" or "stated" where the server tells no log-probabilities'
        )
    values, errors = comparable(read(frame, columns.value)), read(frame, columns.error)
    rows = [at for at, value in enumerate(values) if None not in (value, truth[at], sure[at]) and errors[at] is None]
    labels, shares, notes = _distributions(frame, columns, rows)
    if labels:
        rows = [at for at in rows if shares[at] is not None]
        _check_labels(labels, [values[at] for at in rows], [truth[at] for at in rows])
    groups = _groups(frame, columns, gold_name)
    places = {label: place for place, label in enumerate(labels)}
    return columns, GoldRows(
        confidences=tuple(cast("float", sure[at]) for at in rows),
        right=tuple(values[at] == truth[at] for at in rows),
        groups=tuple(groups[at] for at in rows),
        labels=labels,
        distributions=tuple(cast("tuple[float, ...]", shares[at]) for at in rows) if labels else (),
        chosen=tuple(places[label_name(values[at])] for at in rows) if labels else (),
        gold=tuple(places[label_name(truth[at])] for at in rows) if labels else (),
        notes=notes,
    )


def check_enough(rows: GoldRows, *, folds: int) -> None:
    """Raise `UsageError` where a calibration would be learnt from too little."""
    n, right = len(rows.right), rows.right.count(True)
    if n < FEWEST:
        raise UsageError(
            f"{n} rows have gold, an answer and a confidence; a calibration takes at least {FEWEST}: label more rows"
        )
    if right in (0, n):
        raise UsageError(
            f"all {n} rows with gold are {'right' if right else 'wrong'}, so nothing tells how often a confidence "
            f"{'fails' if right else 'holds'}; label more rows"
        )
    prompts = len(set(rows.groups))
    if prompts < folds:
        raise UsageError(
            f"the rows with gold have {prompts} different prompts, fewer than `folds`={folds}; label rows with others"
        )


def label_name(value: object) -> str:
    """A label as a distribution names it; pandas writes whole numbers beside gaps as 1.0, which is the label 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if value is None or isinstance(value, bool | int | float) else str(value)


def answered_column(frame: Frame, truth: Sequence[Hashable], *, but: str | None) -> str:
    """The column with a confidence whose values are the gold's.

    Of several before the same confidence it's the last, for `map` writes answers behind all that was there. In a frame
    that it didn't write (no column tells where the confidence comes from) people's labels may stand there as well.
    """
    known = {value for value in truth if value is not None}
    found: dict[str, list[str]] = {}
    for at, name in enumerate(frame.names):
        if name == but or is_own(name) or frame.names.count(name) > 1:
            continue
        columns = answer_columns(frame.names, name)
        sure = columns.confidence
        if sure in frame.names[at:] and known & set(comparable(read(frame, name))):
            told = f"{columns.shown}_source" in frame.names
            found[sure] = [name] if told else [*found.get(sure, ()), name]
    names = [name for each in found.values() for name in each]
    if len(names) != 1:
        several = f"several columns hold values of the gold: {names}"
        raise UsageError(
            f"{several if names else 'no column with a confidence holds values of the gold'}; name the one with the "
            "answers: `field=...`"
        )
    return names[0]


def _distributions(
    frame: Frame, columns: AnswerColumns, rows: Sequence[int]
) -> tuple[tuple[str, ...], list[tuple[float, ...] | None], tuple[str, ...]]:
    """Labels, every row's probabilities, notes; no labels where there are no raw ones."""
    if columns.distribution is None:
        return (), [], ()
    if columns.confidence != columns.shown:
        return (), [], ("learnt from confidences alone: the distribution of a calibrated run is no raw one",)
    cells = [
        cast("dict[str, Any]", cell) if isinstance(cell, dict) else None for cell in read(frame, columns.distribution)
    ]
    labels = next((tuple(cell) for cell in cells if cell), ())
    shares = [_shares(cell, labels) for cell in cells]
    if not any(shares[at] for at in rows):
        return (), [], ("learnt from confidences alone: no row with gold has a distribution",)
    lacking = sum(shares[at] is None for at in rows)
    return labels, shares, (f"{lacking} rows without a distribution are left out",) if lacking else ()


def _shares(cell: dict[str, Any] | None, labels: Sequence[str]) -> tuple[float, ...] | None:
    found = numbers([(cell or {}).get(label) for label in labels])
    return None if None in found or not found else tuple(cast("list[float]", found))


def _check_labels(labels: Sequence[str], values: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
    for word, cells in (("answers", values), ("gold values", truth)):
        others = sum(label_name(cell) not in labels for cell in cells)
        if others:
            raise UsageError(
                f"{others} {word} are none of the labels {list(labels)}; spell them alike, or make them null"
            )


def _groups(frame: Frame, columns: AnswerColumns, gold: str | None) -> list[Hashable]:
    """Equal for equal prompts: by the request's fingerprint, else by the cells before the answer."""
    if columns.meta is not None:
        told = [cast("dict[str, Any]", cell) if isinstance(cell, dict) else {} for cell in read(frame, columns.meta)]
        return [cell.get("fingerprint") or ("row", at) for at, cell in enumerate(told)]
    before = frame.names[: frame.names.index(columns.value)]
    inputs = [name for name in before if name != gold and not is_own(name) and before.count(name) == 1]
    if not inputs:
        return list(range(len(frame)))
    cells = zip(*(read(frame, name) for name in inputs), strict=True)
    return [canonical_json(row) for row in cells]
