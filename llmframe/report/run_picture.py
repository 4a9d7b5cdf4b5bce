"""A run over its time, as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from llmframe.core.series import LimitMove, Series
from llmframe.errors import MissingExtraError
from llmframe.report.pictures.canvas import BLUE, DARK, GREEN, ORANGE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Axes = Any  # matplotlib's own hints leave most keywords unknown

INSTALL: Final = "pip install 'llmframe[plots]'"

BARS: Final = 80
"""Most steps that are drawn: at 600 px more can't be told apart."""

UNITS: Final = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
"""Units of the time axis; one is used from two of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The run's time from its first request on, cut into equal steps; the last one is shorter or up to half longer.

    Attributes
    ----------
    first, size
        The first bucket of the timeline that is drawn, and buckets in a step.
    edges
        Seconds from the run's start; one more than there are steps.
    """

    first: int
    size: int
    edges: tuple[float, ...]

    def per_second(self, counts: Sequence[int]) -> list[float]:
        """The rate of what was counted, in each step."""
        widths = [stop - start for start, stop in pairwise(self.edges)]
        return [sum(part) / width for part, width in zip(self._parts(counts), widths, strict=True)]

    def sums(self, counts: Sequence[int]) -> list[int]:
        """What was counted in each step."""
        return [sum(part) for part in self._parts(counts)]

    def highest(self, levels: Sequence[int]) -> list[int]:
        """The highest level in each step."""
        return [max(part, default=0) for part in self._parts(levels)]

    def _parts(self, values: Sequence[int]) -> list[Sequence[int]]:
        starts = range(self.first, self.first + self.size * (len(self.edges) - 1), self.size)
        return [values[start : None if start == starts[-1] else start + self.size] for start in starts]


def steps(series: Series) -> Steps:
    """Equal steps from the first request on, at most `BARS` of them, each of whole buckets."""
    first = next((index for index, count in enumerate(series.sent) if count), 0)
    buckets = max(1, len(series.sent) - first)
    size = -(-buckets // BARS)
    edges = [(first + step * size) * series.width for step in range(-(-buckets // size))]
    end = max(series.seconds, edges[0] + series.width / 2)
    while len(edges) > 1 and end - edges[-1] < size * series.width / 2:
        del edges[-1]  # a rate over a moment is noise
    return Steps(first=first, size=size, edges=(*edges, end))


def draw(series: Series, *, limits: Sequence[LimitMove], title: str) -> Figure:
    """Panels over the run's time: answers, tokens, requests in flight with their limit, 429s with other faults.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    try:
        from llmframe.report.run_figure import RunFigure  # noqa: PLC0415 - matplotlib is an extra
    except ImportError:
        raise MissingExtraError(f"`plot()` needs matplotlib, which isn't installed: `{INSTALL}`") from None
    if not any(series.sent):
        empty: Any = RunFigure(figsize=(6.4, 1.2), dpi=100)
        empty.text(0.02, 0.8, title, fontsize=10, va="center")
        empty.text(0.5, 0.35, "no request was sent", ha="center", va="center", color=DARK)
        return empty
    cut = steps(series)
    unit, per_unit = next((unit for unit in UNITS if series.seconds >= 2 * unit[1]), UNITS[-1])
    edges = [edge / per_unit for edge in cut.edges]
    limited, faults = cut.sums(series.rate_limited), cut.sums(series.faults)
    heights = {"answers": 3.0, "tokens": 2.0, "flight": 3.0, "faults": 2.0 if any(limited) or any(faults) else 0.4}
    if not any(series.tokens):
        del heights["tokens"]
    figure: Any = RunFigure(figsize=(6.4, 0.9 + 0.52 * sum(heights.values())), dpi=100, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    panels: dict[str, Axes] = figure.subplot_mosaic(
        [[name] for name in heights], sharex=True, height_ratios=list(heights.values())
    )
    _rate(panels["answers"], cut.per_second(series.answered), edges, color=BLUE, name="answers/s")
    if "tokens" in panels:
        _rate(panels["tokens"], cut.per_second(series.tokens), edges, color=GREEN, name="tokens/s")
    _in_flight(panels["flight"], cut.highest(series.in_flight), edges, limit=cut.highest(series.limit))
    _cuts(panels["flight"], [move.seconds / per_unit for move in limits if move.reason == "429"])
    _faults(panels["faults"], limited, faults, edges)
    for axes in panels.values():
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_ylim(bottom=0)
        axes.set_xlim(edges[0], edges[-1])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 0.98), borderpad=0, ncols=3)
    panels["faults"].set_xlabel(f"time ({unit})", fontsize=9)
    figure.align_ylabels()
    return figure


def _rate(axes: Axes, rates: list[float], edges: list[float], *, color: str, name: str) -> None:
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415 - an extra

    axes.stairs(rates, edges, fill=True, color=color, alpha=0.35)
    axes.stairs(rates, edges, color=color, linewidth=1.2)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylabel(name, fontsize=9)


def _in_flight(axes: Axes, levels: list[int], edges: list[float], *, limit: list[int]) -> None:
    axes.stairs(levels, edges, fill=True, color=SKY, alpha=0.7, label="in flight")
    if any(limit):
        axes.stairs(limit, edges, baseline=None, color=DARK, linewidth=1.2, label="limit")
    axes.set_ylabel("requests", fontsize=9)


def _cuts(axes: Axes, times: list[float]) -> None:
    """Marks at the panel's lower edge, where the limit was cut after a 429: in a long run it has recovered since."""
    if times:
        height = axes.get_xaxis_transform()
        axes.plot(times, [0.06] * len(times), "^", color=VERMILION, markersize=5, transform=height, label="429 cut")


def _faults(axes: Axes, limited: list[int], faults: list[int], edges: list[float]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    if not any(limited) and not any(faults):
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.text(0.5, 0.5, "no 429s, no other faults", transform=axes.transAxes, ha="center", va="center", fontsize=8)
        return
    both = [one + other for one, other in zip(limited, faults, strict=True)]
    axes.stairs(limited, edges, fill=True, color=ORANGE, label="429s")
    axes.stairs(both, edges, baseline=limited, fill=True, facecolor=DARK, label="other faults")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True, min_n_ticks=1))
    axes.set_ylabel("faults", fontsize=9)
