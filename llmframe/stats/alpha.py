"""Krippendorff's alpha of several raters."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import DRAWS, Floats, Resampling
from llmframe.stats.estimate import Estimate
from llmframe.stats.kappas import perfect_end
from llmframe.stats.pair_counts import sorted_labels
from llmframe.stats.panels import Level, krippendorff_alpha
from llmframe.stats.sequences import known_rows, plain

PAIR: Final = 2
MOST_LEVELS: Final = 50
"""Most levels of an ordinal scale."""

MOST_CELLS: Final = 4_000_000
"""Items × labels² up to which the package computes alpha: it holds several arrays of this size, here 32 MB each."""

Ratings = Sequence[Sequence[Any]]
"""Items × raters; `None` where a rater gave no rating."""


def alpha(  # noqa: PLR0913 - the facts of a bootstrap
    ratings: Ratings,
    *,
    scale: Level = "nominal",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha with its interval, over the items that two raters or more rated.

    Parameters
    ----------
    ratings
        Items × raters; `None` or NaN where a rater gave no rating, or shorter items. Places need not be the same people
        throughout.
    scale
        `"nominal"`, `"ordinal"` or `"interval"`: what a disagreement weighs.
    labels
        Of an ordinal scale all levels from low to high; `None`: as numbers sort.
    clusters
        What each item belongs to; `None`: each is its own.
    draws, seed, level
        Of the bootstrap.

    Returns
    -------
    Estimate
        1 where raters always agree, with the lower end that so many items allow; 0 by chance; nan where there is one
        label only, or no item with two ratings.

    Raises
    ------
    UsageError
        If an argument is out of range, or a rating of an ordinal scale has no place in it.
    MissingExtraError
        Without krippendorff: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Krippendorff (2011), Computing Krippendorff's alpha-reliability; computed by the package `krippendorff` where
    its arrays have room, by the same formula elsewhere.
    """
    ratings, labels = known_rows(ratings), None if labels is None else plain(labels)
    clusters = None if clusters is None else plain(clusters)
    rows = [at for at, item in enumerate(ratings) if raters_of(item) >= PAIR]
    pairable = [ratings[at] for at in rows]
    kept = None if clusters is None else [clusters[at] for at in rows]
    sampling = Resampling.of(len(rows), clusters=kept, draws=draws, seed=seed, level=level)
    order = order_of(pairable, scale, labels)
    value, drawn = alphas(pairable, scale, order, sampling)
    estimate = sampling.interval(value, drawn, reason=why_unknown(value, len(rows)))
    if math.isnan(value) or any(len({each for each in item if each is not None}) > 1 for item in pairable):
        return estimate
    return perfect_end(estimate, sampling=sampling, expected=chance_disagreement(pairable, scale, order))


def nominal_features(ratings: Ratings, labels: Sequence[Any]) -> Floats:
    """What sums are made of, by item: ratings of each label, and pairs that differ, over the ratings less 1."""
    counts = _counts(ratings, labels)
    n = counts.sum(axis=1)
    differing = (n**2 - (counts**2).sum(axis=1)) / np.maximum(n - 1, 1)
    return np.concatenate([counts, differing[:, None]], axis=1)


def nominal_alphas(sums: Floats) -> Floats:
    """Alpha of labels of each sample, from its sums of features."""
    margins, observed = sums[:, :-1], sums[:, -1]
    n = margins.sum(axis=1)
    return _alpha(observed, n**2 - (margins**2).sum(axis=1), n)


def ordinal_features(ratings: Ratings, labels: Sequence[Any]) -> Floats:
    """What sums are made of, by item: pairs of ratings, over the ratings less 1; shape (items, K × K)."""
    counts = _counts(ratings, labels)
    pairs = counts[:, :, None] * counts[:, None, :]
    places = np.arange(len(labels))
    pairs[:, places, places] -= counts
    return (pairs / np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]).reshape(len(ratings), -1)


def ordinal_alphas(sums: Floats) -> Floats:
    """Alpha of levels of each sample, from its sums of features: how far two are depends on what lies between."""
    size = math.isqrt(sums.shape[1])
    pairs = sums.reshape(-1, size, size)
    margins = pairs.sum(axis=2)
    middles = margins.cumsum(axis=1) - margins / 2
    apart = (middles[:, :, None] - middles[:, None, :]) ** 2
    expected = (margins[:, :, None] * margins[:, None, :] * apart).sum(axis=(1, 2))
    return _alpha((pairs * apart).sum(axis=(1, 2)), expected, margins.sum(axis=1))


def interval_features(ratings: Ratings) -> Floats:
    """What sums are made of, by item: ratings, their sum and sum of squares, squared differences within the item."""
    given = [np.array([each for each in item if each is not None], dtype=np.float64) for item in ratings]
    middle = np.concatenate(given).mean() if given else 0.0  # sums of squares far from 0 lose their digits
    rows: list[list[float]] = []
    for item in given:
        moved, n = item - middle, len(item)
        within = 2 * (n * (moved**2).sum() - moved.sum() ** 2) / max(1, n - 1)
        rows.append([n, moved.sum(), (moved**2).sum(), within])
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def interval_alphas(sums: Floats) -> Floats:
    """Alpha of numbers of each sample, from its sums of features."""
    n, total, squares, within = sums.T
    expected = 2 * (n * squares - total**2)
    return _alpha(within, np.where(expected > 1e-12 * n * squares, expected, 0.0), n)


def alphas(ratings: Ratings, scale: Level, order: Sequence[Any], sampling: Resampling) -> tuple[float, Floats]:
    """Alpha of all items, by the package, and of each draw."""
    if len(order) < PAIR:
        return math.nan, np.array([])
    if scale == "ordinal" and len(order) > MOST_LEVELS:
        raise UsageError(
            f"{len(order):,} levels are too many for an ordinal scale, which has up to {MOST_LEVELS}; take them as "
            'numbers: `scale="interval"`'
        )
    of_items: Callable[[], Floats] = {
        "nominal": lambda: nominal_features(ratings, order),
        "ordinal": lambda: ordinal_features(ratings, order),
        "interval": lambda: interval_features(ratings),
    }[scale]
    of_sums = {"nominal": nominal_alphas, "ordinal": ordinal_alphas, "interval": interval_alphas}[scale]
    features = of_items()
    drawn = of_sums(sampling.resums(features))
    if len(ratings) * len(order) ** 2 > MOST_CELLS:
        return float(of_sums(features.sum(axis=0, keepdims=True))[0]), drawn
    return krippendorff_alpha(ratings, order=order, level=scale), drawn


def chance_disagreement(ratings: Ratings, scale: Level, order: Sequence[Any]) -> float:
    """How far two ratings of any items are apart on average, the farthest two being 1 apart; in (0, 1]."""
    margins = _counts(ratings, order).sum(axis=0)
    n = margins.sum()
    if scale == "interval":
        numbers = np.array(order, dtype=np.float64)
        squares = (margins * (numbers - numbers.mean()) ** 2).sum() - (
            margins * (numbers - numbers.mean())
        ).sum() ** 2 / n
        return float(2 * squares / (n - 1) / (numbers.max() - numbers.min()) ** 2)
    middles = margins.cumsum() - margins / 2 if scale == "ordinal" else np.zeros(len(margins))
    apart = (middles[:, None] - middles[None, :]) ** 2 if scale == "ordinal" else 1 - np.eye(len(margins))
    return float(margins @ apart @ margins / (n * (n - 1)) / apart.max())


def order_of(ratings: Ratings, scale: Level, labels: Sequence[Hashable] | None) -> list[Any]:
    """The labels that come, in their order."""
    seen = {each for item in ratings for each in item if each is not None}
    if labels is None:
        text = next((each for each in seen if not isinstance(each, int | float)), None)
        if scale != "nominal" and text is not None:
            raise UsageError(
                f"{text!r} is no number, and texts have no order of their own; name the levels from low to high: "
                "`labels=[...]`"
            )
        return sorted_labels(list(seen))
    other = next((each for each in seen if each not in labels), None)
    if other is not None:
        raise UsageError(f"{other!r} is none of the labels {list(labels)}; name all of them")
    return [label for label in labels if label in seen]


def raters_of(item: Sequence[object]) -> int:
    """How many raters rated an item."""
    return sum(each is not None for each in item)


def why_unknown(value: float, items: int) -> str:
    """Why alpha is nan; empty where it isn't."""
    if not math.isnan(value):
        return ""
    return "all ratings are one and the same" if items else "no item has two ratings"


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    return 1 - np.divide((n - 1) * observed, expected, out=np.full(expected.shape, math.nan), where=expected > 0)


def _counts(ratings: Ratings, labels: Sequence[Any]) -> Floats:
    """How many raters gave each label; shape (items, K)."""
    places = {label: place for place, label in enumerate(labels)}
    counts = np.zeros((len(ratings), len(labels)))
    for at, item in enumerate(ratings):
        for label in item:
            if label is not None:
                counts[at, places[label]] += 1
    return counts
