"""What a risk-coverage curve shows; its looks are for eyes."""

from __future__ import annotations

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.coverage_curve import MOST_POINTS, coverage_curve
from llmframe.stats.risk_coverage import risk_coverage


def lines(figure) -> dict[str, list[list[float]]]:
    return {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].get_lines()}


def test_the_curve_is_the_share_of_wrong_rows_among_the_surest():
    drawn = lines(coverage_curve(risk_coverage([0.9, 0.8, 0.7, 0.6], [True, False, True, False])))
    assert drawn["surest rows first"] == [[0.25, 0.0], [0.5, 0.5], [0.75, pytest.approx(1 / 3)], [1.0, 0.5]]
    # the best order has both right rows first
    assert drawn["best order"][:2] == [[0.0, 0.0], [0.5, 0.0]]
    assert drawn["best order"][-1] == [1.0, 0.5]
    assert {y for _, y in drawn["any order"]} == {0.5}
    assert "chosen threshold" not in drawn


def test_rows_of_equal_confidence_are_one_point():
    assert lines(coverage_curve(risk_coverage([0.9, 0.9], [True, False])))["surest rows first"] == [[1.0, 0.5]]


def test_a_chosen_threshold_and_its_target_are_marked():
    drawn = lines(coverage_curve(risk_coverage([0.9, 0.8], [True, False]), chosen=(0.5, 0.02), target=0.05))
    assert drawn["chosen threshold"] == [[0.5, 0.02]]
    assert {y for _, y in drawn["target 0.05"]} == {0.05}


def test_many_rows_are_drawn_by_fewer_points_the_last_among_them():
    n = 1001
    curve = risk_coverage([1 - k / n for k in range(n)], [k % 3 > 0 for k in range(n)])
    drawn = lines(coverage_curve(curve))["surest rows first"]
    assert len(drawn) <= MOST_POINTS + 1
    assert drawn[-1] == [1.0, pytest.approx(334 / 1001)]


@pytest.mark.parametrize("right", [[], [True], [False], [True, True], [False, False, True] * 20])
def test_any_number_of_rows_can_be_drawn(right: list[bool]):
    assert png(coverage_curve(risk_coverage([1 - at / 100 for at in range(len(right))], right)))
