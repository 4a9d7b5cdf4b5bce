"""The confusion matrix: which label the judge gave to which."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from llmframe.report.pictures.canvas import NORMAL, SMALL, empty_figure, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELS: Final = 12
"""Most labels that are drawn; the rarest others are one."""

PERCENTS: Final = 8
"""Up to so many labels there is room for percentages below the counts."""

OTHERS: Final = "(others)"


def confusion_matrix(labels: Sequence[Hashable], counts: Sequence[Sequence[int]], *, title: str = "") -> Figure:
    """Counts by gold (rows) and judge (columns), shaded by the share of their row.

    Parameters
    ----------
    labels
        In the order of rows and columns.
    counts
        A row for each gold label, in it a number for each of the judge's.
    title
        Stands above; empty: none.

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    """
    if not sum(map(sum, counts)):
        return empty_figure("no row has both gold and an answer")
    names, table = gathered(labels, counts)
    size = len(names)
    figure = new_figure(min(5.4, 1.5 + 0.42 * max(size, 3)))
    axes = figure.subplots()
    shares = [[count / sum(row) if sum(row) else 0.0 for count in row] for row in table]
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for gold, row in enumerate(table):
        for judge, count in enumerate(row):
            agreed = gold == judge and names[gold] is not OTHERS  # what is taken together needn't be equal
            _cell(axes, (judge, gold), count, shares[gold][judge], percent=size <= PERCENTS, bold=agreed)
    texts = [shortened(name, 18) for name in names]
    crowded = size * max(map(len, texts)) > 60  # noqa: PLR2004 - characters that stand side by side at this width
    axes.set_xticks(
        range(size),
        texts,
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor" if crowded else "default",
    )
    axes.set_yticks(range(size), [f"{text} ({sum(row):,})" for text, row in zip(texts, table, strict=True)])
    axes.tick_params(labelsize=SMALL, length=0)
    for place in range(1, size):
        axes.axhline(place - 0.5, color="white", linewidth=1.5)
        axes.axvline(place - 0.5, color="white", linewidth=1.5)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("judge", fontsize=NORMAL)
    axes.set_ylabel("gold (rows)", fontsize=NORMAL)
    if title:
        axes.set_title(title, loc="left", fontsize=NORMAL)
    return figure


def gathered(labels: Sequence[Hashable], counts: Sequence[Sequence[int]]) -> tuple[list[str], list[list[int]]]:
    """Names and counts of at most `MOST_LABELS` labels, those beyond the commonest taken together."""
    table = [list(row) for row in counts]
    if len(labels) <= MOST_LABELS:
        return [str(label) for label in labels], table
    totals = [sum(table[at]) + sum(row[at] for row in table) for at in range(len(labels))]
    kept = sorted(sorted(range(len(labels)), key=lambda at: -totals[at])[: MOST_LABELS - 1])
    place = {at: number for number, at in enumerate(kept)}
    smaller = [[0] * MOST_LABELS for _ in range(MOST_LABELS)]
    for gold, row in enumerate(table):
        for judge, count in enumerate(row):
            smaller[place.get(gold, MOST_LABELS - 1)][place.get(judge, MOST_LABELS - 1)] += count
    return [*(str(labels[at]) for at in kept), OTHERS], smaller


def _cell(  # noqa: PLR0913 - a cell's facts
    axes: Any, place: tuple[int, int], count: int, share: float, *, percent: bool, bold: bool
) -> None:
    color = "white" if share > 0.55 else "black"  # noqa: PLR2004 - where the contrast of both is alike
    text = f"{count:,}" + (f"\n{100 * share:.0f} %" if percent and count else "")
    weight = "bold" if bold else "normal"
    axes.text(*place, text, ha="center", va="center", color=color, fontsize=SMALL, fontweight=weight)
