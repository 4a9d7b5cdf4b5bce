"""How strong systems are, by which of two was better."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import CELLS, DRAWS, Resampling
from llmframe.stats.estimate import Estimate
from llmframe.stats.pair_wins import likeliest, reached_by

Floats = NDArray[np.float64]

WON: Final = 1.0
TIED: Final = 0.5
LOST: Final = 0.0

NAMED: Final = 5
"""Systems that an error names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Systems from the strongest on; every tuple is in their order.

    Attributes
    ----------
    systems
        Their names.
    strength
        Log-strengths with mean 0: one system beats another with the probability 1 / (1 + exp(-difference)).
    win_rate
        Probability of beating another one of the systems, each as likely to be met; a tie is half a win.
    comparisons, won, tied
        What was counted: comparisons of each, those it won, those without a winner.
    draws
        Strengths by each draw of the bootstrap, shape (draws, systems); nan where they have no bound.
    """

    systems: tuple[Hashable, ...]
    strength: tuple[Estimate, ...]
    win_rate: tuple[Estimate, ...]
    comparisons: tuple[int, ...]
    won: tuple[int, ...]
    tied: tuple[int, ...]
    draws: Floats = field(repr=False, compare=False)
    sampling: Resampling = field(repr=False, compare=False)

    def difference(self, one: Hashable, other: Hashable) -> Estimate:
        """The first system's log-strength less the other's, by the same draws; above 0 where the first is stronger."""
        for name in (one, other):
            if name not in self.systems:
                raise UsageError(f"no system {name!r} is ranked; ranked: {list(self.systems)}")
        first, second = self.systems.index(one), self.systems.index(other)
        value = self.strength[first].value - self.strength[second].value
        return _interval(self.sampling, value, self.draws[:, first] - self.draws[:, second])


def bradley_terry(  # noqa: PLR0913 - the facts of a ranking
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    wins: Sequence[float] | Floats,
    *,
    clusters: Sequence[Hashable] | None = None,
    prior: float = 0.0,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Strengths:
    """Bradley and Terry's strengths of systems that met in pairs, with their intervals.

    Parameters
    ----------
    a, b
        The two systems of each comparison.
    wins
        1 where `a` won, 0 where `b` did, 0.5 for a tie, which is half a win each way.
    clusters
        What each comparison belongs to, such as the item that both systems answered: comparisons of a cluster are
        drawn together. `None`: each is its own.
    prior
        Wins that are added each way to every pair that met, 0 or more. It keeps the strength of a system that always
        won in bounds.
    draws, seed, level
        Of the bootstrap over clusters, as in `llmframe.stats.bootstrap.bootstrap`.

    Raises
    ------
    UsageError
        If there is no comparison, one of a system with itself, or the strengths can't be told: some systems never met
        the others, not even by way of third ones; or without a `prior` some never lost to the others.

    Notes
    -----
    Bradley and Terry (1952), Biometrika 39, p. 324; strengths exist under Ford's condition (1957), American
    Mathematical Monthly 64, p. 28: however the systems are split in two, each part has beaten the other. They are the
    likeliest ones, found by Newton's method. Draws that break the condition are left out of the intervals and counted
    in their `reason`.
    """
    systems, first, second, scores = _checked(a, b, wins, prior)
    size = len(systems)
    counts, features, pairs = _wins(first, second, scores, size)
    met = (counts + counts.T) > 0
    _check_met(systems, met)
    extra = np.where(met, float(prior), 0.0)
    if not prior:
        _check_bounds(systems, counts)
    found = likeliest((counts + extra)[None])[0]
    sampling = Resampling.of(len(scores), clusters=clusters, draws=draws, seed=seed, level=level)
    drawn = _drawn(sampling, features, pairs, extra) if sampling.size > 1 else np.zeros((0, size))
    order: list[int] = np.argsort(-found, kind="stable").tolist()
    found, drawn = found[order], drawn[:, order]
    rates, drawn_rates = _win_rates(found[None])[0], _win_rates(drawn)
    ties = scores == TIED
    return Strengths(
        systems=tuple(systems[at] for at in order),
        strength=tuple(_interval(sampling, float(found[at]), drawn[:, at]) for at in range(size)),
        win_rate=tuple(_interval(sampling, float(rates[at]), drawn_rates[:, at]) for at in range(size)),
        comparisons=tuple(int(np.sum((first == at) | (second == at))) for at in order),
        won=tuple(int(np.sum(((first == at) & (scores == WON)) | ((second == at) & (scores == LOST)))) for at in order),
        tied=tuple(int(np.sum(((first == at) | (second == at)) & ties)) for at in order),
        draws=drawn,
        sampling=sampling,
    )


def _checked(
    a: Sequence[Hashable], b: Sequence[Hashable], wins: Any, prior: float
) -> tuple[list[Hashable], NDArray[np.int64], NDArray[np.int64], Floats]:
    """Systems in order of their coming, the places of both sides, and the scores of the first."""
    scores = np.asarray(wins, dtype=np.float64)
    if not len(a) == len(b) == len(scores):
        raise UsageError(f"`a`, `b` and `wins` are of equal length, got {len(a)}, {len(b)} and {len(scores)}")
    if not len(scores):
        raise UsageError("there is no comparison with a verdict, so nothing can be ranked")
    strange = [score for score in scores.tolist() if score not in (WON, TIED, LOST)]
    if strange:
        raise UsageError(f"`wins` are 1, 0, or 0.5 for a tie, got {strange[0]!r}; leave out what has no verdict")
    if not prior >= 0 or not np.isfinite(prior):
        raise UsageError(f"`prior` is a number of wins, 0 or more, got {prior!r}")
    places: dict[Hashable, int] = {}
    first = np.array([places.setdefault(name, len(places)) for name in a], dtype=np.int64)
    second = np.array([places.setdefault(name, len(places)) for name in b], dtype=np.int64)
    systems = list(places)
    own = np.flatnonzero(first == second)
    if len(own):
        raise UsageError(f"{len(own)} comparisons are of {a[int(own[0])]!r} with itself; leave them out")
    return systems, first, second, scores


def _wins(
    first: NDArray[np.int64], second: NDArray[np.int64], scores: Floats, size: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Wins of each over each; the same by comparison, for the directed pairs that occur, whose places come third."""
    pairs, where = np.unique(np.concatenate([first * size + second, second * size + first]), return_inverse=True)
    features = np.zeros((len(scores), len(pairs)))
    rows = np.arange(len(scores))
    features[rows, where[: len(scores)]] = scores
    features[rows, where[len(scores) :]] = 1 - scores
    counts = np.zeros(size * size)
    counts[pairs] = features.sum(axis=0)
    return counts.reshape(size, size), features, pairs


def _check_met(systems: Sequence[Hashable], met: NDArray[np.bool_]) -> None:
    reached = reached_by(met[None])[0, 0]
    if not reached.all():
        one = [name for name, there in zip(systems, reached, strict=True) if there]
        rest = [name for name, there in zip(systems, reached, strict=True) if not there]
        raise UsageError(
            f"systems {_named(one)} never met {_named(rest)}, not even by way of others, so nothing compares them; "
            "judge pairs that join them, or rank each group by itself"
        )


def _check_bounds(systems: Sequence[Hashable], counts: Floats) -> None:
    """Raise where a part of the systems never lost to the rest: its strength has no bound."""
    reached = reached_by(counts[None] > 0)[0]  # [i, j]: i has beaten j, or somebody who has reached it
    if reached.all():
        return
    lost_to = reached.T  # those that have reached i
    best = int(np.argmin(lost_to.sum(axis=1)))
    above = [name for name, there in zip(systems, lost_to[best], strict=True) if there]
    below = [name for name, there in zip(systems, lost_to[best], strict=True) if not there]
    raise UsageError(
        f"systems {_named(above)} never lost to {_named(below)}, so how much stronger they are has no bound; judge "
        "more pairs, or give `prior=0.5`, half a win more each way for every pair that met"
    )


def _drawn(sampling: Resampling, features: Floats, pairs: NDArray[np.int64], extra: Floats) -> Floats:
    """Strengths by each draw; nan where some never lost to the rest."""
    size = len(extra)
    sums = sampling.resums(features)
    out = np.full((len(sums), size), np.nan)
    chunk = max(1, CELLS // (size * size))
    for start in range(0, len(sums), chunk):
        part = sums[start : start + chunk]
        wins = np.zeros((len(part), size * size))
        wins[:, pairs] = part
        wins = wins.reshape(-1, size, size) + extra
        bounded = np.flatnonzero(reached_by(wins > 0).all(axis=(1, 2)))
        if len(bounded):
            out[start + bounded] = likeliest(wins[bounded])
    return out


def _win_rates(theta: Floats) -> Floats:
    """Mean probability of beating another system; shape as `theta`, nan where that is."""
    rates = np.full_like(theta, np.nan)
    known = theta[~np.isnan(theta).any(axis=1)]
    for at in range(theta.shape[1]):  # one system at a time: all at once would hold draws × k × k
        others = np.delete(known, at, axis=1)
        rates[~np.isnan(theta[:, at]), at] = np.exp(-np.logaddexp(0.0, others - known[:, [at]])).mean(axis=1)
    return rates


def _interval(sampling: Resampling, value: float, drawn: Floats) -> Estimate:
    found = sampling.interval(value, drawn)
    lost = int(np.isnan(drawn).sum())
    if not lost:
        return found
    left = "there is no interval" if math.isnan(found.low) else "they are left out and the interval may be too narrow"
    reason = f"in {lost:,} of {len(drawn):,} draws some systems never lost to the others, so {left}"
    return replace(found, reason=f"{reason}: judge more pairs, or give `prior=0.5`")


def _named(systems: Sequence[Hashable]) -> str:
    shown = ", ".join(map(repr, systems[:NAMED]))
    return shown if len(systems) <= NAMED else f"{shown} and {len(systems) - NAMED} more"
