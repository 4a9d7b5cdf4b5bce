"""What a risk-coverage curve shows; its looks are for eyes."""

from __future__ import annotations

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.coverage_curve import MOST_POINTS, coverage_curve


def lines(figure) -> dict[str, list[list[float]]]:
    return {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].get_lines()}


def test_the_curve_is_the_share_of_wrong_rows_among_the_surest():
    # surest first: right, wrong, right, wrong
    drawn = lines(coverage_curve([0, 1, 1, 2]))
    assert drawn["surest rows first"] == [[0.25, 0.0], [0.5, 0.5], [0.75, pytest.approx(1 / 3)], [1.0, 0.5]]
    # the best order has both right rows first
    assert drawn["best order"] == [[0.25, 0.0], [0.5, 0.0], [0.75, pytest.approx(1 / 3)], [1.0, 0.5]]
    assert {y for _, y in drawn["any order"]} == {0.5}
    assert "chosen threshold" not in drawn


def test_a_chosen_threshold_and_its_target_are_marked():
    drawn = lines(coverage_curve([0, 1], chosen=(0.5, 0.02), target=0.05))
    assert drawn["chosen threshold"] == [[0.5, 0.02]]
    assert {y for _, y in drawn["target 0.05"]} == {0.05}


def test_many_rows_are_drawn_by_fewer_points_the_last_among_them():
    drawn = lines(coverage_curve([k // 3 for k in range(1, 1002)]))["surest rows first"]
    assert len(drawn) <= MOST_POINTS + 1
    assert drawn[-1] == [1.0, pytest.approx(333 / 1001)]


@pytest.mark.parametrize("errors", [[], [0], [1], [0, 0], [0.5, 1]])
def test_any_number_of_rows_can_be_drawn(errors: list[float]):
    assert png(coverage_curve(errors))
