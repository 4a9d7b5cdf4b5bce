"""The reliability diagram: what was claimed against what was right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from llmframe.report.pictures.canvas import BLUE, DARK, GREY, NORMAL, SMALL, VERMILION, empty_figure, new_figure, tidy
from llmframe.stats.reliability_bins import ReliabilityBin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS: Final = 20
"""Columns of the histogram of confidences."""


def reliability_diagram(
    bins: Sequence[ReliabilityBin], *, confidences: Sequence[float], right: Sequence[bool], title: str = ""
) -> Figure:
    """Accuracy by confidence with intervals and the consistency band, over a histogram of right and wrong rows.

    Parameters
    ----------
    bins
        In the order of their confidence.
    confidences, right
        Of every row; only the histogram needs them.
    title
        Stands above; empty: none.

    Raises
    ------
    MissingExtraError
        Without matplotlib.

    Notes
    -----
    Consistency band: Bröcker, Smith (2007), Weather and Forecasting 22, p. 651.
    """
    if not bins:
        return empty_figure("no row has both gold and a confidence")
    figure = new_figure(4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
    left = _left(confidences)
    above.plot([left, 1], [left, 1], "--", color=DARK, linewidth=1, label="as claimed")
    banded = [each for each in bins if not math.isnan(each.band.low)]
    if banded:
        lows, highs = [each.band.low for each in banded], [each.band.high for each in banded]
        places = [each.confidence for each in banded]
        if len(banded) > 1:
            above.fill_between(places, lows, highs, color=GREY, alpha=0.5, linewidth=0, label="expected by chance")
        else:
            above.plot([places[0]] * 2, [lows[0], highs[0]], color=GREY, linewidth=8, label="expected by chance")
    _bars(above, bins)
    above.set_ylim(-0.03, 1.03)
    tidy(above, title=title, y="share right", grid="y")
    _histogram(below, confidences, right, left=left)
    figure.legend(fontsize=SMALL, frameon=False, loc="outside lower center", ncols=5, columnspacing=1.2)
    return figure


def _bars(axes: Any, bins: Sequence[ReliabilityBin]) -> None:
    down = [max(0.0, each.accuracy - each.interval.low) for each in bins]
    up = [max(0.0, each.interval.high - each.accuracy) for each in bins]
    axes.errorbar(
        [each.confidence for each in bins],
        [each.accuracy for each in bins],
        yerr=[down, up],
        fmt="o",
        color=BLUE,
        markersize=5,
        elinewidth=1.4,
        capsize=2.5,
        label="share right, 95 %",
    )


def _histogram(axes: Any, confidences: Sequence[float], right: Sequence[bool], *, left: float) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    hits = [each for each, hit in zip(confidences, right, strict=True) if hit]
    misses = [each for each, hit in zip(confidences, right, strict=True) if not hit]
    axes.hist(
        [hits, misses],
        bins=COLUMNS,
        range=(left, 1.0),
        stacked=True,
        color=[BLUE, VERMILION],
        alpha=0.85,
        label=["right", "wrong"],
    )
    axes.set_xlim(left - 0.02 * (1 - left), 1 + 0.02 * (1 - left))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    tidy(axes, x="confidence", y="rows")
    axes.yaxis.label.set_fontsize(NORMAL)


def _left(confidences: Sequence[float]) -> float:
    """Where the axis of confidences begins: two labels leave its lower half empty."""
    return 0.5 if confidences and min(confidences) >= 0.5 else 0.0  # noqa: PLR2004 - as it is read
