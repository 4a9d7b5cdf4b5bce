"""How well confidences meet what was right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmframe.stats.curves import FLOOR
from llmframe.stats.extra import missing
from llmframe.stats.proportions import quantile
from llmframe.stats.reliability_bins import (
    BINS,
    DRAWS,
    Counts,
    Equal,
    Floats,
    bin_places,
    check_bins,
    checked,
    grouped,
    mass_stops,
    simulated,
)
from llmframe.stats.sequences import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class NullBand:
    """What a calibration error is by chance alone.

    Attributes
    ----------
    mean
        On average, if every confidence is exactly the chance to be right; nan without items.
    low, high
        Between these it then falls with probability `level`: an error above `high` is no chance.
    level
        In (0, 1).
    draws
        Simulations behind it.
    """

    mean: float
    low: float
    high: float
    level: float = 0.95
    draws: int = DRAWS


def log_loss(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Mean negative natural logarithm of the probability given to what happened; nan without items.

    A confidence is held `FLOOR` away from 0 and 1, so that one wrong certainty costs 13.8 and not everything.

    Raises
    ------
    UsageError
        If a confidence isn't in [0, 1], or the two sequences aren't of equal length.
    """
    sure = checked(confidences, right).tolist()
    if not sure:
        return math.nan
    given = (each if hit else 1.0 - each for each, hit in zip(sure, right, strict=True))
    return math.fsum(-math.log(min(max(each, FLOOR), 1.0 - FLOOR)) for each in given) / len(sure)


def brier(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Mean squared difference between confidence and right (1) or wrong (0); nan without items.

    Raises
    ------
    UsageError
        If a confidence isn't in [0, 1], or the two sequences aren't of equal length.

    Notes
    -----
    Brier (1950), Monthly Weather Review 78, p. 1, of one event.
    """
    sure = checked(confidences, right).tolist()
    return (
        math.fsum((each - hit) ** 2 for each, hit in zip(sure, plain(right), strict=True)) / len(sure)
        if sure
        else math.nan
    )


def calibration_error(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = BINS, equal: Equal = "mass"
) -> float:
    """Expected calibration error over bins of equal size; nan without items.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.
    bins
        How many; of equal mass the first ones have an item more where the number doesn't divide.
    equal
        `"mass"`: as many items in each. `"width"`: equal parts of [0, 1], each without its upper end but for the last.

    Returns
    -------
    float
        Mean over items of the distance between accuracy and mean confidence of their bin.

    Raises
    ------
    UsageError
        If an argument is out of range, or the two sequences aren't of equal length.

    Notes
    -----
    Naeini, Cooper, Hauskrecht (2015), AAAI. Items of equal confidence count as their mean, so that the order of the
    rows doesn't matter where a bin of equal mass ends among them. Above 0 by chance even where all is well: hold it
    against `null_band`.
    """
    values, counts, hits = grouped(confidences, right)
    shares = _shares(values, counts, bins=bins, equal=equal)
    return float(np.abs(shares @ (values * counts - hits)).sum() / counts.sum()) if len(values) else math.nan


def null_band(  # noqa: PLR0913 - the facts of a simulation
    confidences: Sequence[float],
    *,
    bins: int = BINS,
    equal: Equal = "mass",
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> NullBand:
    """What `calibration_error` is by chance alone, if every confidence is exactly the chance to be right.

    Parameters
    ----------
    confidences
        In [0, 1].
    bins, equal
        As for the calibration error.
    draws, seed
        How often outcomes are simulated with these confidences as their chances, and what decides them.
    level
        Probability between `low` and `high`, in (0, 1).

    Raises
    ------
    UsageError
        If an argument is out of range.

    Notes
    -----
    Vaicenavicius et al. (2019), AISTATS, section 5: consistency resampling, with the confidences held fixed.
    """
    values, counts, _ = grouped(confidences, [False] * len(confidences))
    quantile(level)
    shares = _shares(values, counts, bins=bins, equal=equal)
    if not len(values):
        return NullBand(mean=math.nan, low=math.nan, high=math.nan, level=level, draws=draws)
    expected = values * counts
    parts = [
        np.abs((expected - hits) @ shares.T).sum(axis=1) for hits in simulated(values, counts, draws=draws, seed=seed)
    ]
    errors = np.concatenate(parts) / counts.sum()
    tail = (1 - level) / 2
    low, high = np.quantile(errors, [tail, 1 - tail]).tolist()
    return NullBand(mean=float(errors.mean()), low=low, high=high, level=level, draws=draws)


def debiased_error(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = BINS, equal: Equal = "mass"
) -> float:
    """Squared calibration error less what chance adds to it; nan where no bin has two items.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.
    bins, equal
        As in `reliability_bins`: items of equal confidence stay together. Bins of one item, whose chance can't be told,
        are left out.

    Returns
    -------
    float
        Mean over items of the squared distance between accuracy and mean confidence of their bin, less the variance of
        the accuracy. About 0 where all is well, and then below 0 as often as above.

    Raises
    ------
    UsageError
        If an argument is out of range, or the two sequences aren't of equal length.

    Notes
    -----
    Kumar, Liang, Ma (2019), NeurIPS, section 5: Σ n_b / n [(acc − conf)² − acc (1 − acc) / (n_b − 1)].
    """
    values, counts, hits = grouped(confidences, right)
    places = bin_places(values, counts, bins=bins, equal=equal)
    sizes = np.bincount(places, weights=counts)
    kept = sizes > 1
    if not kept.any():
        return math.nan
    n = sizes[kept]
    accuracy = np.bincount(places, weights=hits)[kept] / n
    confidence = np.bincount(places, weights=values * counts)[kept] / n
    errors = (accuracy - confidence) ** 2 - accuracy * (1 - accuracy) / (n - 1)
    return float((n * errors).sum() / n.sum())


def auroc(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """How often a right answer has more confidence than a wrong one, equal ones counted half.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. nan unless some answers are right and some wrong.

    Raises
    ------
    UsageError
        If the two sequences aren't of equal length, or a confidence isn't in [0, 1].
    MissingExtraError
        Without scikit-learn.

    Notes
    -----
    Computed by scikit-learn.
    """
    grouped(confidences, right)
    if all(right) or not any(right):
        return math.nan
    try:
        from sklearn import metrics  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("the AUROC", "scikit-learn") from None
    scored: Any = metrics
    return float(scored.roc_auc_score([bool(hit) for hit in right], [float(each) for each in confidences]))


def _shares(values: Floats, counts: Counts, *, bins: int, equal: Equal) -> Floats:
    """Of each bin, the share of every distinct confidence's items that are in it; shape (bins, confidences)."""
    if equal == "mass":
        check_bins(bins, equal)
        stops = mass_stops(int(counts.sum()), bins)
        starts = np.concatenate([[0], stops[:-1]])
        last = np.cumsum(counts)
        overlaps = np.minimum(last, stops[:, None]) - np.maximum(last - counts, starts[:, None])
        return np.maximum(overlaps, 0) / counts
    places = bin_places(values, counts, bins=bins, equal=equal)
    return (places == np.arange(bins)[:, None]).astype(np.float64)
