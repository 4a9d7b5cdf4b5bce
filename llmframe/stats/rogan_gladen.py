"""A share by a judge, corrected by its error rates on known answers that may have been picked by class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.corrected import Corrected, bounded, mean_estimate
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.guards import check_classes, check_discrimination, few_gold
from llmframe.stats.proportions import quantile

SHARES = (0.0, 1.0)


def rogan_gladen(
    gold: Sequence[bool], judge: Sequence[bool], rest: Sequence[bool], *, level: float = 0.95
) -> Corrected:
    """The share of rows that are truly of a class, from a judge of all and its error rates on known answers.

    Parameters
    ----------
    gold, judge
        Of the rows with a known answer, whether it and the judge's answer are of the class; shape (n,). Within each
        class the rows must be a random sample; how many are of which class doesn't matter.
    rest
        Whether the judge's answer is of the class, for the rows whose share is wanted; shape (N,). Rows with a known
        answer belong in it only if they are some of those.
    level
        Two-sided coverage, in (0, 1).

    Returns
    -------
    Corrected
        `specificity`, `sensitivity` are the judge's, `gold` is the known rows' own share, which says nothing of others
        when they were picked by class. nan without rows.

    Raises
    ------
    UsageError
        If the known answers are of one class only, or specificity and sensitivity sum to 1.1 or less.

    Notes
    -----
    Rogan and Gladen (1978), American Journal of Epidemiology 107, p. 71: share = (p + q0 - 1) / (q0 + q1 - 1), held in
    [0, 1]. The interval is Lang and Reiczigel's (2014), Preventive Veterinary Medicine 113, p. 13, as Lee et al.
    (2025), arXiv 2511.21140, use it for judges. Where the known rows are a random sample of all, `ppi_mean` has the
    narrower interval.

    Examples
    --------
    >>> found = rogan_gladen([True] * 50 + [False] * 50, [True] * 45 + [False] * 45 + [True] * 10, [True, False] * 500)
    >>> print(found.estimate)
    0.43 (0.30 to 0.54)
    """
    known, said, others = (np.asarray(each, dtype=bool) for each in (gold, judge, rest))
    if len(known) != len(said):
        raise UsageError(f"`gold` has {len(known)} values and `judge` {len(said)}; give one of each for each known row")
    alone = mean_estimate(known.astype(float), level=level)
    naive = mean_estimate(others.astype(float), level=level, what="answer of the judge")
    if not len(known) or not len(others):
        why = "there is no known answer" if not len(known) else "there is no row whose share is wanted"
        return Corrected(estimate=unknown(why, level=level), gold=alone, naive=naive, n=len(known), rest=len(others))
    check_classes(known.tolist(), what="a correction by error rates")
    negative, positive = int((~known).sum()), int(known.sum())
    specificity, sensitivity = float((~said[~known]).mean()), float(said[known].mean())
    check_discrimination(specificity, sensitivity)
    share = float(others.mean())
    value = (share + specificity - 1) / (specificity + sensitivity - 1)
    low, high, error = lang_reiczigel(
        share, specificity, sensitivity, n=len(others), negative=negative, positive=positive, level=level
    )
    notes = [few_gold(len(known))]
    if math.isnan(low):
        notes.append("no interval: a class has too few known answers to tell the judge from a coin; label more of it")
    estimate = Estimate(
        value=value, low=low, high=high, n=len(known), level=level, reason="; ".join(filter(None, notes))
    )
    return Corrected(
        estimate=bounded(estimate, SHARES),
        gold=alone,
        naive=naive,
        se=error,
        n=len(known),
        rest=len(others),
        specificity=specificity,
        sensitivity=sensitivity,
    )


def lang_reiczigel(  # noqa: PLR0913 - a share and two error rates, with their counts
    share: float,
    specificity: float,
    sensitivity: float,
    *,
    n: int,
    negative: int,
    positive: int,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Ends of the interval of a corrected share, not yet held in [0, 1], and its standard error.

    Parameters
    ----------
    share
        What the judge said, of `n` rows.
    specificity, sensitivity
        The judge's, q0 and q1, of `negative` and `positive` known answers.
    level
        Two-sided coverage, in (0, 1).

    Returns
    -------
    tuple of float
        All nan where the smoothed error rates tell the judge from no coin.

    Notes
    -----
    Lang and Reiczigel (2014). With z of the level: p' = (n p + z²/2) / (n + z²), q' = (m q + 1) / (m + 2), from now on
    n + z² and m + 2 rows; middle = share' + 2 z² (share' q1'(1 - q1')/m1 - (1 - share') q0'(1 - q0')/m0).
    """
    square = quantile(level) ** 2
    rows, zeros, ones = n + square, negative + 2, positive + 2
    seen = (n * share + square / 2) / rows
    of_zeros, of_ones = (negative * specificity + 1) / zeros, (positive * sensitivity + 1) / ones
    apart = of_zeros + of_ones - 1
    if apart <= 0:
        return math.nan, math.nan, math.nan
    middle = (seen + of_zeros - 1) / apart
    by_zeros, by_ones = of_zeros * (1 - of_zeros) / zeros, of_ones * (1 - of_ones) / ones
    error = math.sqrt(seen * (1 - seen) / rows + (1 - middle) ** 2 * by_zeros + middle**2 * by_ones) / apart
    moved = middle + 2 * square * (middle * by_ones - (1 - middle) * by_zeros)
    half = math.sqrt(square) * error
    return moved - half, moved + half, error
