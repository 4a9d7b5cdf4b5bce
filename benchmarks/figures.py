"""A figure: what was measured in every round, what it should be, and whether it is."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Bound = Literal["at most", "at least"]
Of = Literal["median", "worst"]
LEAST_CHANGE = 0.03  # share of the old value; less isn't called a change, however steady both runs were
LEAST_STEP = 0.005  # as above, for figures near 0


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table. A figure without a target is only told; `note` says why one is missing."""

    name: str
    what: str
    rounds: Sequence[float]
    target: float | None = None
    bound: Bound = "at most"
    of: Of = "median"
    unit: str = "×"
    note: str = ""

    @property
    def measured(self) -> float | None:
        if not self.rounds:
            return None
        if self.of == "worst":
            return min(self.rounds) if self.bound == "at least" else max(self.rounds)
        return statistics.median(self.rounds)

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.target is None:
            return ""
        good = self.measured >= self.target if self.bound == "at least" else self.measured <= self.target
        return "met" if good else "missed"

    def as_json(self) -> dict[str, Any]:
        told = asdict(self) | {"measured": self.measured, "verdict": self.verdict}
        told["rounds"] = [round(value, 6) for value in self.rounds]
        if self.measured is not None:
            told["measured"] = round(self.measured, 6)
        return told


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a scenario found: its figures, and curves for the picture."""

    figures: list[Figure]
    curves: dict[str, Any] = field(default_factory=dict)


def middle_half(rounds: Sequence[float]) -> tuple[float, float]:
    """The quartiles; of one round the round itself."""
    if len(rounds) == 1:
        return rounds[0], rounds[0]
    low, _, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return low, high


def change(old: dict[str, Any], new: dict[str, Any]) -> Literal["better", "worse", ""]:
    """Whether two runs of a figure differ by more than their noise: the middle halves of their rounds don't meet.

    A figure without a target is neither good nor bad.
    """
    was, now = old.get("measured"), new.get("measured")
    if (
        new["target"] is None
        or was is None
        or now is None
        or abs(now - was) <= max(LEAST_CHANGE * abs(was), LEAST_STEP)
    ):
        return ""
    (old_low, old_high), (new_low, new_high) = middle_half(old["rounds"]), middle_half(new["rounds"])
    if old_low <= new_high and new_low <= old_high:
        return ""
    return "better" if (now > was) == (new["bound"] == "at least") else "worse"


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Paired round for round; a missing round on one side ends both."""
    return [a / b for a, b in zip(above, below, strict=False) if b]
