"""What a forest plot shows; its looks are for eyes."""

from __future__ import annotations

import math

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.forest_plot import MOST_ROWS, ForestRow, figures_text, forest_plot

ROWS = [
    ForestRow(name="kappa", value=0.6, low=0.5, high=0.7),
    ForestRow(name="unknown one", value=math.nan),
    ForestRow(name="position", value=0.2, low=0.1, high=0.3, note="+0.20, q 0.01", mark="alarm"),
]


def test_each_number_has_its_interval_its_name_and_its_figures():
    figure = forest_plot(ROWS, x="agreement", null=0.0)
    axes, beside = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["kappa", "unknown one", "position"]
    assert [tick.get_text() for tick in beside.get_yticklabels()] == ["0.60 (0.50 to 0.70)", "unknown", "+0.20, q 0.01"]
    intervals = [
        line.get_xdata().tolist() if hasattr(line.get_xdata(), "tolist") else list(line.get_xdata())
        for line in axes.get_lines()
    ]
    # the null line, then interval and mark of the two known ones
    assert intervals == [[0.0, 0.0], [0.5, 0.7], [0.6], [0.1, 0.3], [0.2]]
    assert axes.get_xlabel() == "agreement"


def test_what_is_left_out_is_counted():
    many = [ForestRow(name=str(number), value=0.5) for number in range(MOST_ROWS + 4)]
    assert forest_plot(many, x="share").axes[0].get_xlabel() == "share; 4 more aren't drawn"


def test_a_legend_tells_what_marks_mean():
    figure = forest_plot(ROWS, legend={"alarm": "biased", "plain": "clear"})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["biased", "clear"]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (ForestRow(name="a", value=math.nan), "unknown"),
        (ForestRow(name="a", value=0.5), "0.50"),
        (ForestRow(name="a", value=0.5, low=0.25, high=0.75), "0.50 (0.25 to 0.75)"),
    ],
    ids=["unknown", "without an interval", "with one"],
)
def test_figures_leave_out_what_is_unknown(row: ForestRow, text: str):
    assert figures_text(row) == text


@pytest.mark.parametrize("count", [0, 1, 2])
def test_any_number_of_rows_can_be_drawn(count: int):
    assert png(forest_plot(ROWS[:count]))
    assert png(forest_plot([ROWS[1]] * count))
