"""The interval of a proportion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from llmframe.errors import UsageError


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends; both nan where nothing can be told."""

    low: float
    high: float


UNKNOWN: Final = Interval(math.nan, math.nan)


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Confidence interval of a proportion, honest for small n and near 0 and 1.

    Parameters
    ----------
    successes, n
        Counts, 0 ≤ successes ≤ n. Items without a verdict belong in neither.
    level
        Two-sided coverage, in (0, 1).

    Returns
    -------
    Interval
        `low` and `high`, in [0, 1]; both nan when n is 0: no data, no interval.

    Raises
    ------
    UsageError
        If a count or `level` is out of range.

    Notes
    -----
    Wilson (1927), JASA 22, p. 209. Assumes independent items.
    """
    if not 0 <= successes <= n:
        raise UsageError(f"expected 0 ≤ successes ≤ n, got successes={successes!r} and n={n!r}")
    if n == 0:
        return UNKNOWN
    square = quantile(level) ** 2
    share = successes / n
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = math.sqrt(square * (share * (1 - share) / n + square / (4 * n * n))) / (1 + square / n)
    # at the ends the formula is exact, its rounding isn't
    return Interval(0.0 if successes == 0 else middle - half, 1.0 if successes == n else middle + half)


def quantile(level: float) -> float:
    """How many standard deviations on either side of a normal mean hold `level` of the probability."""
    if not 0 < level < 1:
        raise UsageError(f"`level` is between 0 and 1, got {level!r}")
    return NormalDist().inv_cdf((1 + level) / 2)
