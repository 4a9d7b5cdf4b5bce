"""Means corrected by known answers that were picked with unequal, known probabilities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from llmframe.stats.guards import few_clusters, few_gold


def weighted_mean(  # noqa: PLR0913 - the facts of an estimate
    judge: ArrayLike,
    gold: ArrayLike,
    probability: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> Corrected:
    """The mean that all rows would have if each was known, from known answers picked by known probabilities.

    Parameters
    ----------
    judge
        The judge's answers to all rows, shape (N,): scores, 0 or 1 for a label, or probabilities.
    gold
        Known answers, shape (N,); nan where the row wasn't picked.
    probability
        By which each row was picked, in (0, 1]; what stands at rows that weren't picked is never read.
    clusters
        What each row belongs to: terms are averaged over a cluster first, so that each cluster counts once. `None`:
        each row is its own.
    level
        Two-sided coverage, in (0, 1).
    bounds
        Least and greatest value of the mean; the interval is cut there.

    Returns
    -------
    Corrected
        `gold` is the known answers weighted by 1 / probability alone, without the judge. nan without known answers.

    Raises
    ------
    UsageError
        If a known row's probability isn't in (0, 1], lengths differ or a number isn't finite.
    MissingExtraError
        Without scipy, below 100 known answers.

    Notes
    -----
    mean = mean(F + known / probability (Y - F)); its standard error is the standard deviation of those terms over the
    root of their number. Gligoric et al. (2024), arXiv 2408.15204; without the judge it's Horvitz and Thompson (1952),
    JASA 47, p. 663, over the sum of the weights (Hajek). A sample of fixed size makes it a little too wide.

    Examples
    --------
    >>> found = weighted_mean([0, 1, 1, 0], [math.nan, 1, 0, math.nan], [0.25, 0.75, 0.75, 0.25])
    >>> print(f"{found.estimate.value:.3f}")
    0.167
    """
    said, known = floats(judge, argument="judge"), np.asarray(gold, dtype=np.float64)
    chance = np.asarray(probability, dtype=np.float64)
    if not known.shape == chance.shape == said.shape:
        raise UsageError(
            f"`judge` has {said.shape[0]} values, `gold` {known.size}, `probability` {chance.size}; give one for "
            "each row, nan where a row wasn't picked"
        )
    picked = np.isfinite(known)
    _check_chances(chance[picked])
    n = int(picked.sum())
    terms = said.copy()
    terms[picked] += (known[picked] - said[picked]) / chance[picked]
    naive = bounded(mean_estimate(said, level=level, what="answer of the judge"), bounds)
    if not n:
        nobody = unknown("there is no known answer", level=level)
        return Corrected(estimate=nobody, gold=nobody, naive=naive, rest=len(said))
    groups = np.arange(len(said)) if clusters is None else _codes(clusters, len(said))
    weights = 1 / (chance * np.bincount(groups)[groups])[picked]
    alone, spread = _without_judge(known[picked], weights, groups[picked], level)
    notes: list[str] = []
    if clusters is not None:
        terms, _ = cluster_means(terms, clusters)
        naive = bounded(mean_estimate(cluster_means(said, clusters)[0], level=level), bounds)
        notes.append(few_clusters(len(np.unique(groups[picked]))))
    value, error = float(terms.mean()), float(terms.std()) / math.sqrt(len(terms))
    full = Estimate(value=value, n=n, level=level)
    if n == 1 or error == 0:
        why = "no interval from 1 known answer: label more rows" if n == 1 else "no interval: nothing varies"
        estimate = replace(full, reason=why)
        return Corrected(
            estimate=bounded(estimate, bounds), gold=bounded(alone, bounds), naive=naive, n=n, rest=len(said) - n
        )
    half = spread_quantile(level, n - 1) * error
    notes += [few_gold(n), _narrow(known[picked], said[picked])]
    if alone.high - alone.low < 2 * half:
        notes.append("the judge is of no help: the known answers alone have the narrower interval")
    estimate = replace(full, low=value - half, high=value + half, reason="; ".join(filter(None, notes)))
    return Corrected(
        estimate=bounded(estimate, bounds),
        gold=bounded(alone, bounds),
        naive=naive,
        se=error,
        n=n,
        rest=len(said) - n,
        effective_n=spread / error**2,
    )


def _check_chances(chances: Floats) -> None:
    bad = chances[~((chances > 0) & (chances <= 1))]
    if len(bad):
        raise UsageError(
            f"{len(bad)} known rows have a probability outside (0, 1], such as {bad[0].item()!r}: a row that can't be "
            "picked can't be known; pass the probabilities by which rows were picked, and no gold of others"
        )


def _codes(clusters: Sequence[Hashable], n: int) -> NDArray[np.int64]:
    if len(clusters) != n:
        raise UsageError(f"`clusters` has {len(clusters)} entries for {n} rows; give one for each")
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(cluster, len(places)) for cluster in clusters], dtype=np.int64)


def _without_judge(known: Floats, weights: Floats, groups: NDArray[np.int64], level: float) -> tuple[Estimate, float]:
    """The weighted mean of the known answers alone, with its linearised interval, and their weighted variance."""
    total = float(weights.sum())
    value = float((weights * known).sum()) / total
    spread = float((weights * (known - value) ** 2).sum()) / total
    error = math.sqrt(float((np.bincount(groups, weights=weights * (known - value)) ** 2).sum())) / total
    n = len(known)
    if n == 1 or error == 0:
        why = "one known answer has no spread" if n == 1 else "every known answer is the same, so there is no interval"
        return Estimate(value=value, n=n, level=level, reason=why), spread
    half = spread_quantile(level, n - 1) * error
    return Estimate(value=value, low=value - half, high=value + half, n=n, level=level), spread


def _narrow(known: Floats, said: Floats) -> str:
    if not np.array_equal(known, said):
        return ""
    return f"the judge is right in all {len(known):,} known rows: errors that nobody saw may still be there"
