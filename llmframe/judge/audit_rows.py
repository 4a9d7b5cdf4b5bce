"""The rows of an audit: a random sample with its gold, and what the judge answered on them."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.core.request import canonical_json
from llmframe.errors import UsageError
from llmframe.frames import Frame, wrap
from llmframe.frames.derived import position_of
from llmframe.judge.audit_judges import PAIR, PREFIX, Judge
from llmframe.judge.columns import comparable, read
from llmframe.judge.orders import TIE

SIDES: Final = 0.5
"""What a tie counts, between 1 for one side and 0 for the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a call says beside the judge.

    Attributes
    ----------
    gold
        Name of the column with what is right.
    authors
        Names of the columns that say who wrote the judged texts, one a text.
    own
        The author in them that counts as the judge's own.
    group
        Name of the column that says which rows belong together.
    """

    gold: str | None = None
    authors: tuple[str, ...] = ()
    own: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The rows that are audited.

    Attributes
    ----------
    records
        Their judged texts, as they stand and changed.
    clusters
        What each belongs to: its group, else equal texts.
    gold
        What is right: a number of a rubric with an order; of a pair 1 for its first text, 0 for its second, a half for
        a tie; `None` where unknown.
    authors
        Who wrote each judged text.
    """

    records: list[dict[str, object]]
    clusters: list[Hashable]
    gold: list[float | None]
    authors: list[tuple[Hashable, ...]]


def authors_of(said: object) -> tuple[str, ...]:
    """Names of the authors' columns: one, several, or none.

    Raises
    ------
    UsageError
        If it is nothing of the kind.
    """
    names = (said,) if isinstance(said, str) else tuple(cast("Sequence[Any]", () if said is None else said))
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"`authors` is the name of a column, or two of them for a pair, got {said!r}")
    return names


def beside_of(judge: Judge, names: Sequence[str], said: Beside) -> Beside:
    """`said`, where it fits the judge.

    Raises
    ------
    UsageError
        If a column is absent, or something is said that is of no use.
    """
    columns = [name for name in (said.gold, said.group, *said.authors) if name is not None]
    for name in columns if names else ():
        position_of(name, names)
    if judge.kind == "classify" and (said.gold is not None or said.authors):
        raise UsageError(
            f"`{'gold' if said.gold is not None else 'authors'}` has no use in the audit of a classification; leave "
            "it out, or see `llmframe.agreement(frame, pred, gold)`"
        )
    if judge.rubric is not None and not judge.numbers and said.gold is not None:
        raise UsageError("`gold` has no use for a nominal rubric, whose levels aren't numbers; leave it out")
    if bool(said.authors) != (said.own is not None) or (said.authors and said.gold is None):
        raise UsageError(
            "self-preference takes three arguments: `authors=` (who wrote each text), `own=` (the author in them that "
            "is the judge's own) and `gold=` (what is right)"
        )
    if said.authors and len(said.authors) != len(judge.columns):
        raise UsageError(
            f"`authors` names a column for each judged text: {len(judge.columns)}, got {len(said.authors)}"
        )
    return said


def sample_of(frame: Frame, judge: Judge, beside: Beside, *, rows: int | None, seed: int) -> Sample:
    """A random sample of the rows that can be judged, in their order.

    Parameters
    ----------
    rows
        How many; `None`: all.
    seed
        Decides which.

    Raises
    ------
    UsageError
        If gold is none of what the judge may say, or nobody in the sample's authors is the judge's own.
    """
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`rows` is a whole number from 1 on, or None for all, got {rows!r}")
    cells = {name: read(frame, name) for name in judge.needed} if frame.names else {}
    whole = [at for at in range(len(frame)) if all(column[at] is not None for column in cells.values())]
    if rows is not None and rows < len(whole):
        whole = sorted(random.Random(seed).sample(whole, rows))  # noqa: S311 - a sample, no secret
    table = [{name: column[at] for name, column in cells.items()} for at in whole]
    gold = read(frame, beside.gold) if frame.names else []
    groups = comparable(read(frame, beside.group)) if beside.group is not None and frame.names else None
    authors = [comparable(read(frame, name)) for name in beside.authors] if frame.names else []
    if authors and all(beside.own not in column for column in authors):
        known = sorted({str(each) for column in authors for each in column if each is not None})
        raise UsageError(f"nobody in {list(beside.authors)} is `own`={beside.own!r}; authors: {known[:20]}")
    return Sample(
        records=[judge.cells(row) for row in table],
        clusters=[
            canonical_json([row[name] for name in judge.columns])
            if groups is None or groups[at] is None
            else groups[at]
            for at, row in zip(whole, table, strict=True)
        ],
        gold=[_gold(judge, gold[at]) for at in whole],
        authors=[tuple(column[at] for column in authors) for at in whole],
    )


def _gold(judge: Judge, cell: object) -> float | None:
    """Gold as a number; raises `UsageError` where it's none of what the judge may say."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN differs from itself
        return None
    if judge.kind == "pairwise":
        sides = dict(zip((*judge.columns, TIE), (1.0, 0.0, SIDES), strict=True))
        if not isinstance(cell, str) or cell not in sides:
            raise UsageError(f"`gold` of a pair is one of {list(sides)}, got {cell!r}; make others null")
        return sides[cell]
    assert judge.rubric is not None  # noqa: S101 - others take no gold
    step = judge.rubric.step_of(cell)
    if step is not None:
        return step.number
    if isinstance(cell, int | float) and not isinstance(cell, bool) and isinstance(judge.rubric.steps[0].value, int):
        return float(cell)
    raise UsageError(
        f"`gold` is a level of the rubric, got {cell!r}; levels: {[each.value for each in judge.rubric.steps]}"
    )


class Answers:
    """What the judge answered in each variant, row by row; `None` where it failed."""

    def __init__(self, judge: Judge, sample: Sample, native: object) -> None:
        self.judge, self.sample = judge, sample
        self._frame = wrap(native)

    def __len__(self) -> int:
        """Rows."""
        return len(self.sample.records)

    def has(self, name: str) -> bool:
        """Whether a question of this name was asked."""
        return f"{PREFIX}{name}_{self.judge.answer}" in self._frame.names

    def codes(self, name: str) -> list[str | None]:
        """The verdicts on one question, as the model says them."""
        if not self.has(name):
            return [None] * len(self)
        return [None if cell is None else str(cell) for cell in read(self._frame, self._column(name))]

    def again(self) -> list[str | None]:
        """The verdicts when the judge's own question was asked a second time.

        Where the second answer wasn't valid it can't be told from one like the first.
        """
        if not self.has("again"):
            return [None] * len(self)
        spread = [cast("dict[str, Any] | None", cell) for cell in read(self._frame, f"{PREFIX}again_distribution")]
        return [_second(code, shares) for code, shares in zip(self.codes("plain"), spread, strict=True)]

    def numbers(self, name: str) -> list[float | None]:
        """The levels as numbers."""
        return [None if code is None else self.judge.numbers[code] for code in self.codes(name)]

    def first_picked(self, name: str) -> list[float | None]:
        """Of a pair: 1 for the text that stood first, 0 for the other, a half for a tie."""
        worth = {"A": 1.0, "B": 0.0, TIE: SIDES}
        return [None if code is None else worth[code] for code in self.codes(name)]

    @property
    def failed(self) -> int:
        """Rows without an answer to the judge's own question."""
        names = ["plain", "swapped"] if self.judge.kind == "pairwise" and self.has("swapped") else ["plain"]
        return sum(None in row for row in zip(*(self.codes(name) for name in names), strict=True))

    def _column(self, name: str) -> str:
        return f"{PREFIX}{name}_{self.judge.answer}"


def _second(first: str | None, shares: Mapping[str, Any] | None) -> str | None:
    """The other one of two answers, by both their shares."""
    if first is None or not shares or not shares.get(first):
        return None
    return next((code for code, share in shares.items() if share and code != first), first)


def judged_pairs(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    """How far a pair's first text was preferred over both orders: 1 by both, 0 by none."""
    return [
        None if one is None or other is None else (one + 1 - other) / PAIR
        for one, other in zip(first, second, strict=True)
    ]
