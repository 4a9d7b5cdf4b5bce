"""Durations counted in bins of 2 %, so that a run's quantiles take the same memory for ten requests or ten million."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

GROWTH: Final = 1.02
"""Upper over lower edge of a bin: a quantile is off by at most 1 %."""

SMALLEST: Final = 1e-4
"""Seconds; what is shorter shares the first bin."""

BINS: Final = 932
"""From `SMALLEST` to 10,000 s; what is longer shares the last bin."""

_PER_LOG: Final = 1 / math.log(GROWTH)
_OFFSET: Final = 1 - math.log(SMALLEST) * _PER_LOG


class Histogram:
    """Non-negative durations, in seconds, by logarithmic bin."""

    __slots__ = ("_bins", "count", "longest", "shortest", "total")

    def __init__(self) -> None:
        self._bins = [0] * BINS
        self.count = 0
        self.total = 0.0
        self.shortest, self.longest = math.inf, 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        if seconds > SMALLEST:
            index = int(math.log(seconds) * _PER_LOG + _OFFSET)
            self._bins[index if index < BINS else -1] += 1
        else:
            self._bins[0] += 1
        self.count += 1
        self.total += seconds
        if seconds < self.shortest:  # noqa: PLR1730 - for every request: a call of `min` takes three times as long
            self.shortest = seconds
        if seconds > self.longest:  # noqa: PLR1730 - as above
            self.longest = seconds

    def quantiles(self, levels: Sequence[float]) -> list[float | None]:
        """Nearest-rank quantiles in the order of `levels`, each within 1 %; `None` without a duration.

        Parameters
        ----------
        levels
            Shares in (0, 1].

        Notes
        -----
        The rank's bin is told by its geometric mean, cut to the shortest and longest duration seen: equal durations
        have themselves as quantiles.
        """
        return [self._value(max(1, -int(-level * self.count // 1))) if self.count else None for level in levels]

    def _value(self, rank: int) -> float:
        passed = itertools.accumulate(self._bins)
        index = next(index for index, count in enumerate(passed) if count >= rank)
        middle = SMALLEST * GROWTH ** (index - 0.5) if index else 0.0
        return min(max(middle, self.shortest), self.longest)
