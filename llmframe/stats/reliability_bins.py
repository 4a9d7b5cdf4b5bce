"""Bins of a reliability diagram, each with what was claimed, what was right, and what chance would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError, did_you_mean
from llmframe.stats.proportions import UNKNOWN, Interval, quantile, wilson_interval

Equal = Literal["mass", "width"]
"""Whether bins hold as many items each, or are as wide each on [0, 1]."""

BINS: Final = 10
"""Bins of a calibration error and of its picture."""

DRAWS: Final = 1000
"""Simulated outcomes from which a band is read."""

CELLS: Final = 2_000_000
"""Most simulated numbers that are held at once: 16 MB."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """Items of about the same confidence.

    Attributes
    ----------
    low, high
        Least and greatest confidence among them.
    n, right
        How many they are, and how many of them are right.
    confidence
        Their mean confidence.
    interval
        Of `accuracy`, 95 % (Wilson) unless another level was asked for.
    band
        Where `accuracy` falls as often if every confidence is exactly the chance to be right (consistency band).
    """

    low: float
    high: float
    n: int
    right: int
    confidence: float
    interval: Interval = UNKNOWN
    band: Interval = UNKNOWN

    @property
    def accuracy(self) -> float:
        """Share that is right."""
        return self.right / self.n

    @property
    def consistent(self) -> bool:
        """Whether `accuracy` lies within the band."""
        return self.band.low <= self.accuracy <= self.band.high


def reliability_bins(  # noqa: PLR0913 - the facts of a diagram
    confidences: Sequence[float],
    right: Sequence[bool],
    *,
    bins: int = BINS,
    equal: Equal = "mass",
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[ReliabilityBin, ...]:
    """The bins of a reliability diagram, the least confident first; none without items.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.
    bins
        Most bins; there are fewer where confidences have few values, and none is empty.
    equal
        `"mass"`: about as many items in each. `"width"`: equal parts of [0, 1], each without its upper end but for the
        last.
    level
        Of the Wilson intervals and of the consistency band, in (0, 1).
    draws, seed
        Simulations behind the band, and what decides them.

    Raises
    ------
    UsageError
        If an argument is out of range, or the two sequences aren't of equal length.

    Notes
    -----
    Items of equal confidence stay in one bin, the one in which the first of them falls. The band: Bröcker, Smith
    (2007), Weather and Forecasting 22, p. 651, with the confidences held fixed.
    """
    values, counts, hits = grouped(confidences, right)
    quantile(level)
    if not len(values):
        return ()
    places = bin_places(values, counts, bins=bins, equal=equal)
    tail = (1 - level) / 2
    starts = np.flatnonzero(np.diff(places, prepend=-1))  # places rise with the values
    sizes = np.add.reduceat(counts, starts)
    sums = [np.add.reduceat(drawn, starts, axis=1) for drawn in simulated(values, counts, draws=draws, seed=seed)]
    lows, highs = np.quantile(np.concatenate(sums) / sizes, [tail, 1 - tail], axis=0)
    found: list[ReliabilityBin] = []
    for at, (start, stop) in enumerate(zip(starts, [*starts[1:], len(values)], strict=True)):
        n, successes = int(sizes[at]), int(hits[start:stop].sum())
        found.append(
            ReliabilityBin(
                low=float(values[start]),
                high=float(values[stop - 1]),
                n=n,
                right=successes,
                confidence=float((values[start:stop] * counts[start:stop]).sum() / n),
                interval=wilson_interval(successes, n, level=level),
                band=Interval(float(lows[at]), float(highs[at])),
            )
        )
    return tuple(found)


def grouped(confidences: Sequence[float], right: Sequence[bool]) -> tuple[Floats, Counts, Counts]:
    """Distinct confidences ascending, how many items have each, and how many of those are right.

    Raises
    ------
    UsageError
        If the sequences aren't of equal length, or a confidence isn't in [0, 1].
    """
    given = checked(confidences, right)
    values, places = np.unique(given, return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    hits = np.bincount(places, weights=np.asarray(right, dtype=np.float64), minlength=len(values))
    return values, counts.astype(np.int64), hits.astype(np.int64)


def checked(confidences: Sequence[float], right: Sequence[bool]) -> Floats:
    """The confidences as an array; raises `UsageError` as `grouped` does."""
    if len(confidences) != len(right):
        raise UsageError(
            f"`confidences` has {len(confidences)} entries and `right` {len(right)}; give one of each for every item"
        )
    given: Floats = np.asarray(confidences, dtype=np.float64)
    outside = [each for each in given.tolist() if not 0 <= each <= 1]
    if outside:
        raise UsageError(
            f"`confidences` are in [0, 1], got {outside[0]!r}; leave out items without a confidence, and count them"
        )
    return given


def bin_places(values: Floats, counts: Counts, *, bins: int, equal: Equal) -> Counts:
    """The bin of each distinct confidence, rising; those of equal mass keep equal confidences together."""
    check_bins(bins, equal)
    if equal == "width":
        return np.searchsorted(np.arange(1, bins) / bins, values, side="right").astype(np.int64)
    stops = mass_stops(int(counts.sum()), bins)
    first = np.cumsum(counts) - counts
    return np.searchsorted(stops, first, side="right").astype(np.int64)


def mass_stops(n: int, bins: int) -> Counts:
    """Where each of `bins` parts of `n` items ends; the first ones have an item more where `n` doesn't divide."""
    size, longer = divmod(n, bins)
    numbers = np.arange(1, bins + 1)
    return (numbers * size + np.minimum(numbers, longer)).astype(np.int64)


def simulated(values: Floats, counts: Counts, *, draws: int, seed: int) -> Iterator[Floats]:
    """How many items of each confidence are right if it is their chance: arrays of (some draws, confidences)."""
    if not isinstance(draws, int) or draws < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`draws` is a whole number from 1 on, got {draws!r}")
    random = np.random.default_rng(seed)
    chunk = max(1, CELLS // max(1, len(values)))
    for start in range(0, draws, chunk):
        yield random.binomial(counts, values, size=(min(chunk, draws - start), len(values))).astype(np.float64)


def check_bins(bins: object, equal: object) -> None:
    """Raise `UsageError` where bins can't be made."""
    if not isinstance(bins, int) or bins < 1:
        raise UsageError(f"`bins` is a whole number from 1 on, got {bins!r}")
    if equal not in get_args(Equal):
        raise UsageError(f'`equal` is "mass" or "width", got {equal!r}{did_you_mean(str(equal), get_args(Equal))}')
