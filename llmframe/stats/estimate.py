"""One number with what it is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its interval.

    Attributes
    ----------
    value
        The number; nan where it can't be told.
    low, high
        Ends of the interval; nan where there is none.
    n
        Items the number is of.
    level
        Two-sided coverage of the interval, in (0, 1).
    reason
        Why something is nan, or what the interval suffers from; otherwise empty.

    Examples
    --------
    >>> print(Estimate(value=0.62, low=0.51, high=0.71, n=80))
    0.62 (0.51 to 0.71)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = 0.95
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown or infinite is `None`."""
        return {
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "n": self.n,
            "level": self.level,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """`"0.62 (0.51 to 0.71)"`; `"unknown"` without a number, `"0.62"` without an interval."""
        if not self.known:
            return "unknown"
        if math.isnan(self.low) or math.isnan(self.high):
            return _short(self.value)
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"


def unknown(reason: str, *, n: int = 0, level: float = 0.95) -> Estimate:
    """No number, and why."""
    return Estimate(value=math.nan, n=n, level=level, reason=reason)


def _short(number: float) -> str:
    """Two digits after the point; three where these would be 0.0x, or a 1 that it isn't."""
    digits = 3 if 0 < abs(number) < 0.1 or 0.995 <= abs(number) < 1 else 2  # noqa: PLR2004 - as the line above says
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
