"""Numbers of the same items from two sources: how large their difference is, and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import Any, Final

from llmframe.stats.extra import missing
from llmframe.stats.flips import mcnemar_exact
from llmframe.stats.proportions import UNKNOWN, Interval, quantile, wilson_interval
from llmframe.stats.sequences import plain

POWER: Final = 0.8
"""Power at which the least detectable difference is told."""

MOST_EXACT: Final = 50
"""Most differences whose ranks are tested exactly."""

MOST_SIGNS: Final = 10
"""Most differences, some of them equal, that are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Numbers of two sources, paired by item; a difference is the second's less the first's.

    Attributes
    ----------
    n
        Items that have both.
    a, b
        Means.
    mean, interval
        Mean difference with its 95 % interval by Student's t.
    t_p, wilcoxon_p
        Two-sided p of the paired t test and of the signed-rank test.
    reason
        Why something is nan, otherwise empty.
    """

    n: int
    a: float = math.nan
    b: float = math.nan
    mean: float = math.nan
    interval: Interval = UNKNOWN
    t_p: float = math.nan
    wilcoxon_p: float = math.nan
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracies:
    """How often two sources are right on the same items.

    Attributes
    ----------
    n
        Items with gold that both answered.
    right_a, right_b
        Those that each answered right.
    only_a, only_b
        Those that only this one answered right: the pairs that decide.
    a, b, interval_a, interval_b
        Accuracies with their 95 % intervals (Wilson).
    difference, interval
        The second's accuracy less the first's, with its paired 95 % interval.
    mcnemar_p
        Two-sided p of the exact McNemar test.
    detectable
        Least difference that this many items would show with power 0.8 at the 5 % level, by the pairs that decide.
    reason
        Why something is nan, otherwise empty.
    """

    n: int
    right_a: int
    right_b: int
    only_a: int
    only_b: int
    a: float
    b: float
    interval_a: Interval
    interval_b: Interval
    difference: float
    interval: Interval
    mcnemar_p: float
    detectable: float
    reason: str = ""


def paired_difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Mean difference of paired numbers, with a t interval, the paired t test and Wilcoxon's signed-rank test.

    Parameters
    ----------
    a, b
        One finite number an item.

    Notes
    -----
    Student (1908), Biometrika 6, p. 1; Wilcoxon (1945), Biometrics Bulletin 1, p. 80. Computed by scipy. Items that
    don't differ are left out of the ranks; the test is exact for up to 50 different differences or 10 equal ones.
    """
    n = len(a)
    if not n:
        return Difference(n=0, reason="no row has both numbers")
    moves = [right - left for left, right in zip(a, b, strict=True)]
    mean = math.fsum(moves) / n
    of_a, of_b = math.fsum(a) / n, math.fsum(b) / n
    if n == 1 or max(moves) == min(moves):
        reason = "one row has no spread" if n == 1 else "all rows differ by the same, so nothing is left to chance"
        if n > 1 and not any(moves):
            reason = "no row differs"
        return Difference(n=n, a=of_a, b=of_b, mean=mean, reason=reason)
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a paired test", "scipy") from None
    tests: Any = stats
    test = tests.ttest_rel(b, a)
    ends = test.confidence_interval(0.95)
    return Difference(
        n=n,
        a=of_a,
        b=of_b,
        mean=mean,
        interval=Interval(float(ends.low), float(ends.high)),
        t_p=float(test.pvalue),
        wilcoxon_p=_signed_ranks(tests, [move for move in moves if move]),
    )


def accuracies(right_a: Sequence[bool], right_b: Sequence[bool]) -> Accuracies:
    """Two accuracies on the same items, their difference and the exact McNemar test.

    Parameters
    ----------
    right_a, right_b
        One an item.

    Notes
    -----
    The interval of the difference is Agresti and Min's (2005), Statistics in Medicine 24, p. 729: Wald's with half an
    item added to each cell of the 2 × 2 table. Its standard error times z(.975) + z(.8) is the least detectable
    difference.
    """
    right_a, right_b = plain(right_a), plain(right_b)
    n = len(right_a)
    only_a = sum(left and not right for left, right in zip(right_a, right_b, strict=True))
    only_b = sum(right and not left for left, right in zip(right_a, right_b, strict=True))
    first, second = sum(right_a), sum(right_b)
    reason = "" if only_a + only_b else "no row is right in one and wrong in the other" if n else "no row with gold"
    error = _standard_error(only_a, only_b, n)
    middle = (only_b - only_a) / (n + 2)
    half = quantile(0.95) * error
    return Accuracies(
        n=n,
        right_a=first,
        right_b=second,
        only_a=only_a,
        only_b=only_b,
        a=first / n if n else math.nan,
        b=second / n if n else math.nan,
        interval_a=wilson_interval(first, n),
        interval_b=wilson_interval(second, n),
        difference=(second - first) / n if n else math.nan,
        interval=Interval(max(-1.0, middle - half), min(1.0, middle + half)) if n else UNKNOWN,
        mcnemar_p=mcnemar_exact(only_a, only_b),
        # the one-sided quantile of 0.8 is the two-sided one of 0.6
        detectable=(quantile(0.95) + quantile(2 * POWER - 1)) * error if n else math.nan,
        reason=reason,
    )


def _signed_ranks(tests: Any, moves: Sequence[float]) -> float:
    """Two-sided p of Wilcoxon's test on differences none of which is 0."""
    sizes = [abs(move) for move in moves]
    if len(set(sizes)) == len(sizes):
        return float(tests.wilcoxon(moves, method="exact" if len(moves) <= MOST_EXACT else "approx").pvalue)
    if len(moves) > MOST_SIGNS:
        return float(tests.wilcoxon(moves, method="approx").pvalue)
    # among few equal differences scipy's releases don't agree: the signs are turned in all ways
    ranks: list[float] = tests.rankdata(sizes).tolist()
    middle = sum(ranks) / 2
    far = abs(sum(rank for rank, move in zip(ranks, moves, strict=True) if move > 0) - middle)
    sums = [sum(compress(ranks, signs)) for signs in product((0, 1), repeat=len(ranks))]
    return sum(abs(each - middle) >= far for each in sums) / len(sums)


def _standard_error(only_a: int, only_b: int, n: int) -> float:
    """Of the difference of two paired proportions, half an item added to each cell."""
    first, second, total = only_a + 0.5, only_b + 0.5, n + 2
    return math.sqrt(first + second - (second - first) ** 2 / total) / total
