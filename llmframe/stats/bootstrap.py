"""The percentile bootstrap over items or clusters of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.stats.estimate import Estimate
from llmframe.stats.proportions import quantile

DRAWS: Final = 2000
"""Samples drawn anew for one interval."""

FEW_CLUSTERS: Final = 15
"""Below this many the intervals are too narrow, and it is said."""

CELLS: Final = 4_000_000
"""Most numbers (draws × clusters) that are held at once: 32 MB."""

SAME: Final = 1e-12
"""Draws that are nearer than this are sums of the same numbers in another order."""

Floats = NDArray[np.float64]


def bootstrap(  # noqa: PLR0913 - the facts of a bootstrap
    statistic: Callable[..., float],
    columns: Sequence[Sequence[Any] | NDArray[Any]],
    *,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate:
    """Any statistic of some columns, with its percentile interval.

    Parameters
    ----------
    statistic
        Takes the columns as arrays, returns a number; nan where it can't be told.
    columns
        Arrays or sequences of equal length, an entry for each item.
    clusters
        What each item belongs to: items of a cluster are drawn together. `None`: each is its own.
    draws
        Samples drawn anew, with replacement.
    seed
        Decides the draws.
    level
        Two-sided coverage, in (0, 1).

    Returns
    -------
    Estimate
        The statistic of all items with its interval; without one where there is a single cluster, and with a reason
        below `FEW_CLUSTERS`.

    Raises
    ------
    UsageError
        If the columns aren't of equal length or an argument is out of range.

    Notes
    -----
    Efron (1979), Annals of Statistics 7, p. 1; the interval is Efron's percentile interval. Draws in which the
    statistic can't be told are left out of it. A statistic of counts or sums is faster by `Resampling`.
    """
    arrays = [np.asarray(column) for column in columns]
    if not arrays or any(len(array) != len(arrays[0]) for array in arrays):
        raise UsageError(f"`columns` are one or more of equal length, got lengths {[len(array) for array in arrays]}")
    sampling = Resampling.of(len(arrays[0]), clusters=clusters, draws=draws, seed=seed, level=level)
    if not sampling.n:
        return Estimate(value=math.nan, level=level, reason="no item")
    value = float(statistic(*arrays))
    if math.isnan(value):
        return Estimate(value=value, n=sampling.n, level=level, reason="it can't be told from these items")
    if sampling.size < 2:  # noqa: PLR2004 - nothing to draw from
        return sampling.interval(value, np.array([]))
    places = np.arange(sampling.n)
    samples = (
        np.repeat(places, drawn[sampling.codes]) for counts in sampling.weights() for drawn in counts.astype(int)
    )
    found = [float(statistic(*(array[rows] for array in arrays))) for rows in samples]
    return sampling.interval(value, np.array(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """The same draws for many statistics of the same items.

    Attributes
    ----------
    codes
        The cluster of each item, from 0; shape (n,).
    size
        How many clusters there are.
    draws, seed, level
        As in `bootstrap`.
    """

    codes: NDArray[np.int64]
    size: int
    draws: int = DRAWS
    seed: int = 0
    level: float = 0.95

    @classmethod
    def of(
        cls,
        n: int,
        *,
        clusters: Sequence[Hashable] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
        level: float = 0.95,
    ) -> Resampling:
        """Draws of `n` items, by cluster where `clusters` says theirs."""
        quantile(level)
        if not isinstance(draws, int) or draws < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`draws` is a whole number from 1 on, got {draws!r}")
        if not isinstance(seed, int | np.integer) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            raise UsageError(f"`seed` is a whole number from 0 on, got {seed!r}")
        if clusters is None:
            return cls(codes=np.arange(n), size=n, draws=draws, seed=seed, level=level)
        if len(clusters) != n:
            raise UsageError(f"`clusters` has {len(clusters)} entries for {n} items; give one for each")
        places: dict[Hashable, int] = {}
        codes = np.array([places.setdefault(cluster, len(places)) for cluster in clusters], dtype=np.int64)
        return cls(codes=codes, size=len(places), draws=draws, seed=seed, level=level)

    @property
    def n(self) -> int:
        """Items."""
        return len(self.codes)

    @property
    def few(self) -> str:
        """What intervals of so few clusters suffer from; empty from `FEW_CLUSTERS` on."""
        if self.size >= FEW_CLUSTERS:
            return ""
        return f"only {_clusters(self.size)}: the interval is likely too narrow; take {FEW_CLUSTERS} or more"

    def weights(self) -> Iterator[Floats]:
        """How often each cluster is drawn: arrays of (some draws, clusters), `draws` rows in all."""
        random = np.random.default_rng(self.seed)
        chunk = max(1, CELLS // max(1, self.size))
        for start in range(0, self.draws, chunk):
            rows = min(chunk, self.draws - start)
            drawn = random.integers(0, self.size, size=(rows, self.size))
            places = drawn + np.arange(rows)[:, None] * self.size
            counts = np.bincount(places.ravel(), minlength=rows * self.size)
            yield counts.reshape(rows, self.size).astype(np.float64)

    def summed(self, features: Floats) -> Floats:
        """Sums of every item's features over each cluster; shape (clusters, features)."""
        if self.size == self.n:
            return features
        sums = np.zeros((self.size, features.shape[1]))
        np.add.at(sums, self.codes, features)
        return sums

    def resums(self, features: Floats) -> Floats:
        """Sums of every item's features over each draw; shape (draws, features). No draw where there is no item."""
        sums = self.summed(features)
        if not self.size:
            return np.zeros((0, features.shape[1]))
        return np.concatenate([counts @ sums for counts in self.weights()])

    def interval(self, value: float, found: Floats, *, n: int | None = None, reason: str = "") -> Estimate:
        """`value` with the interval of what the draws gave; draws that gave nan are left out.

        Parameters
        ----------
        value
            The statistic of all items.
        found
            The same of each draw.
        n
            Items it is of; `None`: all.
        reason
            Why it is nan, where it is.
        """
        estimate = Estimate(value=value, n=self.n if n is None else n, level=self.level, reason=reason)
        if math.isnan(value):
            return estimate
        if self.size < 2:  # noqa: PLR2004 - nothing to draw from
            return replace(estimate, reason=reason or f"{_clusters(self.size)}: no interval")
        kept = found[np.isfinite(found)]
        if len(kept) * 2 < len(found):
            return replace(estimate, reason=reason or "no interval: in most draws it can't be told")
        if kept.max() - kept.min() < SAME:
            return replace(estimate, reason=reason or "no interval: it is the same in every draw")
        tail = (1 - self.level) / 2
        low, high = np.quantile(kept, [tail, 1 - tail]).tolist()
        return replace(estimate, low=low, high=high, reason=reason or self.few)


def _clusters(count: int) -> str:
    return "one item or cluster" if count == 1 else f"{count} items or clusters"
