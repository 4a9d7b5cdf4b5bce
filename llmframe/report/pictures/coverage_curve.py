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
from llmframe.stats.risk_coverage import RiskCoverage, Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS: Final = 400
"""Most points of the curve that are drawn: at 600 px more can't be told apart."""

FEWEST: Final = 10
"""Fewest kept rows whose interval is drawn: that of fewer is the whole axis."""

FEW_STEPS: Final = 12
"""Up to so many different confidences each is a point."""


def coverage_curve(
    curve: RiskCoverage,
    *,
    chosen: tuple[float, float] | None = None,
    target: float = math.nan,
    title: str = "",
) -> Figure:
    """Share of wrong rows among the surest, from few of them to all, beside the best order there could be.

    Parameters
    ----------
    curve
        What is wrong by how many are kept.
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
    n = curve.n
    if not n:
        return empty_figure("no row has both gold and a confidence")
    figure = new_figure(3.5)
    axes = figure.subplots()
    steps = _thinned(curve.steps)
    told = [step for step in steps if step.kept >= min(FEWEST, n)]
    intervals = [wilson_interval(step.errors, step.kept) for step in told]
    axes.fill_between(
        [step.coverage for step in told],
        [interval.low for interval in intervals],
        [interval.high for interval in intervals],
        color=BLUE,
        alpha=0.18,
        linewidth=0,
        label="95 % interval at each point",
    )
    axes.plot(
        [step.coverage for step in steps],
        [step.risk for step in steps],
        color=BLUE,
        linewidth=1.6,
        marker="o" if len(steps) <= FEW_STEPS else None,
        markersize=3.5,
        label="surest rows first",
    )
    axes.plot(*_best(curve), "--", color=GREEN, linewidth=1.2, label="best order")
    axes.axhline(curve.errors / n, color=GREY, linewidth=1.2, label="any order")
    if not math.isnan(target):
        axes.axhline(target, color=VERMILION, linewidth=1.2, linestyle=":", label=f"target {target:g}")
    if chosen is not None:
        axes.plot(*chosen, "D", color=VERMILION, markersize=7, markeredgecolor=DARK, label="chosen threshold")
    _limits(axes, [step.risk for step in steps], [interval.high for interval in intervals], target=target)
    tidy(axes, title=title, x="share of rows kept", y="share wrong among them", grid="y")
    figure.legend(fontsize=SMALL, frameon=False, loc="outside lower center", ncols=4 if chosen is None else 3)
    return figure


def _thinned(steps: Sequence[Step]) -> list[Step]:
    """At most some `MOST_POINTS` of the steps, the first and the last among them."""
    size = -(-len(steps) // MOST_POINTS)
    return [step for at, step in enumerate(steps) if at % size == 0 or step is steps[-1]]


def _best(curve: RiskCoverage) -> tuple[list[float], list[float]]:
    """Coverage and risk where every right row is surer than every wrong one."""
    n, right = curve.n, curve.n - curve.errors
    kept = [right + curve.errors * part / MOST_POINTS for part in range(MOST_POINTS + 1)]
    kept = [each for each in kept if each > 0]
    return [0.0, *(each / n for each in kept)], [0.0, *((each - right) / each for each in kept)]


def _limits(axes: Any, risks: Sequence[float], highs: Sequence[float], *, target: float) -> None:
    """Up to what is of interest: the interval of the first few rows may be cut off."""
    later = list(highs[len(highs) // 5 :]) or [0.0]
    top = max([*risks[len(risks) // 20 :], *later, 0.05, 0.0 if math.isnan(target) else target])
    axes.set_ylim(-0.02 * top, min(1.0, top) * 1.06)
    axes.set_xlim(0, 1.01)
