"""A shift measured on every item: its mean, an interval, and whether chance would give it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.stats.estimate import Estimate
from llmframe.stats.proportions import quantile

Alternative = Literal["two-sided", "greater", "less"]

FEW_CLUSTERS: Final = 15
"""Below this many the interval is likely too narrow, and it is said."""

PARTS: Final = 24
"""Shifts that are whole multiples of a 24th are tested exactly: halves, thirds, quarters and eighths are."""

MOST_STEPS: Final = 200_000
"""Longest exact distribution of a sum; beyond it the normal one is as good."""

ALPHA: Final = 0.05
"""Level of the tests."""

POWER: Final = 0.8
"""Power at which the least detectable effect is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """An effect with what is known of its chance.

    Attributes
    ----------
    effect
        With its interval, its items and, where something is unknown, the reason.
    se
        Standard error; nan where there is none.
    p
        Probability of an effect at least as large by chance alone; nan where it can't be told.
    clusters
        How many items, or clusters of them, are independent of each other.
    """

    effect: Estimate
    se: float = math.nan
    p: float = math.nan
    clusters: int = 0

    @property
    def detectable(self) -> float:
        """Least effect that a test of it alone finds with power 0.8 at the 5 % level: (z(.975) + z(.8)) SE."""
        return self.detectable_among(1)

    def detectable_among(self, tests: int) -> float:
        """Least effect that is found with power 0.8 as the only one among so many tests: (z(1 - .025 / m) + z(.8)) SE.

        Parameters
        ----------
        tests
            m, from 1 on: Benjamini and Hochberg ask of the smallest p that it is at most 0.05 / m.
        """
        # the one-sided quantile of 0.8 is the two-sided one of 0.6
        return (quantile(1 - ALPHA / tests) + quantile(2 * POWER - 1)) * self.se


def mean_shift(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    unit: float = 1.0,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Shift:
    """The mean of shifts that have no side by chance: as likely up as down.

    Parameters
    ----------
    values
        One shift an item, between -`unit` and `unit`; 0 where nothing moved.
    clusters
        What each item belongs to: items of a cluster move together. `None`: each is its own.
    unit
        The largest shift that an item can have.
    alternative
        What counts as larger: either side, or one.
    level
        Two-sided coverage of the interval, in (0, 1).

    Returns
    -------
    Shift
        With p = 1 where no item moved, which is no sign of an effect; all nan without an item.

    Raises
    ------
    UsageError
        If a shift is larger than `unit`, or `clusters` has another length.

    Notes
    -----
    The interval and the standard error have half an item added to either side and one to the middle, so that neither
    is 0 where nothing moved; on shifts of -1, 0 and 1 they are Agresti and Min's (2005), Statistics in Medicine 24,
    p. 729. Over clusters the deviations are added up first (Liang and Zeger 1986, Biometrika 73, p. 13), with
    G / (G - 1) for G of them. p is that of all ways to turn the clusters' signs, of which ties count half (Lancaster's
    mid-p; on shifts of -1, 0 and 1 it is the mid-p McNemar test of Fagerland, Lydersen and Laake 2013, BMC Medical
    Research Methodology 13, 91).
    """
    n = len(values)
    if not n:
        return Shift(effect=Estimate(value=math.nan, level=level, reason="no item"))
    if any(abs(each) > unit + 1e-9 for each in values):
        raise UsageError(f"a shift is between -{unit:g} and {unit:g}, got {max(values, key=abs)!r}")
    sums, sizes = clustered(values, clusters)
    total, count = float(sums.sum()), len(sums)
    middle = total / (n + 2)
    apart = (unit - middle) ** 2 / 2 + (unit + middle) ** 2 / 2 + middle**2
    scale = count / (count - 1) if clusters is not None and 1 < count < n else 1.0
    se = math.sqrt(float(((sums - sizes * middle) ** 2).sum()) * scale + apart) / (n + 2)
    half = quantile(level) * se
    return Shift(
        effect=Estimate(
            value=total / n,
            low=max(-unit, middle - half),
            high=min(unit, middle + half),
            n=n,
            level=level,
            reason=few(count),
        ),
        se=se,
        p=sign_flip_p(sums, alternative=alternative),
        clusters=count,
    )


def clustered(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster."""
    array = np.asarray(values, dtype=np.float64)
    if clusters is None:
        return array, np.ones(len(array))
    if len(clusters) != len(array):
        raise UsageError(f"`clusters` has {len(clusters)} entries for {len(array)} items; give one for each")
    places: dict[Hashable, int] = {}
    codes = np.array([places.setdefault(each, len(places)) for each in clusters], dtype=np.int64)
    sums, sizes = np.bincount(codes, weights=array), np.bincount(codes)
    return sums.astype(np.float64), sizes.astype(np.float64)


def few(clusters: int) -> str:
    """A sentence where items or clusters are few, otherwise empty."""
    if clusters >= FEW_CLUSTERS:
        return ""
    return f"only {clusters} items or clusters: the interval is likely too narrow, {FEW_CLUSTERS} or more are better"


def sign_flip_p(sums: Sequence[float] | NDArray[np.float64], *, alternative: Alternative = "two-sided") -> float:
    """Mid-p of a sum whose terms have their signs by chance; 1 where all terms are 0.

    Parameters
    ----------
    sums
        The terms.
    alternative
        Which sums count as at least as large.

    Notes
    -----
    Fisher's randomisation of signs (The Design of Experiments, 1935, section 21). The distribution is built up exactly
    where the terms are multiples of a 24th, otherwise it is the normal one.
    """
    terms = np.asarray(sums, dtype=np.float64)
    terms = terms[np.abs(terms) > 1e-12]  # noqa: PLR2004 - nothing but rounding
    if not len(terms):
        return 1.0
    steps = np.rint(terms * PARTS).astype(np.int64)
    exact = bool(np.all(np.abs(terms * PARTS - steps) < 1e-6))  # noqa: PLR2004 - nothing but rounding
    total = float(steps.sum() if exact else terms.sum())
    observed = {"two-sided": abs(total), "greater": total, "less": -total}[alternative]
    if alternative == "two-sided" and observed < 1e-12:  # noqa: PLR2004 - nothing but rounding
        return 1.0
    unit = int(np.gcd.reduce(steps)) if exact else 1
    if not exact or int(np.abs(steps).sum()) > unit * MOST_STEPS:
        scale = math.sqrt(float(((steps if exact else terms).astype(np.float64) ** 2).sum()))
        beyond = 1 - NormalDist().cdf(observed / scale)
        return 2 * beyond if alternative == "two-sided" else beyond
    shares = _distribution(np.abs(steps) // unit)
    places = np.arange(len(shares)) - len(shares) // 2
    reach = round(observed) // unit
    far = np.abs(places) if alternative == "two-sided" else places
    return float(shares[far > reach].sum() + shares[far == reach].sum() / 2)


def _distribution(steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities of the sums from -`sum(steps)` to it."""
    shares = np.ones(1)
    for step in steps.tolist():
        wider = np.zeros(len(shares) + 2 * step)
        wider[: len(shares)] += shares / 2
        wider[2 * step :] += shares / 2
        shares = wider
    return shares
