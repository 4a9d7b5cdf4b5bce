"""A mean by a judge that known answers correct, beside what either says alone."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llmframe.errors import UsageError
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.extra import missing
from llmframe.stats.proportions import quantile, wilson_interval

Floats = NDArray[np.float64]

Bounds = tuple[float, float]
"""Least and greatest value that a mean can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A corrected mean, and what it was made of.

    Attributes
    ----------
    estimate
        The corrected mean with its interval; `estimate.reason` says what it suffers from.
    gold
        The mean of the known answers alone.
    naive
        The mean of the judge's answers as they are; its interval knows nothing of the judge's errors.
    se
        Standard error of the corrected mean.
    lam
        How far the judge was trusted, from 0 (not at all) to 1; nan where the method has no such number.
    n, rest
        Rows, or clusters, with a known answer and without.
    effective_n
        As many known answers alone would have given the same standard error.
    specificity, sensitivity
        Of the judge, q0 and q1; nan where the method has none.
    """

    estimate: Estimate
    gold: Estimate
    naive: Estimate
    se: float = math.nan
    lam: float = math.nan
    n: int = 0
    rest: int = 0
    effective_n: float = math.nan
    specificity: float = math.nan
    sensitivity: float = math.nan


def mean_estimate(values: ArrayLike, *, level: float = 0.95, what: str = "known answer") -> Estimate:
    """The mean of some values: by Wilson's interval where all are 0 or 1, else by Student's t.

    Parameters
    ----------
    values
        Finite numbers, shape (n,).
    level
        Two-sided coverage, in (0, 1).
    what
        What one value is, for the reason that is told without any.

    Returns
    -------
    Estimate
        nan without a value; without an interval where the values have no spread.

    Raises
    ------
    MissingExtraError
        Without scipy, for fewer than 100 values that aren't all 0 or 1.
    """
    found = floats(values, argument="values")
    n = len(found)
    if not n:
        return unknown(f"there is no {what}", level=level)
    value = float(found.mean())
    if np.isin(found, (0.0, 1.0)).all():
        ends = wilson_interval(int(found.sum()), n, level=level)
        return Estimate(value=value, low=ends.low, high=ends.high, n=n, level=level)
    if n == 1 or np.ptp(found) == 0:
        reason = f"one {what} has no spread" if n == 1 else f"every {what} is the same, so there is no interval"
        return Estimate(value=value, n=n, level=level, reason=reason)
    half = spread_quantile(level, n - 1) * float(found.std(ddof=1)) / math.sqrt(n)
    return Estimate(value=value, low=value - half, high=value + half, n=n, level=level)


def spread_quantile(level: float, freedom: int) -> float:
    """How many standard errors on either side hold `level`: Student's for up to 98 degrees of freedom, else normal."""
    if freedom >= 99:  # noqa: PLR2004 - a hundred values; from there on the normal is within 1.3 % of Student's
        return quantile(level)
    quantile(level)  # for its check
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("an interval from fewer than 100 values", "scipy") from None
    distributions: Any = stats
    return float(distributions.t.ppf((1 + level) / 2, freedom))


def floats(values: ArrayLike, *, argument: str) -> Floats:
    """Finite numbers as an array of shape (n,); raises `UsageError` for others."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise UsageError(
            f"`{argument}` is a flat sequence of finite numbers; leave rows without a number out, and count them beside"
        )
    return found


def cluster_means(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, list[Hashable]]:
    """The mean of each cluster, and the clusters in the order of their first row."""
    if len(clusters) != len(values):
        raise UsageError(f"`clusters` has {len(clusters)} entries for {len(values)} rows; give one for each")
    places: dict[Hashable, int] = {}
    codes = np.array([places.setdefault(cluster, len(places)) for cluster in clusters], dtype=np.int64)
    sums = np.bincount(codes, weights=values, minlength=len(places))
    return sums / np.bincount(codes, minlength=len(places)), list(places)


def bounded(estimate: Estimate, bounds: Bounds | None) -> Estimate:
    """The same within the least and the greatest value that the mean can have."""
    if bounds is None or math.isnan(estimate.value):
        return estimate
    value, low, high = (
        min(max(each, bounds[0]), bounds[1]) if not math.isnan(each) else each
        for each in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)
