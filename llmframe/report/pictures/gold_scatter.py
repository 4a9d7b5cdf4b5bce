"""The judge's numbers against those of the gold, a point for each row."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from llmframe.report.pictures.canvas import BLUE, DARK, ORANGE, SMALL, empty_figure, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS: Final = 3000
"""Most points that are drawn, taken by chance from more."""

MOST_LEVELS: Final = 12
"""Up to so many different values they are levels, whose points are scattered so that they can be counted."""

SPREAD: Final = 0.28
"""How far from its level a point may stand, as a part of the step between two."""


def gold_scatter(
    judge: Sequence[float], gold: Sequence[float], *, x: str = "gold", y: str = "judge", title: str = ""
) -> Figure:
    """Points around the line of equality; of a few levels jittered, with the judge's mean at each.

    Parameters
    ----------
    judge, gold
        Of every row both numbers, finite.
    x, y
        What the axes are called.
    title
        Stands above; empty: none.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    if not judge:
        return empty_figure("no row has both numbers")
    figure = new_figure(4.4)
    axes = figure.subplots()
    levels = sorted({*judge, *gold})
    stepped = len(levels) <= MOST_LEVELS and len(judge) > 1
    low, high = levels[0], levels[-1]
    room = (high - low or 1.0) * (0.5 / max(1, len(levels) - 1) if stepped else 0.05)
    ends = (low - room, high + room)
    axes.plot(ends, ends, "--", color=DARK, linewidth=1, label="equal", zorder=3)
    left, right = _points(judge, gold, jitter=SPREAD * _step(levels) if stepped else 0.0)
    axes.plot(left, right, "o", color=BLUE, markersize=3.5, alpha=_alpha(len(left)), markeredgewidth=0, label="row")
    if stepped:
        _means(axes, judge, gold)
        axes.set_xticks(levels)
        axes.set_yticks(levels)
    bias = math.fsum(told - right for told, right in zip(judge, gold, strict=True)) / len(judge)
    axes.axline((low, low + bias), slope=1, color=ORANGE, linewidth=1.4, label=f"equal + bias ({bias:+.2f})")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    told = ["points are jittered"] if stepped else []
    if len(left) < len(judge):
        told.append(f"{len(left):,} of {len(judge):,} rows are drawn")
    tidy(axes, title=title, x=f"{x} ({', '.join(told)})" if told else x, y=y)
    figure.legend(fontsize=SMALL, frameon=False, loc="outside lower center", ncols=4)
    return figure


def _points(judge: Sequence[float], gold: Sequence[float], *, jitter: float) -> tuple[list[float], list[float]]:
    chance = random.Random(0)  # noqa: S311 - places points, guards nothing
    rows = range(len(judge))
    chosen = sorted(chance.sample(rows, MOST_POINTS)) if len(judge) > MOST_POINTS else rows
    left = [gold[at] + chance.uniform(-jitter, jitter) for at in chosen]
    return left, [judge[at] + chance.uniform(-jitter, jitter) for at in chosen]


def _step(levels: Sequence[float]) -> float:
    gaps = [after - before for before, after in pairwise(levels)]
    return min(gaps, default=1.0)


def _alpha(points: int) -> float:
    return max(0.2, min(0.75, 200 / points))


def _means(axes: Any, judge: Sequence[float], gold: Sequence[float]) -> None:
    by_level: dict[float, list[float]] = {}
    for right, told in zip(gold, judge, strict=True):
        by_level.setdefault(right, []).append(told)
    places = sorted(by_level)
    means = [math.fsum(by_level[place]) / len(by_level[place]) for place in places]
    axes.plot(places, means, "D", color="white", markeredgecolor=DARK, markersize=7, label="judge's mean at each level")
