"""The cells of a frame that agreement is measured on: answers, gold, and what a row belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, cast

from llmframe.errors import UsageError
from llmframe.frames import Frame
from llmframe.judge.columns import answer_columns, comparable, read, said_or_column
from llmframe.report.agreement import Scale
from llmframe.stats.ordinal import levels_of
from llmframe.stats.pair_counts import sorted_labels

MOST_LEVELS: Final = 20
"""Most levels of whole numbers that are taken for an ordinal scale unless the caller says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedRows:
    """Cells by row; numbers are whole where all of them are.

    Attributes
    ----------
    pred
        What the answers are called.
    gold
        Names of one or several golds.
    answers, errors
        `None` where there is none; a row with an error has no answer.
    golds
        Rows × golds.
    clusters
        What each row belongs to; `None`: each is its own.
    numeric
        Whether all answers and golds are numbers, and not all of them true or false.
    """

    pred: str
    gold: tuple[str, ...]
    answers: list[Any]
    errors: list[object]
    golds: list[list[Any]]
    clusters: list[Hashable] | None
    numeric: bool = False

    @property
    def values(self) -> list[Any]:
        """Everything that was answered or given as gold."""
        cells = [*self.answers, *(cell for item in self.golds for cell in item)]
        return [cell for cell in cells if cell is not None]

    @property
    def empty(self) -> bool:
        """Whether there is neither answer nor gold."""
        return not self.values

    def part(self, rows: Sequence[int]) -> RatedRows:
        """Some of the rows."""
        return replace(
            self,
            answers=[self.answers[at] for at in rows],
            errors=[self.errors[at] for at in rows],
            golds=[self.golds[at] for at in rows],
            clusters=None if self.clusters is None else [self.clusters[at] for at in rows],
        )


def rated_rows(frame: Frame, pred: object, gold: object, *, group: object) -> RatedRows:
    """What `agreement` was told to look at.

    Raises
    ------
    UsageError
        If there is no such column, a row belongs to no group, or one side has numbers and the other others.
    """
    columns = answer_columns(frame.names, pred) if isinstance(pred, str) else None
    cells = said_or_column([frame], pred, argument="pred") if columns is None else read(frame, columns.value)
    errors = read(frame, columns.error if columns is not None else None)
    people = _people(frame, gold)
    if isinstance(pred, str) and (pred in people or (isinstance(gold, str) and pred == gold)):
        raise UsageError(f"{pred!r} is named as answers and as gold; everything agrees with itself")
    sides = [said_or_column([frame], each, argument="gold") for each in people or (gold,)]
    # lists beside answers that are none are everybody's ratings
    if len(sides) == 1 and _lists(sides[0]) and not _lists(cells):
        sides = _spread(sides[0])
    answers = [None if error is not None else cell for cell, error in zip(_plain(cells), errors, strict=True)]
    name = pred if isinstance(pred, str) else "answers"
    answers, golds, numeric = _numbers(name, answers, [_plain(side) for side in sides])
    clusters = None
    if group is not None:
        clusters = comparable(said_or_column([frame], group, argument="group"))
        if None in clusters:
            raise UsageError(
                f"`group` is null in row {clusters.index(None)} (counted from 0): every row belongs to a group; give "
                "rows on their own a name of their own"
            )
    elif columns is not None and columns.meta is not None:
        clusters = _requests(read(frame, columns.meta))
    return RatedRows(
        pred=name,
        gold=people or (gold if isinstance(gold, str) else "gold",),
        answers=answers,
        errors=errors,
        golds=[list(item) for item in zip(*golds, strict=True)],
        clusters=clusters,
        numeric=numeric,
    )


def _requests(meta: Sequence[object]) -> list[Hashable] | None:
    """Equal for rows with one request; `None` where each has its own."""
    told = [cast("dict[str, Any]", cell) if isinstance(cell, dict) else {} for cell in meta]
    found: list[Hashable] = [cell.get("fingerprint") or ("row", at) for at, cell in enumerate(told)]
    return found if len(set(found)) < len(found) else None


def _people(frame: Frame, gold: object) -> tuple[str, ...]:
    """The columns that a list names; empty where `gold` is something else."""
    if not isinstance(gold, list | tuple):
        return ()
    said = cast("Sequence[object]", gold)
    names = tuple(name for name in said if isinstance(name, str) and name in frame.names)
    return names if len(names) == len(said) else ()


def _lists(cells: Sequence[object]) -> bool:
    return any(isinstance(cell, list) for cell in cells)


def _spread(cells: Sequence[object]) -> list[list[object]]:
    """Lists by row as a column for each place, null where a row's list is shorter."""
    rows = [cast("list[object]", cell) if isinstance(cell, list) else [] for cell in cells]
    return [[row[at] if at < len(row) else None for row in rows] for at in range(max(map(len, rows)) or 1)]


def _plain(cells: Sequence[object]) -> list[Any]:
    """Cells by which rows are compared; decimal numbers are floats."""
    return [float(cell) if isinstance(cell, Decimal) else cell for cell in comparable(cells)]


def _numbers(name: str, answers: list[Any], golds: list[list[Any]]) -> tuple[list[Any], list[list[Any]], bool]:
    """Both sides with their numbers whole if all are, and whether there are numbers."""
    left, right = (
        [cell for cell in side if cell is not None] for side in (answers, [c for side in golds for c in side])
    )
    kinds = [all(isinstance(cell, int | float) for cell in side) for side in (left, right)]
    if left and right and kinds[0] != kinds[1]:
        told = f"the answers {name!r} are numbers and the gold isn't"
        if kinds[1]:
            told = f"the gold is numbers and the answers {name!r} aren't"
        raise UsageError(f"{told}, so none could ever be equal; convert one of the two")
    values = [*left, *right]
    if not all(kinds) or all(isinstance(cell, bool) for cell in values):
        return answers, golds, False
    kind = int if all(float(cell).is_integer() for cell in values) else float
    sides = [[None if cell is None else kind(cell) for cell in side] for side in (answers, *golds)]
    return sides[0], sides[1:], True


def scale_of(told: RatedRows, said: Scale | None) -> Scale:
    """The scale that was said, or that the cells have.

    Raises
    ------
    UsageError
        If texts are said to be on an interval scale.
    """
    if said == "interval" and not told.numeric and not told.empty:
        raise UsageError('`scale="interval"` takes numbers; for texts take "nominal", or "ordinal" with `labels=`')
    if said is not None or not told.numeric:
        return said or "nominal"
    values = told.values
    whole = all(isinstance(cell, int) for cell in values)
    return "ordinal" if whole and max(values) - min(values) < MOST_LEVELS else "interval"


def labels_of(told: RatedRows, scale: Scale, said: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """All labels, those of all groups and all people included; `None` for numbers, and where there is none."""
    if said is not None or scale == "interval" or told.empty:
        return said
    return levels_of(told.values, []) if scale == "ordinal" else sorted_labels(told.values)
