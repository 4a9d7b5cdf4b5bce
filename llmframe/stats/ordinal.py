"""How far levels agree with gold levels, where a near one is half right."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.agreement import MOST_CLASSES
from llmframe.stats.bootstrap import DRAWS, Floats, Resampling
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.extra import missing
from llmframe.stats.kappas import NO_ITEM, ONE_LABEL, kappas, perfect_end, scikit_kappa
from llmframe.stats.pair_counts import PairCounts, count_pairs
from llmframe.stats.sequences import plain

ONE_SIDE: Final = "the gold or the answers have one and the same value only"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalAgreement:
    """Levels against gold levels.

    Attributes
    ----------
    n
        Items.
    labels
        All levels from low to high.
    kappa_linear, kappa_quadratic
        Cohen's kappa in which a disagreement weighs by its distance in levels, or by the square of it.
    spearman, tau_b
        Rank correlations: 1 for a judge that is harsh throughout but orders like the gold.
    mae
        Mean distance, in the levels' own unit; in levels where they are no numbers.
    bias
        Mean of answer less gold, in the same unit: below 0 for a harsh judge.
    """

    n: int
    labels: tuple[Hashable, ...]
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    spearman: Estimate
    tau_b: Estimate
    mae: Estimate
    bias: Estimate


def ordinal_agreement(  # noqa: PLR0913 - the facts of a bootstrap
    gold: Sequence[Hashable],
    pred: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> OrdinalAgreement:
    """Weighted kappas, rank correlations, mean distance and bias, all with bootstrap intervals.

    Parameters
    ----------
    gold, pred
        The right level and the answered one of each item, none of them null.
    labels
        All levels from low to high; `None`: of whole numbers all between the least and the greatest that come, or
        those that come where that were more than `MOST_CLASSES`. Texts have no order of their own.
    clusters
        What each item belongs to; `None`: each is its own.
    draws, seed, level
        Of the bootstrap.

    Raises
    ------
    UsageError
        If lengths differ, a level is none of `labels`, texts or parts of numbers come without `labels`, there are more
        than `MOST_CLASSES` levels, or an argument is out of range.
    MissingExtraError
        Without scikit-learn or scipy: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Cohen (1968), Psychological Bulletin 70, p. 213, computed by scikit-learn; Spearman (1904), American Journal of
    Psychology 15, p. 72, and Kendall (1945), Biometrika 33, p. 239, computed by scipy.
    """
    gold, pred = plain(gold), plain(pred)
    found, codes = count_pairs(gold, pred, labels=levels_of(gold, pred) if labels is None else plain(labels))
    if len(found.labels) > MOST_CLASSES:
        raise UsageError(
            f"{len(found.labels):,} levels are too many for an ordinal scale, which has up to {MOST_CLASSES}; take "
            'them as numbers: `scale="interval"`'
        )
    sampling = Resampling.of(len(gold), clusters=clusters, draws=draws, seed=seed, level=level)
    redrawn = found.redrawn(codes, sampling)
    values = _values(found.labels)
    moves = values[found.pred] - values[found.gold]
    return OrdinalAgreement(
        n=sampling.n,
        labels=found.labels,
        kappa_linear=_weighted(found, redrawn, sampling, "linear"),
        kappa_quadratic=_weighted(found, redrawn, sampling, "quadratic"),
        spearman=_correlation(found, redrawn, sampling, "spearmanr"),
        tau_b=_correlation(found, redrawn, sampling, "kendalltau"),
        mae=_mean(np.abs(moves), found, redrawn, sampling),
        bias=_mean(moves, found, redrawn, sampling),
    )


def levels_of(gold: Sequence[Hashable], pred: Sequence[Hashable]) -> list[Any] | None:
    """All levels of numbers from low to high; `None` where there are none."""
    seen: list[Any] = list({*gold, *pred})
    if not seen:
        return None
    if not all(isinstance(label, int | float) for label in seen):
        text = next(label for label in seen if not isinstance(label, int | float))
        raise UsageError(
            f"{text!r} is no number, and texts have no order of their own; name the levels from low to high: "
            "`labels=[...]`"
        )
    other = next((label for label in seen if not float(label).is_integer()), None)
    if other is not None:
        raise UsageError(
            f'{other!r} is between two levels: take such numbers as they are, `scale="interval"`, or name all levels '
            "from low to high: `labels=[...]`"
        )
    if max(seen) - min(seen) < MOST_CLASSES:
        return list(range(int(min(seen)), int(max(seen)) + 1))
    return sorted(seen)


def distances(size: int, weights: Literal["linear", "quadratic"]) -> Floats:
    """What a disagreement weighs, K × K: its part of the greatest distance, or the square of that."""
    places = np.arange(size) / max(1, size - 1)
    apart = np.abs(places[:, None] - places)
    return apart if weights == "linear" else apart**2


def spearmans(counts: PairCounts) -> Floats:
    """Spearman's correlation of each sample; nan where a side has one value only."""
    first, second = _middle_ranks(counts.of_gold), _middle_ranks(counts.of_pred)
    middle = (counts.total[:, None] + 1) / 2
    x, y = (first - middle)[:, counts.gold], (second - middle)[:, counts.pred]
    return _ratio(
        (counts.counts * x * y).sum(axis=1), (counts.counts * x * x).sum(axis=1), (counts.counts * y * y).sum(axis=1)
    )


def taus(counts: PairCounts) -> Floats:
    """Kendall's tau-b of each sample; nan where a side has one value only."""
    signs = np.sign(counts.gold[:, None] - counts.gold) * np.sign(counts.pred[:, None] - counts.pred)
    ordered = ((counts.counts @ signs) * counts.counts).sum(axis=1)
    square = counts.total**2
    return _ratio(ordered, square - (counts.of_gold**2).sum(axis=1), square - (counts.of_pred**2).sum(axis=1))


def _ratio(above: Floats, first: Floats, second: Floats) -> Floats:
    below = np.sqrt(first * second)
    return np.divide(above, below, out=np.full(below.shape, math.nan), where=below > 0)


def _middle_ranks(counts: Floats) -> Floats:
    return counts.cumsum(axis=1) - (counts - 1) / 2


def _weighted(
    found: PairCounts, redrawn: PairCounts, sampling: Resampling, weights: Literal["linear", "quadratic"]
) -> Estimate:
    if len({*found.gold.tolist(), *found.pred.tolist()}) < 2:  # noqa: PLR2004 - chance alone would agree always
        return unknown(ONE_LABEL if sampling.n else NO_ITEM, n=sampling.n, level=sampling.level)
    apart = distances(len(found.labels), weights)
    estimate = sampling.interval(scikit_kappa(found, weights), kappas(redrawn, apart))
    if found.agreed[0] < sampling.n:
        return estimate
    parts = found.of_gold[0] / sampling.n
    return perfect_end(estimate, sampling=sampling, expected=float(parts @ apart @ parts))


def _correlation(found: PairCounts, redrawn: PairCounts, sampling: Resampling, name: str) -> Estimate:
    if min(len(set(found.gold.tolist())), len(set(found.pred.tolist()))) < 2:  # noqa: PLR2004 - nothing moves
        return unknown(ONE_SIDE if sampling.n else NO_ITEM, n=sampling.n, level=sampling.level)
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a rank correlation", "scipy") from None
    tests: Any = stats
    times = found.counts[0].astype(np.int64)
    value = float(getattr(tests, name)(np.repeat(found.gold, times), np.repeat(found.pred, times)).statistic)
    return sampling.interval(value, spearmans(redrawn) if name == "spearmanr" else taus(redrawn))


def _mean(values: Floats, found: PairCounts, redrawn: PairCounts, sampling: Resampling) -> Estimate:
    if not sampling.n:
        return unknown(NO_ITEM, level=sampling.level)
    value = float(found.counts[0] @ values) / sampling.n
    return sampling.interval(value, redrawn.counts @ values / redrawn.total)


def _values(labels: Sequence[Any]) -> Floats:
    """The levels as numbers; their places where they are none."""
    if all(isinstance(label, int | float) for label in labels):
        return np.array(labels, dtype=np.float64)
    return np.arange(len(labels), dtype=np.float64)
