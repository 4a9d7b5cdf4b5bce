"""What is compared of two runs: a column's values, what each run took."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from llmframe.stats.flips import Significance
from llmframe.stats.paired import Accuracies, Difference
from llmframe.stats.proportions import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """How many rows went from one value to another."""

    before: Hashable
    after: Hashable
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnComparison:
    """One column of two runs. Rows without a value on either side are counted, and never a disagreement.

    Attributes
    ----------
    name
        The column.
    runs
        What the two runs are called.
    both
        Rows that both answered.
    failed_a, failed_b
        Rows with an error, by run.
    missing_a, missing_b
        Rows without a value and without an error (not asked, or an answer of null), by run.
    flips
        Rows of `both` whose values differ.
    flip_rate, flip_interval
        Their part of `both` with its 95 % interval (Wilson); nan without any row.
    kappa
        Cohen's; nan where it can't be told, and `notes` says why.
    table
        From which value to which, the most frequent first.
    rows
        Positions of the flipped rows, from 0.
    symmetry, shift
        Whether flips are as frequent as their reverses (Bowker), and values as frequent in both runs
        (Stuart–Maxwell); between two values both are the exact McNemar test.
    numbers
        Of a column of numbers, the second run's less the first's; `None` for others.
    confidence
        Of rows with a raw confidence in both runs, the second's less the first's; `None` without confidences.
    gold
        Accuracies on the rows with gold that both answered; `None` when no gold was given.
    gold_rows
        Rows with gold, answered or not.
    notes
        What is to be known about these numbers, in words.
    """

    name: str
    runs: tuple[str, str]
    both: int
    failed_a: int
    failed_b: int
    missing_a: int
    missing_b: int
    flips: int
    flip_rate: float
    flip_interval: Interval
    kappa: float
    table: tuple[Flip, ...]
    rows: tuple[int, ...]
    symmetry: Significance
    shift: Significance
    numbers: Difference | None = None
    confidence: Difference | None = None
    gold: Accuracies | None = None
    gold_rows: int = 0
    notes: tuple[str, ...] = ()

    @property
    def agreement(self) -> float:
        """Part of `both` with equal values."""
        return 1.0 - self.flip_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Dollars and tokens of a run's rows; `None` is unknown, never 0.

    Attributes
    ----------
    told_by
        `"llm_meta"`: the column of `meta=True`; `"report"`: pandas' report of the frame's last run; empty: nobody.
    asked
        Rows whose answer was asked for in this run, those that share a request included.
    cached
        Rows whose answer was kept from an earlier run: they cost nothing this time.
    unknown
        Requests whose cost nobody told (a timed-out attempt, a model without a price): more may have been spent.
    usd, input_tokens, output_tokens
        Sums over the rows that were asked, as far as they are known.
    """

    told_by: Literal["llm_meta", "report", ""] = ""
    asked: int | None = None
    cached: int | None = None
    unknown: int = 0
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def usd_per_row(self) -> float | None:
        """Dollars over the rows that were asked: what runs are compared by when answers of one were kept."""
        return self.usd / self.asked if self.usd is not None and self.asked else None
