"""How far numbers agree with gold numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import DRAWS, Floats, Resampling
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.extra import missing
from llmframe.stats.kappas import NO_ITEM
from llmframe.stats.ordinal import ONE_SIDE
from llmframe.stats.proportions import quantile

PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericAgreement:
    """Numbers against gold numbers.

    Attributes
    ----------
    n
        Items.
    pearson, spearman
        Correlations of the numbers, and of their ranks: 1 for a judge that is harsh throughout.
    ccc
        Lin's concordance: Pearson's correlation, less for what is harsh or compressed.
    icc
        ICC(2,1): part of the variance that isn't between the two, each item judged once by either.
    mae
        Mean distance, in the numbers' unit.
    bias
        Mean of answer less gold, in the same unit: below 0 for a harsh judge.
    lower_limit, upper_limit
        Bland and Altman's limits, between which 95 % of the differences are if they are normal.
    """

    n: int
    pearson: Estimate
    spearman: Estimate
    ccc: Estimate
    icc: Estimate
    mae: Estimate
    bias: Estimate
    lower_limit: Estimate
    upper_limit: Estimate


def numeric_agreement(  # noqa: PLR0913 - the facts of a bootstrap
    gold: Sequence[float],
    pred: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> NumericAgreement:
    """Correlations, concordance, mean distance, bias and limits of agreement, all with bootstrap intervals.

    Parameters
    ----------
    gold, pred
        The right number and the answered one of each item, all finite.
    clusters
        What each item belongs to; `None`: each is its own.
    draws, seed, level
        Of the bootstrap.

    Raises
    ------
    UsageError
        If lengths differ, a number isn't finite, or an argument is out of range.
    MissingExtraError
        Without scipy: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Pearson and Spearman are computed by scipy. Lin (1989), Biometrics 45, p. 255, with variances over n; Shrout and
    Fleiss (1979), Psychological Bulletin 86, p. 420, case 2; Bland and Altman (1986), Lancet 327, p. 307.
    """
    x, y = _checked(gold, pred)
    sampling = Resampling.of(len(x), clusters=clusters, draws=draws, seed=seed, level=level)
    if not sampling.n:
        none = unknown(NO_ITEM, level=level)
        return NumericAgreement(
            n=0,
            pearson=none,
            spearman=none,
            ccc=none,
            icc=none,
            mae=none,
            bias=none,
            lower_limit=none,
            upper_limit=none,
        )
    features = moments(x, y)
    found, redrawn = features.sum(axis=0, keepdims=True), sampling.resums(features)
    constant = ONE_SIDE if np.ptp(x) == 0 or np.ptp(y) == 0 else ""
    alike = "all numbers are the same" if constant and np.ptp(np.append(x, y)) == 0 else ""
    one = "one item has no spread" if sampling.n < PAIR else ""
    varied, none = not one and not constant, unknown(one or constant, n=sampling.n, level=level)
    lower, upper = limits(found)
    drawn_lower, drawn_upper = limits(redrawn)
    return NumericAgreement(
        n=sampling.n,
        pearson=_correlation("pearsonr", x, y, sampling, pearsons(redrawn)) if varied else none,
        spearman=_correlation("spearmanr", x, y, sampling, _spearmans(x, y, sampling)) if varied else none,
        ccc=none if one else sampling.interval(float(cccs(found)[0]), cccs(redrawn), reason=alike),
        icc=none if one else _icc(found, redrawn, sampling, alike),
        mae=sampling.interval(float(np.abs(y - x).mean()), redrawn[:, 6] / redrawn[:, 0]),
        bias=sampling.interval(float((y - x).mean()), (redrawn[:, 2] - redrawn[:, 1]) / redrawn[:, 0]),
        lower_limit=sampling.interval(float(lower[0]), drawn_lower, reason=one),
        upper_limit=sampling.interval(float(upper[0]), drawn_upper, reason=one),
    )


def moments(gold: Floats, pred: Floats) -> Floats:
    """What sums are made of, by item: 1, x, y, x², y², xy, distance; x and y from their common mean on."""
    middle = np.append(gold, pred).mean()  # sums of squares far from 0 lose their digits
    x, y = gold - middle, pred - middle
    return np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y, np.abs(y - x)], axis=1)


def pearsons(sums: Floats) -> Floats:
    """Pearson's correlation of each sample, from its moments."""
    _, _, first, second, both = _spread(sums)
    return _divided(both, np.sqrt(first * second))


def cccs(sums: Floats) -> Floats:
    """Lin's concordance correlation of each sample, from its moments."""
    n, apart, first, second, both = _spread(sums)
    return _divided(2 * both, first + second + n * apart**2)


def iccs(sums: Floats) -> Floats:
    """ICC(2,1) of each sample of two raters, from its moments."""
    n, apart, first, second, both = _spread(sums)
    freedom = np.where(n > 1, n - 1, math.nan)
    between, error = (first + second + 2 * both) / 2 / freedom, (first + second - 2 * both) / 2 / freedom
    raters = n * apart**2 / 2
    return _divided(between - error, between + error + 2 * (raters - error) / n)


def limits(sums: Floats) -> tuple[Floats, Floats]:
    """Bland and Altman's limits of each sample, from its moments."""
    n, apart, first, second, both = _spread(sums)
    half = quantile(0.95) * np.sqrt(np.maximum(first + second - 2 * both, 0) / np.where(n > 1, n - 1, math.nan))
    return apart - half, apart + half


def _spread(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Items, mean of y less x, and the centred sums of xx, yy, xy."""
    n, x, y, xx, yy, xy = sums[:, :6].T
    n = np.asarray(n)
    # rounding leaves a little of what is 0
    first, second = (
        np.where(each > 1e-12 * raw, each, 0.0) for each, raw in ((xx - x * x / n, xx), (yy - y * y / n, yy))
    )
    return n, (y - x) / n, first, second, xy - x * y / n


def _icc(found: Floats, redrawn: Floats, sampling: Resampling, alike: str) -> Estimate:
    value = float(iccs(found)[0])
    opposed = "the variances between items and between the two cancel out" if math.isnan(value) else ""
    return sampling.interval(value, iccs(redrawn), reason=alike or opposed)


def _spearmans(x: Floats, y: Floats, sampling: Resampling) -> Floats:
    found: list[Floats] = []
    for weights in sampling.weights():
        times = weights[:, sampling.codes]
        total = times.sum(axis=1, keepdims=True)
        first, second = (_ranks(side, times) - (total + 1) / 2 for side in (x, y))
        found.append(
            _divided(
                (times * first * second).sum(axis=1),
                np.sqrt((times * first**2).sum(axis=1) * (times * second**2).sum(axis=1)),
            )
        )
    return np.concatenate(found)


def _ranks(values: Floats, times: Floats) -> Floats:
    """The middle rank of each item in each sample, in which it comes `times` times."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(places, kind="stable")
    ends = times[:, order].cumsum(axis=1)[:, np.cumsum(counts) - 1]
    starts = np.concatenate([np.zeros((len(ends), 1)), ends[:, :-1]], axis=1)
    return ((starts + ends + 1) / 2)[:, places]


def _correlation(name: str, x: Floats, y: Floats, sampling: Resampling, redrawn: Floats) -> Estimate:
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a correlation", "scipy") from None
    tests: Any = stats
    return sampling.interval(float(getattr(tests, name)(x, y).statistic), redrawn)


def _divided(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(below.shape, math.nan), where=below > 0)


def _checked(gold: Sequence[float], pred: Sequence[float]) -> tuple[Floats, Floats]:
    if len(gold) != len(pred):
        raise UsageError(f"`gold` has {len(gold)} items and `pred` {len(pred)}; give both for the same items")
    sides = [np.asarray(side, dtype=np.float64) for side in (gold, pred)]
    for name, side in zip(("gold", "pred"), sides, strict=True):
        if not np.isfinite(side).all():
            raise UsageError(f"`{name}` has numbers that aren't finite; leave items without a number out of both")
    return sides[0], sides[1]
