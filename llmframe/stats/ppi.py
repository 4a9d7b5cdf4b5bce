"""Means of what a judge said about all rows, corrected by a random sample of known answers (PPI++)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from llmframe.errors import UsageError
from llmframe.stats.corrected import (
    Bounds,
    Corrected,
    Floats,
    bounded,
    cluster_means,
    floats,
    mean_estimate,
    spread_quantile,
)
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.guards import FEW_GOLD, few_clusters, few_gold
from llmframe.stats.proportions import quantile

Quantiles = Literal["auto", "normal"]

FEW_OF_A_CLASS: Final = 20
"""Known answers of the rarer class below which an interval of a share is too narrow."""


def ppi_mean(  # noqa: PLR0913 - the facts of an estimate
    gold: ArrayLike,
    judge: ArrayLike,
    rest: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    rest_clusters: Sequence[Hashable] | None = None,
    lam: float | None = None,
    level: float = 0.95,
    quantiles: Quantiles = "auto",
    bounds: Bounds | None = None,
) -> Corrected:
    """The mean that all rows would have if each was known, from a judge of all and a random sample of known answers.

    Parameters
    ----------
    gold, judge
        Of the rows with a known answer that answer and the judge's, shape (n,): scores, 0 or 1 for a label, or
        probabilities (of the judge). The rows must be a random sample of all.
    rest
        The judge's answers to the other rows, shape (N,).
    clusters, rest_clusters
        What each row belongs to: rows of a cluster are averaged first, so that each cluster counts once, whatever its
        size. Clusters with known answers must then be a random sample of the clusters; where rows were picked one by
        one, large ones are likelier to have some, and `weighted_mean` is the one to take. Of a cluster with some known
        answers only those rows count. `None`: each row is its own.
    lam
        How far the judge is trusted, in [0, 1]; `None`: as far as makes the interval narrowest.
    level
        Two-sided coverage, in (0, 1).
    quantiles
        `"auto"`: below 100 known answers Student's t and a variance for two learnt numbers; `"normal"`: never.
    bounds
        Least and greatest value of the mean; the interval is cut there.

    Returns
    -------
    Corrected
        nan without known answers; without an interval where they have no spread, with the reason.

    Raises
    ------
    UsageError
        If lengths differ, a number isn't finite, or an argument is out of range.
    MissingExtraError
        Without scipy, below 100 known answers.

    Notes
    -----
    Angelopoulos, Duchi, Zrnic (2023), arXiv 2311.01453; Angelopoulos et al. (2023), Science 382, p. 669
    (arXiv 2301.09633). With gold Y, judge F: lam = cov(Y, F) / ((1 + n/N) var(all F)), held in [0, 1];
    mean = mean(Y) + lam (mean(F of the rest) - mean(F of the known)); its variance is Var(Y - lam F) / n +
    lam² Var(F of the rest) / N. With `quantiles="normal"` it equals ppi_py 0.2.3.

    Examples
    --------
    >>> found = ppi_mean([1, 0] * 60, [1, 0, 1, 1] * 30, [1, 1, 0] * 400)
    >>> print(found.estimate, f"{found.lam:.2f}")
    0.46 (0.38 to 0.53) 0.52
    """
    known, said = floats(gold, argument="gold"), floats(judge, argument="judge")
    others = floats(rest, argument="rest")
    if len(known) != len(said):
        raise UsageError(f"`gold` has {len(known)} values and `judge` {len(said)}; give one of each for each known row")
    if lam is not None and not 0 <= lam <= 1:
        raise UsageError(f"`lam` is between 0 and 1, or None for the best, got {lam!r}")
    if quantiles not in ("auto", "normal"):
        raise UsageError(f'`quantiles` is "auto" or "normal", got {quantiles!r}')
    notes: list[str] = []
    if clusters is not None:
        known, said, others = _averaged(known, said, others, clusters, rest_clusters)
        notes.append(few_clusters(len(known)))
    n, size = len(known), len(others)
    everything = np.concatenate([said, others])
    alone = bounded(mean_estimate(known, level=level), bounds)
    naive = bounded(mean_estimate(everything, level=level, what="answer of the judge"), bounds)
    if not n:
        return Corrected(estimate=unknown("there is no known answer", level=level), gold=alone, naive=naive, rest=size)
    if not size:
        every = replace(alone, reason="; ".join(filter(None, [alone.reason or _nothing_left(clusters), *notes])))
        spread = _error(known, small=False)
        return Corrected(estimate=every, gold=alone, naive=naive, n=n, effective_n=float(n), lam=0.0, se=spread)
    trust = _best_lam(known, said, everything, n / size) if lam is None else lam
    value = float(known.mean() + trust * (others.mean() - said.mean()))
    small = quantiles == "auto" and n < FEW_GOLD
    residual = known - trust * said
    error = math.hypot(_error(residual, small=small), trust * _error(others, small=False))
    why = _no_interval(known, error, small=small)
    if why:
        estimate = Estimate(value=value, n=n, level=level, reason=why)
        return Corrected(estimate=bounded(estimate, bounds), gold=alone, naive=naive, lam=trust, n=n, rest=size)
    half = (spread_quantile(level, n - 2) if small else quantile(level)) * error
    notes += [few_gold(n) if small else "", _rare(known, everything), _agreed(known, said)]
    estimate = Estimate(
        value=value, low=value - half, high=value + half, n=n, level=level, reason="; ".join(filter(None, notes))
    )
    return Corrected(
        estimate=bounded(estimate, bounds),
        gold=alone,
        naive=naive,
        se=error,
        lam=trust,
        n=n,
        rest=size,
        effective_n=n * (_error(known, small=small) / error) ** 2,
    )


def ppi_difference(  # noqa: PLR0913 - two systems
    gold: tuple[ArrayLike, ArrayLike],
    judge: tuple[ArrayLike, ArrayLike],
    rest: tuple[ArrayLike, ArrayLike],
    *,
    clusters: Sequence[Hashable] | None = None,
    rest_clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    quantiles: Quantiles = "auto",
) -> Corrected:
    """The second system's mean less the first's on the same items, corrected by the items where both are known.

    Parameters
    ----------
    gold, judge
        Of each system, item by item, the known answer and the judge's; shape (n,) each.
    rest
        Of each system the judge's answers to the other items; shape (N,) each.
    clusters, rest_clusters, level, quantiles
        As in `ppi_mean`.

    Returns
    -------
    Corrected
        Of the differences by item: what makes an item hard for both drops out.

    Notes
    -----
    As `ppi_mean` of the differences. Two intervals that overlap say nothing; this one decides.
    """
    moved = [
        floats(second, argument=name) - floats(first, argument=name)
        for name, (first, second) in (("gold", _same(gold)), ("judge", _same(judge)), ("rest", _same(rest)))
    ]
    return ppi_mean(
        *moved, clusters=clusters, rest_clusters=rest_clusters, level=level, quantiles=quantiles, bounds=None
    )


def _same(pair: tuple[ArrayLike, ArrayLike]) -> tuple[ArrayLike, ArrayLike]:
    first, second = len(np.asarray(pair[0])), len(np.asarray(pair[1]))
    if first != second:
        raise UsageError(f"the two systems have {first} and {second} items; give both for each item")
    return pair


def _averaged(
    known: Floats,
    said: Floats,
    others: Floats,
    clusters: Sequence[Hashable],
    rest_clusters: Sequence[Hashable] | None,
) -> tuple[Floats, Floats, Floats]:
    """Each cluster's means; clusters with a known answer are no part of the rest."""
    if rest_clusters is None and len(others):
        raise UsageError("`clusters` needs `rest_clusters` too: what each of the other rows belongs to")
    golden, names = cluster_means(known, clusters)
    judged, _ = cluster_means(said, clusters)
    means, of = cluster_means(others, () if rest_clusters is None else rest_clusters)
    with_gold = set(names)
    return golden, judged, means[[cluster not in with_gold for cluster in of]]


def _best_lam(known: Floats, said: Floats, everything: Floats, ratio: float) -> float:
    spread = float(everything.var(ddof=1)) if np.ptp(everything) > 0 else 0.0  # of equal numbers it may be rounding's
    if spread == 0:
        return 0.0
    together = float(((known - known.mean()) * (said - said.mean())).mean())
    return min(1.0, max(0.0, together / ((1 + ratio) * spread)))


def _error(values: Floats, *, small: bool) -> float:
    """Standard error of a mean; of few values their variance is for a mean and a slope learnt from them."""
    n = len(values)
    freedom = max(n - 2, 1) if small else n
    return math.sqrt(float(values.var()) / freedom)


def _no_interval(known: Floats, error: float, *, small: bool) -> str:
    n = len(known)
    if n < 3 and small:  # noqa: PLR2004 - a mean and a slope are learnt
        return f"no interval from {n} known {'answer' if n == 1 else 'answers'}: label more rows"
    if np.ptp(known) == 0:
        return "no interval: all known answers are the same; label more rows"
    return "" if error else "no interval: nothing varies"


def _nothing_left(clusters: object) -> str:
    """Why the known answers stand alone."""
    if clusters is None:
        return "every row has a known answer: nothing is left to correct"
    return "every cluster has a known answer, so these stand alone: other rows of their clusters don't count"


def _rare(known: Floats, everything: Floats) -> str:
    """Of a share; differences go below 0."""
    if not np.isin(known, (0.0, 1.0)).all() or everything.min() < 0:
        return ""
    rarer = int(min(known.sum(), len(known) - known.sum()))
    if rarer >= FEW_OF_A_CLASS:
        return ""
    return f"only {rarer} known answers are of the rarer class, so the interval may be too narrow"


def _agreed(known: Floats, said: Floats) -> str:
    """Errors that nobody saw may still be there, and the variance doesn't know of them."""
    if not np.array_equal(known, said):
        return ""
    n = len(known)
    return f"the judge is right in all {n:,} known rows: errors in up to {3 / n:.1%} of rows (3/n) may go unseen"
