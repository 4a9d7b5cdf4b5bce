"""The figure that a picture is drawn on."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any, Final

from llmframe.stats.extra import missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Axes = Any  # matplotlib's own hints leave most keywords unknown

WIDTH: Final = 6.0
"""Inches; at `DPI` a picture is 600 px wide, and its least text 8 points."""

DPI: Final = 100

SHARP: Final = 200
"""Dots an inch of a picture inside HTML, where it is shown at half its size: screens have that many."""

SMALL: Final = 8.0
"""Points of ticks and legends."""

NORMAL: Final = 9.0
"""Points of labels and titles."""

# Okabe, Ito (2008), Color Universal Design: these are told apart with any colour vision
BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
DARK: Final = "#333333"
GREY: Final = "#BBBBBB"

MOST_CHARS: Final = 22
"""Most characters of a label in a picture."""


def new_figure(height: float, *, width: float = WIDTH) -> Any:
    """An empty figure, unknown to pyplot, whose parts make room for each other.

    Parameters
    ----------
    height, width
        In inches.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    try:
        from llmframe.report.run_figure import RunFigure  # noqa: PLC0415 - matplotlib is an extra
    except ImportError:
        raise missing("a picture", "matplotlib") from None
    figure: Any = RunFigure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    return figure


def empty_figure(text: str) -> Any:
    """A figure that only says why there is nothing to draw."""
    figure = new_figure(0.7)
    figure.text(0.5, 0.5, text, ha="center", va="center", color=DARK, fontsize=NORMAL)
    return figure


def tidy(axes: Axes, *, title: str = "", x: str = "", y: str = "", grid: str = "") -> None:
    """Two spines instead of four, small ticks, a title on the left, a faint grid along the named axis."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color="#E5E5E5", linewidth=0.7)
    if title:
        axes.set_title(title, loc="left", fontsize=NORMAL)
    if x:
        axes.set_xlabel(x, fontsize=NORMAL)
    if y:
        axes.set_ylabel(y, fontsize=NORMAL)


def shortened(text: object, most: int = MOST_CHARS) -> str:
    """A label on one line, cut to `most` characters in the middle; a dollar sign stays one, and begins no formula."""
    line = " ".join(str(text).split())
    tail = most // 3
    cut = line if len(line) <= most else f"{line[: most - 1 - tail]}…{line[-tail:]}"
    return cut.replace("$", r"\$")


def png(figure: Figure, *, dpi: int = DPI) -> bytes:
    """The picture as PNG."""
    picture = io.BytesIO()
    drawn: Any = figure
    drawn.savefig(picture, format="png", dpi=dpi)
    return picture.getvalue()


def data_address(figure: Figure) -> str:
    """The picture as an address that holds it: `data:image/png;base64,...`."""
    return f"data:image/png;base64,{base64.b64encode(png(figure, dpi=SHARP)).decode('ascii')}"
