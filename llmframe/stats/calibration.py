"""How calibrations are learnt from confidences and what was right."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.curves import FLOOR, logit
from llmframe.stats.extra import missing
from llmframe.stats.reliability_bins import checked

HOTTEST: Final = 100.0
"""Highest temperature that is tried; the lowest is one over it."""

WEAKEST_PENALTY: Final = 1e6
"""scikit-learn's C: the penalty on the slope is as good as none."""


def fit_temperature(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """The temperature on the logit of the confidence with the least log loss of right or wrong.

    Parameters
    ----------
    confidences
        In [0, 1]; they are held `FLOOR` away from both ends.
    right
        Whether each answer is right.

    Returns
    -------
    float
        In [1 / `HOTTEST`, `HOTTEST`]; above 1 where confidences are too high.

    Raises
    ------
    UsageError
        If there is no answer, lengths differ, or a confidence isn't in [0, 1].
    MissingExtraError
        Without scipy.

    Notes
    -----
    Guo et al. (2017), ICML, section 4.2. The loss is convex in 1 / T, hence it has one minimum in log T.
    """
    sure = _answers(confidences, right)
    return fit_distribution_temperature([(each, 1.0 - each) for each in sure], [not hit for hit in right])


def fit_distribution_temperature(distributions: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """The temperature on whole distributions with the least log loss of the gold label.

    Parameters
    ----------
    distributions
        Of every item its labels' probabilities, as many for each; those below `FLOOR` count as that.
    gold
        Of every item the place of the right label.

    Returns
    -------
    float
        In [1 / `HOTTEST`, `HOTTEST`].

    Raises
    ------
    UsageError
        If there is no item, or lengths differ.
    MissingExtraError
        Without scipy.
    """
    if not len(distributions) or len(distributions) != len(gold):
        raise UsageError(
            f"`distributions` has {len(distributions)} items and `gold` {len(gold)}; give both for each of some items"
        )
    try:
        from scipy import optimize  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("calibrating", "scipy") from None
    logs: Any = np.log(np.maximum(np.asarray(distributions, dtype=float), FLOOR))
    logs = logs - logs[np.arange(len(gold)), np.asarray(gold, dtype=int)][:, None]  # the gold label's is 0

    def loss(log_temperature: float) -> float:
        scaled = logs * math.exp(-log_temperature)
        highest = scaled.max(axis=1)
        return float((highest + np.log(np.exp(scaled - highest[:, None]).sum(axis=1))).mean())

    edge = math.log(HOTTEST)
    search: Any = optimize
    found = search.minimize_scalar(loss, bounds=(-edge, edge), method="bounded", options={"xatol": 1e-9})
    return math.exp(float(found.x))


def fit_platt(confidences: Sequence[float], right: Sequence[bool]) -> tuple[float, float]:
    """Slope and intercept on the logit of the confidence, with the least log loss of right or wrong.

    Parameters
    ----------
    confidences
        In [0, 1]; they are held `FLOOR` away from both ends.
    right
        Whether each answer is right.

    Returns
    -------
    tuple of float
        The slope is 0 or above: where confidences run against what is right, they say nothing, and the curve is flat.

    Raises
    ------
    UsageError
        As `fit_temperature`.
    MissingExtraError
        Without scikit-learn.

    Notes
    -----
    Platt (1999), Advances in Large Margin Classifiers, p. 61, with his targets (n + 1) / (n + 2) and 1 / (n + 2)
    instead of 1 and 0, so that separable items have a finite slope. Computed by scikit-learn's logistic regression.
    """
    try:
        from sklearn import linear_model  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("calibrating", "scikit-learn") from None
    models: Any = linear_model
    sure = _answers(confidences, right)
    hits = sum(right)
    high, low = (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2)
    targets = [high if hit else low for hit in right]
    logits = [logit(each) for each in sure]
    middle = math.fsum(logits) / len(logits)
    spread = math.sqrt(math.fsum((each - middle) ** 2 for each in logits) / len(logits))
    if spread > 0:
        # each item counts as right with its target and as wrong with the rest; scaled, so that the solver gets there
        points = [[(each - middle) / spread] for each in logits]
        model = models.LogisticRegression(C=WEAKEST_PENALTY, tol=1e-9, max_iter=1000)
        weights = [*targets, *(1 - each for each in targets)]
        model.fit([*points, *points], [1] * len(points) + [0] * len(points), sample_weight=weights)
        slope = float(model.coef_[0][0]) / spread
        if slope > 0:
            return slope, float(model.intercept_[0]) - slope * middle
    return 0.0, logit(math.fsum(targets) / len(targets))


def fit_isotonic(confidences: Sequence[float], right: Sequence[bool]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Knots and heights of the rising curve with the least squared error to right (1) or wrong (0).

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.

    Returns
    -------
    tuple of tuple of float
        Confidences, ascending, and the height at each, in [0, 1]; between them the curve is a line.

    Raises
    ------
    UsageError
        As `fit_temperature`.
    MissingExtraError
        Without scikit-learn.

    Notes
    -----
    Zadrozny, Elkan (2002), KDD, p. 694. Computed by scikit-learn.
    """
    try:
        from sklearn import isotonic  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("calibrating", "scikit-learn") from None
    models: Any = isotonic
    model = models.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(_answers(confidences, right), [float(hit) for hit in right])
    return tuple(map(float, model.X_thresholds_)), tuple(map(float, model.y_thresholds_))


def grouped_folds(groups: Sequence[Hashable], *, folds: int, seed: int) -> list[int]:
    """A fold for every item: items of one group share theirs, and folds are about as large.

    Parameters
    ----------
    groups
        Of every item what it shares with its equals.
    folds
        How many folds, at most as many as there are groups.
    seed
        Decides the order of groups of equal size.
    """
    sizes: dict[Hashable, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    order = list(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - parts rows, guards nothing
    order.sort(key=lambda group: -sizes[group])
    filled = [0] * folds
    of: dict[Hashable, int] = {}
    for group in order:
        of[group] = fold = filled.index(min(filled))
        filled[fold] += sizes[group]
    return [of[group] for group in groups]


def _answers(confidences: Sequence[float], right: Sequence[bool]) -> list[float]:
    """The confidences, of some answers at least."""
    sure: list[float] = checked(confidences, right).tolist()
    if not sure:
        raise UsageError("a calibration is learnt from answers that are known to be right or wrong, and there is none")
    return sure
