"""The risk-coverage curve: how many of the surest rows are wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from llmframe.report.pictures.canvas import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    SMALL,
    VERMILION,
    empty_figure,
    new_figure,
    tidy,
)
from llmframe.stats.proportions import wilson_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS: Final = 400
"""Most points of the curve that are drawn: at 600 px more can't be told apart."""


def coverage_curve(
    errors: Sequence[float],
    *,
    chosen: tuple[float, float] | None = None,
    target: float = math.nan,
    title: str = "",
) -> Figure:
    """Share of wrong rows among the surest, from few of them to all, beside the best order there could be.

    Parameters
    ----------
    errors
        Of the surest k rows, k = 1 to n, how many are wrong. Not a whole number where rows of equal confidence
        share their errors.
    chosen
        Coverage and error of the rows that a chosen threshold keeps; `None`: none was chosen.
    target
        The error that was to be kept; nan: none.
    title
        Stands above; empty: none.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    n = len(errors)
    if not n:
        return empty_figure("no row has both gold and a confidence")
    figure = new_figure(3.5)
    axes = figure.subplots()
    step = -(-n // MOST_POINTS)
    places = sorted({*range(step, n + 1, step), n})
    coverage = [k / n for k in places]
    intervals = [wilson_interval(min(k, round(errors[k - 1])), k) for k in places]
    told = [at for at, k in enumerate(places) if k >= min(10, n)]  # the interval of a few rows is the whole axis
    axes.fill_between(
        [coverage[at] for at in told],
        [intervals[at].low for at in told],
        [intervals[at].high for at in told],
        color=BLUE,
        alpha=0.18,
        linewidth=0,
        label="95 % interval at each point",
    )
    risks = [errors[k - 1] / k for k in places]
    axes.plot(coverage, risks, color=BLUE, linewidth=1.6, label="surest rows first")
    right = n - errors[-1]
    axes.plot(coverage, [max(0.0, k - right) / k for k in places], "--", color=GREEN, linewidth=1.2, label="best order")
    axes.axhline(errors[-1] / n, color=GREY, linewidth=1.2, label="any order")
    if not math.isnan(target):
        axes.axhline(target, color=VERMILION, linewidth=1.2, linestyle=":", label=f"target {target:g}")
    if chosen is not None:
        axes.plot(*chosen, "D", color=VERMILION, markersize=7, markeredgecolor=DARK, label="chosen threshold")
    _limits(axes, risks, [intervals[at].high for at in told], target=target)
    tidy(axes, title=title, x="share of rows kept", y="share wrong among them", grid="y")
    figure.legend(fontsize=SMALL, frameon=False, loc="outside lower center", ncols=3)
    return figure


def _limits(axes: Any, risks: Sequence[float], highs: Sequence[float], *, target: float) -> None:
    """Up to what is of interest: the interval of the first few rows may be cut off."""
    later = list(highs[len(highs) // 5 :]) or [0.0]
    top = max([*risks[len(risks) // 20 :], *later, 0.05, 0.0 if math.isnan(target) else target])
    axes.set_ylim(-0.02 * top, min(1.0, top) * 1.06)
    axes.set_xlim(0, 1.01)
