"""Labels of the same items from two sources: how often they differ, and whether the differences go one way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from llmframe.stats.extra import missing

Flips = Mapping[tuple[Hashable, Hashable], int]
"""How many items went from one label to another; equal pairs aren't in it."""

MIN_FLIPS: Final = 10
"""Fewest flips for a chi-squared distribution to be near the true one; between two labels the test is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """A test's result.

    Attributes
    ----------
    statistic
        Chi-squared; nan of an exact test.
    df
        Degrees of freedom; 0 of an exact test.
    p
        Probability of differences at least as one-sided by chance; nan where it can't be told.
    reason
        Why it can't be told, otherwise empty.
    """

    statistic: float = math.nan
    df: int = 0
    p: float = math.nan
    reason: str = ""


def flips_between(a: Sequence[Hashable], b: Sequence[Hashable]) -> dict[tuple[Hashable, Hashable], int]:
    """Counts of `(from, to)` over the items whose labels differ, the most frequent first."""
    return dict(Counter(pair for pair in zip(a, b, strict=True) if pair[0] != pair[1]).most_common())


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Agreement beyond chance; nan without items or where both have one and the same label only.

    Notes
    -----
    Cohen (1960), Educational and Psychological Measurement 20, p. 37. Computed by scikit-learn.
    """
    numbers = {label: number for number, label in enumerate(dict.fromkeys([*a, *b]))}
    if len(numbers) < 2:  # noqa: PLR2004 - chance alone would agree always
        return math.nan
    try:
        from sklearn import metrics  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("Cohen's kappa", "scikit-learn") from None
    scores: Any = metrics
    return float(scores.cohen_kappa_score([numbers[label] for label in a], [numbers[label] for label in b]))


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p of `b` items that differ one way and `c` the other, were both ways alike; nan without any.

    Notes
    -----
    McNemar (1947), Psychometrika 12, p. 153, with the binomial distribution itself. Computed by statsmodels.
    """
    if b + c == 0:
        return math.nan
    contingency: Any = _contingency()
    return min(1.0, float(contingency.mcnemar([[0, b], [c, 0]], exact=True).pvalue))


def symmetry(flips: Flips) -> Significance:
    """Whether each flip is as frequent as its reverse.

    Returns
    -------
    Significance
        Exact with two labels; nan without flips, and with more labels from fewer than `MIN_FLIPS`.

    Notes
    -----
    Bowker (1948), JASA 43, p. 572. Pairs of labels without a flip add no degree of freedom.
    """
    if (early := _early(flips)) is not None:
        return early
    labels = _labels(flips)
    pairs = {frozenset(pair) for pair in flips}
    statistic = float(_square(flips, labels).symmetry(method="bowker").statistic)
    return Significance(statistic=statistic, df=len(pairs), p=_chi_squared(statistic, len(pairs)))


def homogeneity(flips: Flips) -> Significance:
    """Whether each label is as frequent after as before.

    Returns
    -------
    Significance
        Exact with two labels; nan without flips, and with more labels from fewer than `MIN_FLIPS`.

    Notes
    -----
    Stuart (1955), Biometrika 42, p. 412; Maxwell (1970), British Journal of Psychiatry 116, p. 651. Computed by
    statsmodels. Labels without a flip say nothing; sets of labels that no flip connects are tested apart and added.
    """
    if (early := _early(flips)) is not None:
        return early
    statistic, df = 0.0, 0
    for labels in _connected(flips):
        statistic += float(_square(flips, labels).homogeneity(method="stuart_maxwell").statistic)
        df += len(labels) - 1
    return Significance(statistic=statistic, df=df, p=_chi_squared(statistic, df))


def _early(flips: Flips) -> Significance | None:
    """The result where no chi-squared is needed, or it can't be had."""
    count = sum(flips.values())
    if not count:
        return Significance(reason="no row differs")
    labels = _labels(flips)
    if len(labels) == 2:  # noqa: PLR2004 - one way and back
        first, second = labels
        return Significance(p=mcnemar_exact(flips.get((first, second), 0), flips.get((second, first), 0)))
    if count < MIN_FLIPS:
        return Significance(
            reason=f"{count} flips between {len(labels)} labels are too few for a test, which takes {MIN_FLIPS}"
        )
    return None


def _labels(flips: Flips) -> list[Hashable]:
    return list(dict.fromkeys(label for pair in flips for label in pair))


def _connected(flips: Flips) -> list[list[Hashable]]:
    """The labels in sets between which nothing flips."""
    of: dict[Hashable, list[Hashable]] = {label: [label] for label in _labels(flips)}
    for left, right in flips:
        if of[left] is not of[right]:
            joined = of[left] + of[right]
            of.update(dict.fromkeys(joined, joined))
    return list({id(labels): labels for labels in of.values()}.values())


def _square(flips: Flips, labels: Sequence[Hashable]) -> Any:
    table = [[float(flips.get((row, column), 0)) for column in labels] for row in labels]
    contingency: Any = _contingency()
    import numpy as np  # noqa: PLC0415 - comes with statsmodels, which takes no lists here

    return contingency.SquareTable(np.array(table), shift_zeros=False)


def _contingency() -> Any:
    try:
        from statsmodels.stats import contingency_tables  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a test of flips", "statsmodels") from None
    return contingency_tables


def _chi_squared(statistic: float, df: int) -> float:
    from scipy.stats import chi2  # noqa: PLC0415 - comes with statsmodels

    distribution: Any = chi2
    return float(distribution.sf(statistic, df))
