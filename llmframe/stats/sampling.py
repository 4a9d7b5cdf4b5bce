"""Rows picked by chance, each with the probability by which it was."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llmframe.errors import UsageError

FLOOR: Final = 0.2
"""Least probability, in parts of that of a plain random sample: no picked row counts more than five times as much."""

EXACT: Final = 1e-12
"""Relative error of the factor between weights and probabilities; what is left is scaled away."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A sample.

    Attributes
    ----------
    rows
        Places of the picked rows, in random order, so that whoever stops early has looked at a random part.
    probabilities
        By which each of all rows was picked, in (0, 1]; shape (rows in all,).
    """

    rows: tuple[int, ...]
    probabilities: tuple[float, ...]


def pick_evenly(rows: int, budget: int, *, seed: int = 0) -> Picked:
    """A plain random sample: every row with the same probability.

    Parameters
    ----------
    rows
        How many there are.
    budget
        How many are picked, between 1 and `rows`.
    seed
        Decides which.
    """
    _check(rows, budget)
    chosen = np.random.default_rng(seed).permutation(rows)[:budget]
    return Picked(rows=tuple(chosen.tolist()), probabilities=(budget / rows,) * rows)


def pick_by_stratum(strata: Sequence[Hashable], budget: int, *, seed: int = 0) -> Picked:
    """As many rows of each stratum as go, each stratum's by plain chance; small ones are taken whole.

    Parameters
    ----------
    strata
        What each row belongs to.
    budget
        How many are picked, at least one a stratum.
    seed
        Decides which.

    Raises
    ------
    UsageError
        If the budget is larger than the rows or smaller than the strata.
    """
    _check(len(strata), budget)
    places: dict[Hashable, list[int]] = {}
    for at, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(at)
    if budget < len(places):
        raise UsageError(
            f"`budget` of {budget:,} is less than a row for each of {len(places):,} strata, and a stratum without any "
            "can't be told about; raise it, or take fewer strata"
        )
    random = np.random.default_rng(seed)
    chances = np.ones(len(strata))
    chosen: list[int] = []
    left = budget
    # the smallest first, so that what a small stratum leaves goes to the larger ones
    for done, members in enumerate(sorted(places.values(), key=len)):
        share = min(len(members), left // (len(places) - done))
        left -= share
        chances[members] = share / len(members)
        chosen += [members[at] for at in random.permutation(len(members))[:share].tolist()]
    return Picked(rows=tuple(random.permutation(chosen).tolist()), probabilities=tuple(chances.tolist()))


def pick_by_weight(weights: ArrayLike, budget: int, *, floor: float = FLOOR, seed: int = 0) -> Picked:
    """Rows with probabilities in proportion to weights, such as expected errors.

    Parameters
    ----------
    weights
        At least 0; shape (rows,).
    budget
        How many are picked, between 1 and the rows.
    floor
        Least probability in parts of `budget / rows`, in (0, 1]; 1 is a plain random sample. Without one, a row that
        is never expected to be wrong could not be found to be.
    seed
        Decides which.

    Raises
    ------
    UsageError
        If a weight is negative or no number, or an argument is out of range.

    Notes
    -----
    Systematic sampling in random order (Madow 1949, Annals of Mathematical Statistics 20, p. 333; Hartley and Rao 1962,
    same 33, p. 350): exactly `budget` rows, each with exactly its probability.
    """
    given = np.asarray(weights, dtype=np.float64)
    _check(len(given), budget)
    if not (np.isfinite(given) & (given >= 0)).all():
        raise UsageError("`weights` are numbers from 0 on; give rows of which nothing is known the average")
    if not 0 < floor <= 1:
        raise UsageError(f"`floor` is above 0 and at most 1, got {floor!r}")
    chances = _in_proportion(given, budget, floor * budget / len(given))
    random = np.random.default_rng(seed)
    order = random.permutation(len(given))
    steps = np.cumsum(chances[order])
    # rounding may leave the last step a hair off the budget
    steps *= budget / steps[-1]
    at = np.searchsorted(steps, random.random() + np.arange(budget), side="right")
    chosen = random.permutation(order[np.minimum(at, len(given) - 1)])
    return Picked(rows=tuple(chosen.tolist()), probabilities=tuple(chances.tolist()))


def _in_proportion(weights: Floats, budget: int, least: float) -> Floats:
    """Probabilities with sum `budget`, in proportion to weights between `least` and 1."""
    if not weights.sum() or budget == len(weights):
        return np.full(len(weights), budget / len(weights))
    # a weight of 0 has a tiny one, so that any budget can be spent
    weights = np.maximum(weights, 1e-9 * weights.max())
    low, high = 0.0, 1 / weights.min()
    while high - low > EXACT * high:
        middle = (low + high) / 2
        enough = np.clip(weights * middle, least, 1).sum() >= budget
        low, high = (low, middle) if enough else (middle, high)
    chances = np.clip(weights * high, least, 1)
    # what is neither at the floor nor at 1 carries the rounding
    free = (chances > least) & (chances < 1)
    if free.any():
        chances[free] *= (budget - chances[~free].sum()) / chances[free].sum()
    return np.minimum(chances, 1.0)


def _check(rows: int, budget: int) -> None:
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`budget` is how many rows are picked, a whole number from 1 on, got {budget!r}")
    if budget > rows:
        raise UsageError(f"`budget` is {budget:,}, and there are {rows:,} rows to pick from; lower it")
