"""What a reliability diagram shows; its looks are for eyes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.reliability_diagram import reliability_diagram
from llmframe.stats.proportions import UNKNOWN, Interval
from llmframe.stats.reliability_bins import ReliabilityBin

BINS = [
    ReliabilityBin(
        low=0.5, high=0.7, n=4, right=2, confidence=0.6, interval=Interval(0.2, 0.8), band=Interval(0.25, 1.0)
    ),
    ReliabilityBin(
        low=0.8, high=1.0, n=4, right=4, confidence=0.9, interval=Interval(0.51, 1.0), band=Interval(0.5, 1.0)
    ),
]


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_bins_stand_at_their_confidence_with_their_intervals():
    figure = reliability_diagram(BINS, confidences=[0.6, 0.9], right=[False, True], title="a title")
    above, below = figure.axes
    [bars] = above.containers
    assert bars[0].get_xydata().tolist() == [[0.6, 0.5], [0.9, 1.0]]
    ends = [segment.tolist() for segment in bars[2][0].get_segments()]
    assert ends == [[[0.6, pytest.approx(0.2)], [0.6, pytest.approx(0.8)]], [[0.9, pytest.approx(0.51)], [0.9, 1.0]]]
    assert above.get_title(loc="left") == "a title"
    assert (above.get_ylabel(), below.get_xlabel()) == ("share right", "confidence")
    # both confidences are above a half, so the axis begins there
    assert below.get_xlim()[0] == pytest.approx(0.49)


def test_a_band_is_drawn_only_where_somebody_told_it():
    without = [replace(BINS[0], band=UNKNOWN)]
    told = [reliability_diagram(bins, confidences=[0.6], right=[True]) for bins in (BINS, BINS[:1], without)]
    assert ["expected by chance" in legend(figure) for figure in told] == [True, True, False]


def test_the_histogram_holds_every_row_right_or_wrong():
    figure = reliability_diagram(BINS, confidences=[0.1, 0.6, 1.0], right=[True, False, True])
    right, wrong = figure.axes[1].containers
    heights = [sum(bar.get_height() for bar in bars) for bars in (right, wrong)]
    assert heights == [2, 1]
    assert figure.axes[1].get_xlim()[0] < 0.05


@pytest.mark.parametrize("bins", [[], BINS[:1], BINS], ids=["none", "one", "two"])
def test_any_number_of_bins_can_be_drawn(bins):
    sure = [each.confidence for each in bins]
    assert png(reliability_diagram(bins, confidences=sure, right=[True] * len(bins)))
