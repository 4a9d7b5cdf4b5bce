"""What is wrong among the surest answers, by how many are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.proportions import wilson_interval
from llmframe.stats.reliability_bins import grouped

COVERAGES: Final = (0.5, 0.8, 0.9)
"""Shares of kept answers at which accuracy is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The answers of a confidence and above.

    Attributes
    ----------
    threshold
        The confidence.
    kept, errors
        How many answers have it or a greater one, and how many of them are wrong.
    n
        All answers.
    """

    threshold: float
    kept: int
    errors: int
    n: int

    @property
    def coverage(self) -> float:
        """Share that is kept."""
        return self.kept / self.n

    @property
    def risk(self) -> float:
        """Share of the kept that is wrong."""
        return self.errors / self.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskCoverage:
    """What is wrong among the surest answers.

    Attributes
    ----------
    steps
        One for each distinct confidence, the surest first; the last keeps all.
    """

    steps: tuple[Step, ...]

    @property
    def n(self) -> int:
        """Answers."""
        return self.steps[-1].kept if self.steps else 0

    @property
    def errors(self) -> int:
        """Wrong ones."""
        return self.steps[-1].errors if self.steps else 0

    @property
    def aurc(self) -> float:
        """Area under the curve: mean over answers of the risk when theirs is the least kept confidence.

        nan without answers.

        Notes
        -----
        Geifman, Uziel, El-Yaniv (2019), ICLR, section 2. Answers of equal confidence are kept together.
        """
        if not self.steps:
            return math.nan
        before = 0
        parts: list[float] = []
        for step in self.steps:
            parts.append((step.kept - before) * step.risk)
            before = step.kept
        return math.fsum(parts) / self.n

    @property
    def oracle_aurc(self) -> float:
        """The same if every right answer were surer than every wrong one: the least that so many errors allow."""
        first = self.n - self.errors
        return (
            math.fsum((kept - first) / kept for kept in range(first + 1, self.n + 1)) / self.n if self.n else math.nan
        )

    @property
    def excess(self) -> float:
        """`aurc` less `oracle_aurc`: what the order of the confidences costs; 0 is the best order there is."""
        return self.aurc - self.oracle_aurc

    def at(self, coverage: float) -> Step:
        """The strictest step that keeps at least this share.

        Parameters
        ----------
        coverage
            In (0, 1].

        Raises
        ------
        UsageError
            If there are no answers, or `coverage` is out of range.
        """
        if not 0 < coverage <= 1:
            raise UsageError(f"`coverage` is above 0 and at most 1, got {coverage!r}")
        if not self.steps:
            raise UsageError("there are no answers with a confidence to be kept")
        # a share such as 0.7 times n may come out a hair above the whole number that is meant
        least = math.ceil(round(coverage * self.n, 9))
        return next(step for step in self.steps if step.kept >= least)

    def accuracy_at(self, coverage: float, *, level: float = 0.95) -> Estimate:
        """Share of right answers among the surest that make up `coverage`, with its interval (Wilson).

        Parameters
        ----------
        coverage
            In (0, 1]; with ties at the threshold all of them are kept, and `n` of the estimate says how many that is.
        level
            Of the interval, in (0, 1).
        """
        if not self.steps:
            return unknown("no answer has a confidence", level=level)
        step = self.at(coverage)
        interval = wilson_interval(step.kept - step.errors, step.kept, level=level)
        return Estimate(value=1 - step.risk, low=interval.low, high=interval.high, n=step.kept, level=level)


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> RiskCoverage:
    """What is wrong among the surest answers, by how many are kept.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.

    Returns
    -------
    RiskCoverage
        Answers of equal confidence are kept together; without answers it has no step.

    Raises
    ------
    UsageError
        If the two sequences aren't of equal length, or a confidence isn't in [0, 1].

    Notes
    -----
    El-Yaniv, Wiener (2010), JMLR 11, p. 1605.

    Examples
    --------
    >>> curve = risk_coverage([0.9, 0.8, 0.8, 0.6], [True, True, False, False])
    >>> [(step.coverage, step.risk) for step in curve.steps]
    [(0.25, 0.0), (0.75, 0.3333333333333333), (1.0, 0.5)]
    """
    values, counts, hits = (each[::-1] for each in grouped(confidences, right))
    kept, errors = np.cumsum(counts).tolist(), np.cumsum(counts - hits).tolist()
    n = len(confidences)
    return RiskCoverage(
        steps=tuple(
            Step(threshold=threshold, kept=keeps, errors=wrong, n=n)
            for threshold, keeps, wrong in zip(values.tolist(), kept, errors, strict=True)
        )
    )
