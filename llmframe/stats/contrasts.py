"""Two groups, a bound or a spread against what it should be: effects that are no shift of single items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from llmframe.stats.estimate import Estimate
from llmframe.stats.extra import missing
from llmframe.stats.proportions import quantile, wilson_interval
from llmframe.stats.shifts import Shift, clustered, few, sign_flip_p

LEAST: Final = 2
"""Fewest items of which a spread can be told."""


def group_difference(
    values: Sequence[float],
    first: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> Shift:
    """How far the mean of one group of items is above that of the others.

    Parameters
    ----------
    values
        One an item.
    first
        Whether it is of the first group.
    clusters
        What each item belongs to: items of a cluster move together, across groups too. `None`: each is its own.
    ends
        Values of the two items that are added to either group: the least and the largest that there may be, or for
        values that stay near their middle less.
    level
        Two-sided coverage of the interval, in (0, 1).

    Returns
    -------
    Shift
        All nan where a group is empty.

    Notes
    -----
    Each group has an item at either end added for the interval, the standard error and p, so that none is sure for
    lack of items: of 0 and 1 it is Agresti and Caffo's (2000), The American Statistician 54, p. 280. p is normal,
    two-sided. Clusters as in `mean_shift`.
    """
    own = [value for value, is_first in zip(values, first, strict=True) if is_first]
    others = [value for value, is_first in zip(values, first, strict=True) if not is_first]
    n = len(values)
    if not own or not others:
        reason = f"{len(own)} items in the first group, {len(others)} beside it: nothing to compare"
        return Shift(effect=Estimate(value=math.nan, n=n, level=level, reason=reason))
    weights: list[float] = []
    variance, means = 0.0, list[float]()
    for group, sign in ((own, 1), (others, -1)):
        size = len(group) + 2
        mean = (math.fsum(group) + sum(ends)) / size
        means.append(mean)
        variance += sum((end - mean) ** 2 for end in ends) / size**2
        weights.append(sign / size)
    apart = [
        (value - means[0]) * weights[0] if is_first else (value - means[1]) * weights[1]
        for value, is_first in zip(values, first, strict=True)
    ]
    sums, _ = clustered(apart, clusters)
    scale = len(sums) / (len(sums) - 1) if 1 < len(sums) < n else 1.0
    se = math.sqrt(variance + float((sums**2).sum()) * scale)
    middle, half = means[0] - means[1], quantile(level) * se
    widest = max(*values, *ends) - min(*values, *ends)
    return Shift(
        effect=Estimate(
            value=math.fsum(own) / len(own) - math.fsum(others) / len(others),
            low=max(-widest, middle - half),
            high=min(widest, middle + half),
            n=n,
            level=level,
            reason=few(len(sums)),
        ),
        se=se,
        p=min(1.0, 2 * (1 - NormalDist().cdf(abs(middle) / se))),
        clusters=len(sums),
    )


def share_above(
    hits: Sequence[bool], bound: float, *, clusters: Sequence[Hashable] | None = None, level: float = 0.95
) -> Shift:
    """A share, and whether more than `bound` of all items are hits.

    Parameters
    ----------
    hits
        One an item.
    bound
        The share that would be no finding, in (0, 1).
    clusters
        What each item belongs to. `None`: each is its own.
    level
        Two-sided coverage of the interval, in (0, 1).

    Returns
    -------
    Shift
        The share with Wilson's interval, and the one-sided exact p of at least so many hits at the share `bound`; over
        clusters both are normal, with the standard error of `mean_shift`. Nan without an item.

    Notes
    -----
    The standard error has one hit and one miss added (Agresti and Coull 1998, The American Statistician 52, p. 119).
    """
    n = len(hits)
    if not n:
        return Shift(effect=Estimate(value=math.nan, level=level, reason="no item"))
    count = sum(hits)
    sums, sizes = clustered([float(hit) for hit in hits], clusters)
    middle = (count + 1) / (n + 2)
    apart = (1 - middle) ** 2 + middle**2
    scale = len(sums) / (len(sums) - 1) if 1 < len(sums) < n else 1.0
    se = math.sqrt(float(((sums - sizes * middle) ** 2).sum()) * scale + apart) / (n + 2)
    if len(sums) == n:
        wilson = wilson_interval(count, n, level=level)
        low, high, p = wilson.low, wilson.high, _binomial_tail(count, n, bound)
    else:
        half = quantile(level) * se
        low, high = max(0.0, middle - half), min(1.0, middle + half)
        p = 1 - NormalDist().cdf((count / n - bound) / se)
    effect = Estimate(value=count / n, low=low, high=high, n=n, level=level, reason=few(len(sums)))
    return Shift(effect=effect, se=se, p=p, clusters=len(sums))


def narrowing(
    judged: Sequence[float],
    gold: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Shift:
    """How much narrower a judge's scores are spread than the known ones: sd(judge) / sd(gold) - 1.

    Parameters
    ----------
    judged, gold
        One number an item from each.
    clusters
        What each item belongs to. `None`: each is its own.
    level
        Two-sided coverage of the interval, in (0, 1).

    Returns
    -------
    Shift
        -0.3 for scores whose standard deviation is 30 % less, with the one-sided p of being narrower. Nan where the
        known scores are all alike; without interval where a judge's are.

    Notes
    -----
    The standard error is the jackknife's over items or clusters (Tukey 1958, Annals of Mathematical Statistics 29,
    p. 614) of the logarithm. p turns judge and gold about item by item: squared deviations from their means as
    `sign_flip_p` has them.
    """
    x, y = np.asarray(judged, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    n = len(x)
    if n < LEAST or not y.std():
        reason = "the known scores are all alike" if n >= LEAST else f"{n} items have no spread"
        return Shift(effect=Estimate(value=math.nan, n=n, level=level, reason=reason))
    ratio = float(x.std() / y.std())
    moves, _ = clustered(((x - x.mean()) ** 2 - (y - y.mean()) ** 2).tolist(), clusters)
    p = sign_flip_p(moves, alternative="less")
    spread = _jackknife(x, y, clusters)
    if not ratio or not math.isfinite(spread):
        why = "the judge gives one score only" if not ratio else "no interval from so few items"
        return Shift(effect=Estimate(value=ratio - 1, n=n, level=level, reason=why), p=p, clusters=len(moves))
    reach = math.exp(quantile(level) * spread)  # 1 where judge and gold are the same everywhere
    effect = Estimate(
        value=ratio - 1, low=ratio / reach - 1, high=ratio * reach - 1, n=n, level=level, reason=few(len(moves))
    )
    return Shift(effect=effect, se=ratio * spread, p=p, clusters=len(moves))


def _jackknife(x: NDArray[np.float64], y: NDArray[np.float64], clusters: Sequence[Hashable] | None) -> float:
    """Standard error of log(sd(x) / sd(y)); nan where leaving one cluster out leaves no spread."""
    _, sizes = clustered(x.tolist(), clusters)
    groups = len(sizes)
    if groups < LEAST:
        return math.nan
    left = len(x) - sizes
    logs = np.zeros(groups)
    for values, sign in ((x - x.mean(), 1), (y - y.mean(), -1)):
        sums, _ = clustered(values.tolist(), clusters)
        squares, _ = clustered((values**2).tolist(), clusters)
        means = (values.sum() - sums) / np.maximum(left, 1)
        variances = ((values**2).sum() - squares) / np.maximum(left, 1) - means**2
        if np.any(variances <= 1e-12) or np.any(left < LEAST):  # noqa: PLR2004 - nothing but rounding
            return math.nan
        logs += sign * np.log(variances) / 2
    return math.sqrt((groups - 1) / groups * float(((logs - logs.mean()) ** 2).sum()))


def _binomial_tail(count: int, n: int, share: float) -> float:
    """Probability of at least `count` hits of `n`."""
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("an exact test of a share", "scipy") from None
    distribution: Any = stats.binom
    return float(distribution.sf(count - 1, n, share))
