"""A part of a report card, as text, numbers and pictures alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmframe.stats.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = float | int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that is drawn when it's wanted.

    Attributes
    ----------
    name
        By which `ReportCard.plot` knows it.
    alt
        What is seen, for those who can't see it.
    draw
        Makes the figure.
    """

    name: str
    alt: str
    draw: Callable[[], Figure] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a head, all of it text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report card.

    Attributes
    ----------
    name
        One word, by which gates and JSON know the part.
    title
        What stands above it.
    lines
        Name and text of each number.
    values
        Flat keys with their numbers; nan: unknown.
    tables
        Below the lines.
    pictures
        Below the tables.
    notes
        What is to be known about these numbers.
    reason
        Why the whole part is absent; empty where it's there.
    reasons
        Why numbers are unknown, by their flat keys.
    """

    name: str
    title: str
    lines: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def absent(self) -> bool:
        """Whether nothing of it is known."""
        return not (self.lines or self.tables or self.pictures)


def absent(name: str, title: str, reason: str, *, keys: Sequence[str] = ()) -> Section:
    """A part that isn't there, and why; its keys are unknown, so that a gate on one doesn't pass."""
    return Section(name=name, title=title, reason=reason, values=dict.fromkeys(keys, math.nan))


def estimate_values(key: str, estimate: Estimate) -> dict[str, Value]:
    """`key`, `key.low` and `key.high`."""
    return {key: estimate.value, f"{key}.low": estimate.low, f"{key}.high": estimate.high}


def estimate_reasons(key: str, estimate: Estimate) -> dict[str, str]:
    """The reason of an estimate under the same keys; empty without one."""
    return dict.fromkeys(estimate_values(key, estimate), estimate.reason) if estimate.reason else {}


def estimate_text(estimate: Estimate) -> str:
    """The number with its interval, and why there is none where that is so."""
    text = str(estimate)
    return f"{text}: {estimate.reason}" if estimate.reason and not estimate.known else text


def number_text(value: float, digits: int = 3) -> str:
    """`"0.123"`, or `"unknown"`."""
    return "unknown" if math.isnan(value) else f"{value:.{digits}f}"
