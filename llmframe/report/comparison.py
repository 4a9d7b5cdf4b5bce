"""What differs between two runs over the same rows."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar, cast

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.frames.derived import Table
from llmframe.report.compared import ColumnComparison, Spending
from llmframe.report.verdicts import column_lines, latency_line, money_lines, verdict
from llmframe.report.wording import html_table, text_table
from llmframe.stats.paired import Difference

N = TypeVar("N")

TITLE: Final = "llmframe comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs over the same rows; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    runs
        What they are called.
    n
        Rows.
    columns
        One for each compared column; `comparison["label"]` is the one of that name.
    spending_a, spending_b
        What each run took.
    seconds_a, seconds_b
        Median seconds of the requests that were sent live; `None`: none was, or nobody told.
    latency
        Of rows that were sent live in both runs, the second's seconds less the first's.
    """

    runs: tuple[str, str]
    n: int
    columns: tuple[ColumnComparison, ...]
    spending_a: Spending
    spending_b: Spending
    seconds_a: float | None
    seconds_b: float | None
    latency: Difference

    @property
    def usd_difference(self) -> float | None:
        """Dollars for each row that was asked, the second run's less the first's.

        `None` when unknown, or when all answers of a run were kept from an earlier one: that it was free this time
        says nothing about what it costs.
        """
        a, b = self.spending_a.usd_per_row, self.spending_b.usd_per_row
        return None if a is None or b is None else b - a

    @property
    def verdict(self) -> str:
        """What the numbers decide, a sentence for each column."""
        return "\n".join(map(verdict, self.columns))

    def __getitem__(self, name: str) -> ColumnComparison:
        """The comparison of one column."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise UsageError(f"column {name!r} isn't compared{did_you_mean(name, names)}; compared: {names}")
        return self.columns[names.index(name)]

    def flipped(self, frame: N, *, on: str | None = None) -> N:
        """The rows of `frame` whose values differ, in a frame of its kind.

        Parameters
        ----------
        frame
            One of the two frames, or another one over the same rows.
        on
            The compared column; `None`: rows in which any of them differs.
        """
        columns = self.columns if on is None else (self[on],)
        table = wrap(frame)
        if not isinstance(table, Table):
            raise UsageError(f"`frame` must have columns, got a {type(frame).__name__}")
        if len(table) != self.n:
            raise UsageError(f"`frame` has {len(table)} rows, the compared ones have {self.n}")
        rows = sorted({row for column in columns for row in column.rows})
        return cast("N", table.taken(rows).native)

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        values = cast("dict[str, Any]", _known(asdict(self)))
        for column, found in zip(self.columns, values["columns"], strict=True):
            found["agreement"], found["verdict"] = _known(column.agreement), verdict(column)
        return {**values, "usd_difference": self.usd_difference, "verdict": self.verdict}

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), default=str)

    def __repr__(self) -> str:
        """A small table."""
        return text_table(self._title, self._lines())

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return html_table(self._title, self._lines())

    @property
    def _title(self) -> str:
        return f"{TITLE} · {self.runs[0]} -> {self.runs[1]} · {self.n:,} rows"

    def _lines(self) -> list[tuple[str, str]]:
        lines = [line for column in self.columns for line in column_lines(column)]
        lines += money_lines(self.runs, (self.spending_a, self.spending_b), self.usd_difference)
        return [*lines, *latency_line(self.runs, (self.seconds_a, self.seconds_b), self.latency)]


def _known(value: object) -> object:
    """A value as JSON has it: nan is null, tuples are lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _known(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_known(each) for each in cast("list[object]", value)]
    return value
