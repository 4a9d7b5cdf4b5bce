"""Curves and weights that turn probabilities into others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

FLOOR: Final = 1e-6
"""Probabilities are held this far from 0 and 1 before a logarithm: no temperature moves a bare 0 or 1."""


def logit(probability: float) -> float:
    """`log(p / (1 - p))` of a probability that is held `FLOOR` away from 0 and 1."""
    held = min(max(probability, FLOOR), 1.0 - FLOOR)
    return math.log(held) - math.log1p(-held)


def sigmoid(value: float) -> float:
    """`1 / (1 + exp(-value))`, for any finite value."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    power = math.exp(value)
    return power / (1.0 + power)


def tempered(probabilities: Sequence[float], temperature: float) -> tuple[float, ...]:
    """Probabilities to the power of `1 / temperature`, with sum 1; those below `FLOOR` count as that.

    Notes
    -----
    Guo et al. (2017), ICML, section 4.2: the softmax of logits over T, where the logits are log-probabilities.
    """
    if temperature == 1.0:
        return tuple(probabilities)
    logs = [math.log(max(each, FLOOR)) / temperature for each in probabilities]
    highest = max(logs)
    powers = [math.exp(each - highest) for each in logs]
    total = sum(powers)
    return tuple(each / total for each in powers)


def reweighted(probabilities: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Probabilities times the weight of their label, with sum 1; empty when nothing has a weight.

    Notes
    -----
    Saerens, Latinne, Decaestecker (2002), Neural Computation 14, equation 2.4: new priors over old ones.
    """
    products = [each * weight for each, weight in zip(probabilities, weights, strict=True)]
    total = sum(products)
    return tuple(each / total for each in products) if total > 0 else ()


def interpolated(value: float, knots: Sequence[float], heights: Sequence[float]) -> float:
    """The height at `value` on the lines between the knots; left and right of them, that of the nearest."""
    after = bisect_right(knots, value)
    if after == 0:
        return heights[0]
    if after == len(knots):
        return heights[-1]
    left, right = knots[after - 1], knots[after]
    part = (value - left) / (right - left)
    return heights[after - 1] * (1.0 - part) + heights[after] * part


def moved(probabilities: Sequence[float], chosen: int, confidence: float) -> tuple[float, ...]:
    """One label's probability replaced, the others in their old proportions; equal ones where they had nothing."""
    others = sum(each for place, each in enumerate(probabilities) if place != chosen)
    rest = 1.0 - confidence
    if others <= 0.0:
        share = rest / max(1, len(probabilities) - 1)
        return tuple(confidence if place == chosen else share for place in range(len(probabilities)))
    return tuple(confidence if place == chosen else each * rest / others for place, each in enumerate(probabilities))
