"""Gates: least and most values that numbers of a report card must keep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from llmframe.errors import UsageError, did_you_mean

Side = Literal["min", "max"]

MOST_TOLD: Final = 40
"""Most keys that an error lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenGate:
    """A gate that a card doesn't pass; `str()` is a sentence.

    Attributes
    ----------
    key
        The number, such as `kappa.low`.
    value
        What it is; nan where unknown, which passes no gate.
    bound
        What it must keep.
    side
        `"min"`: at least `bound`; `"max"`: at most.
    reason
        Why the number is unknown, otherwise empty.
    """

    key: str
    value: float
    bound: float
    side: Side
    reason: str = ""

    def __str__(self) -> str:
        """`"kappa.low is 0.412, less than 0.6"`."""
        if math.isnan(self.value):
            why = f" ({self.reason})" if self.reason else ""
            return f"{self.key} is unknown{why}, so it can't be {self._wanted} {self.bound:g}"
        return f"{self.key} is {self.value:.4g}, {'less' if self.side == 'min' else 'more'} than {self.bound:g}"

    @property
    def _wanted(self) -> str:
        return "at least" if self.side == "min" else "at most"


def broken_gates(
    values: Mapping[str, object],
    reasons: Mapping[str, str],
    *,
    least: Mapping[str, float],
    most: Mapping[str, float],
) -> list[BrokenGate]:
    """The gates that `values` don't pass, those of `least` first.

    Parameters
    ----------
    values
        Numbers by key, nan where unknown; texts and `None` are none.
    reasons
        Why keys are unknown, by key.
    least, most
        What numbers must be at least and at most, by key. A number that is equal passes.

    Raises
    ------
    UsageError
        If a key isn't known or isn't a number's, or a bound is no finite number.
    """
    numbers = [key for key, value in values.items() if isinstance(value, int | float)]
    broken: list[BrokenGate] = []
    sides: tuple[tuple[Side, Mapping[str, float]], ...] = (("min", least), ("max", most))
    for side, gates in sides:
        for key, bound in gates.items():
            _check(key, bound, numbers, side=side)
            value = float(cast("float", values[key]))
            if not (value >= bound if side == "min" else value <= bound):
                why = reasons.get(key, "") if math.isnan(value) else ""
                broken.append(BrokenGate(key=key, value=value, bound=float(bound), side=side, reason=why))
    return broken


def _check(key: str, bound: object, numbers: list[str], *, side: Side) -> None:
    if key not in numbers:
        near = did_you_mean(str(key), numbers)
        stems = [each for each in numbers if not each.endswith((".low", ".high"))]
        more = f" and {len(stems) - MOST_TOLD} more" if len(stems) > MOST_TOLD else ""
        raise UsageError(
            f"`{side}` has {key!r}, which is no number of this card{near or ';'} numbers, many with .low and .high: "
            f"{', '.join(stems[:MOST_TOLD])}{more}"
        )
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        raise UsageError(f"`{side}` of {key!r} must be a finite number, got {bound!r}")
