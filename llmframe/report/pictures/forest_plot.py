"""The forest plot: numbers with their intervals, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from llmframe.report.pictures.canvas import (
    BLUE,
    DARK,
    GREY,
    SMALL,
    VERMILION,
    empty_figure,
    new_figure,
    shortened,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mark = Literal["plain", "alarm", "open"]

MARKS: Final[dict[Mark, tuple[str, str, str]]] = {
    "plain": ("o", BLUE, BLUE),
    "alarm": ("D", VERMILION, VERMILION),
    "open": ("o", GREY, "white"),
}
"""Shape, colour and filling: shape and filling tell the same as the colour does."""

MOST_ROWS: Final = 30
"""Most lines that are drawn; the others are counted below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """A line of a forest plot.

    Attributes
    ----------
    name
        Stands on the left.
    value, low, high
        The number and the ends of its interval; nan where unknown.
    note
        Stands on the right; empty: the numbers.
    mark
        `"plain"`; `"alarm"` for what wants attention; `"open"` for what can't be told.
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    note: str = ""
    mark: Mark = "plain"


def forest_plot(  # noqa: PLR0913 - what is drawn, and how
    rows: Sequence[ForestRow],
    *,
    null: float = math.nan,
    x: str = "",
    limits: tuple[float, float] | None = None,
    legend: dict[Mark, str] | None = None,
    title: str = "",
) -> Figure:
    """Each number as a mark on the line of its interval, and in figures on the right.

    Parameters
    ----------
    rows
        From above to below.
    null
        Where a line is drawn that means "nothing to see"; nan: none.
    x
        What the axis shows.
    limits
        Ends of the axis; `None`: as the numbers want it.
    legend
        What each mark means.
    title
        Stands above; empty: none.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    told = [row for row in rows if not math.isnan(row.value)]
    if not told:
        return empty_figure("none of these numbers is known")
    shown = list(rows[:MOST_ROWS])
    figure = new_figure(0.85 + 0.27 * max(len(shown), 2) + (0.25 if legend else 0.0))
    axes = figure.subplots()
    if not math.isnan(null):
        axes.axvline(null, color=DARK, linewidth=1, linestyle="--")
    for at, row in enumerate(shown):
        _line(axes, at, row)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), [shortened(row.name, 26) for row in shown])
    if limits is not None:
        axes.set_xlim(*limits)
    else:
        _room(axes, shown, null)
    more = len(rows) - len(shown)
    tidy(axes, title=title, x=f"{x}; {more:,} more aren't drawn" if more else x, grid="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _figures(axes, shown)
    if legend:
        _legend(figure, legend)
    return figure


def figures_text(row: ForestRow) -> str:
    """`"0.62 (0.51 to 0.71)"`, `"0.62"`, or `"unknown"`."""
    if math.isnan(row.value):
        return "unknown"
    if math.isnan(row.low) or math.isnan(row.high):
        return f"{row.value:.2f}"
    return f"{row.value:.2f} ({row.low:.2f} to {row.high:.2f})"


def _line(axes: Any, at: int, row: ForestRow) -> None:
    if math.isnan(row.value):
        return
    shape, color, filling = MARKS[row.mark]
    if not math.isnan(row.low) and not math.isnan(row.high):
        axes.plot([row.low, row.high], [at, at], color=color, linewidth=2, solid_capstyle="butt")
    axes.plot([row.value], [at], shape, color=color, markerfacecolor=filling, markersize=6.5)


def _room(axes: Any, rows: Sequence[ForestRow], null: float) -> None:
    ends = [end for row in rows for end in (row.value, row.low, row.high, null) if not math.isnan(end)]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low or 1.0)
    axes.set_xlim(low - room, high + room)


def _figures(axes: Any, rows: Sequence[ForestRow]) -> None:
    """The numbers in a second axis, so that the layout keeps room for them."""
    beside = axes.twinx()
    beside.set_ylim(axes.get_ylim())
    beside.set_yticks(range(len(rows)), [(row.note or figures_text(row)).replace("$", r"\$") for row in rows])
    beside.tick_params(labelsize=SMALL, length=0)
    beside.spines[:].set_visible(False)


def _legend(figure: Any, legend: dict[Mark, str]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    handles: list[Any] = []
    for mark, text in legend.items():
        shape, color, filling = MARKS[mark]
        handles.append(Line2D([], [], marker=shape, color=color, markerfacecolor=filling, linewidth=2, label=text))
    figure.legend(handles=handles, fontsize=SMALL, frameon=False, loc="outside lower center", ncols=len(handles))
