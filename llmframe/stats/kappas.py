"""Agreement beyond chance, of counted pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from llmframe.stats.bootstrap import Floats, Resampling
from llmframe.stats.estimate import Estimate
from llmframe.stats.extra import missing
from llmframe.stats.pair_counts import PairCounts
from llmframe.stats.proportions import wilson_interval

NO_ITEM: Final = "no item has both"
ONE_LABEL: Final = "all have one and the same label"
PERFECT: Final = "no item disagrees, so the lower end is Wilson's for the share that agrees"


def scikit_kappa(found: PairCounts, weights: str | None = None) -> float:
    """Cohen's kappa of all items; `weights` is `"linear"` or `"quadratic"`."""
    try:
        from sklearn import metrics  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("Cohen's kappa", "scikit-learn") from None
    scores: Any = metrics
    every = list(range(len(found.labels)))
    return float(
        scores.cohen_kappa_score(found.gold, found.pred, labels=every, weights=weights, sample_weight=found.counts[0])
    )


def kappas(counts: PairCounts, weights: Floats | None = None) -> Floats:
    """Cohen's kappa of each sample, weighted by disagreements `weights` (K × K), or all alike; nan for one label."""
    gold, pred, total = counts.of_gold, counts.of_pred, counts.total
    with np.errstate(divide="ignore", invalid="ignore"):
        if weights is None:
            observed = 1 - counts.agreed / total
            expected = 1 - (gold * pred).sum(axis=1) / total**2
        else:
            observed = counts.counts @ weights[counts.gold, counts.pred] / total
            expected = ((gold @ weights) * pred).sum(axis=1) / total**2
        return np.where(expected > 0, 1 - observed / expected, math.nan)


def ac1s(counts: PairCounts) -> Floats:
    """Gwet's AC1 of each sample; nan where there is a single label to choose."""
    size = len(counts.labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = (counts.of_gold + counts.of_pred) / (2 * counts.total[:, None])
        chance = (parts * (1 - parts)).sum(axis=1) / (size - 1) if size > 1 else np.full(len(parts), math.nan)
        return (counts.agreed / counts.total - chance) / (1 - chance)


def perfect_end(estimate: Estimate, *, sampling: Resampling, expected: float) -> Estimate:
    """A chance-corrected 1 with the lower end that its number of items allows.

    Samples drawn from items that all agree agree themselves, which says nothing. By Wilson's interval a share of up to
    1 - low of all items may disagree; `expected` is the disagreement by chance, whose worst case has the weight 1.
    """
    low = wilson_interval(sampling.size, sampling.size, level=sampling.level).low
    return replace(estimate, low=1 - (1 - low) / expected, high=1.0, reason=PERFECT)
