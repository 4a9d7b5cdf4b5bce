"""How well confidences meet what was right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from llmframe.stats.curves import FLOOR

BINS: Final = 10
"""Bins of the expected calibration error."""


def log_loss(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Mean negative natural logarithm of the probability given to what happened; nan without items.

    A confidence is held `FLOOR` away from 0 and 1, so that one wrong certainty costs 13.8 and not everything.
    """
    if not confidences:
        return math.nan
    given = (each if hit else 1.0 - each for each, hit in zip(confidences, right, strict=True))
    return math.fsum(-math.log(min(max(each, FLOOR), 1.0 - FLOOR)) for each in given) / len(confidences)


def brier(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Mean squared difference between confidence and right (1) or wrong (0); nan without items.

    Notes
    -----
    Brier (1950), Monthly Weather Review 78, p. 1, of one event.
    """
    if not confidences:
        return math.nan
    return math.fsum((each - hit) ** 2 for each, hit in zip(confidences, right, strict=True)) / len(confidences)


def calibration_error(confidences: Sequence[float], right: Sequence[bool], *, bins: int = BINS) -> float:
    """Expected calibration error over bins of equal size; nan without items.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.
    bins
        How many; the first ones have an item more where the number doesn't divide.

    Returns
    -------
    float
        Mean over items of the distance between accuracy and mean confidence of their bin.

    Notes
    -----
    Naeini, Cooper, Hauskrecht (2015), AAAI, with bins of equal mass. Items of equal confidence count as their mean, so
    that the order of the rows doesn't matter where a bin ends among them. Above 0 by chance even where all is well.
    """
    n = len(confidences)
    if not n:
        return math.nan
    pairs: list[tuple[float, float]] = []
    for confidence, same in groupby(sorted(zip(confidences, right, strict=True)), key=lambda pair: pair[0]):
        hits = [hit for _, hit in same]
        pairs += [(confidence, sum(hits) / len(hits))] * len(hits)
    size, longer = divmod(n, bins)
    start, total = 0, 0.0
    for number in range(bins):
        part = pairs[start : start + size + (number < longer)]
        start += len(part)
        total += abs(math.fsum(confidence - hit for confidence, hit in part))
    return total / n
