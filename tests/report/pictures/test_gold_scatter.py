"""What a scatter of judge against gold shows; its looks are for eyes."""

from __future__ import annotations

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.gold_scatter import MOST_POINTS, SPREAD, gold_scatter


def lines(figure) -> dict[str, list[list[float]]]:
    return {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].get_lines()}


def test_points_of_levels_are_jittered_around_them_the_same_each_time():
    gold, judge = [1.0, 1.0, 2.0, 3.0] * 5, [1.0, 2.0, 2.0, 2.0] * 5
    drawn = [lines(gold_scatter(judge, gold)) for _ in range(2)]
    assert drawn[0]["row"] == drawn[1]["row"]
    for (x, y), right, told in zip(drawn[0]["row"], gold, judge, strict=True):
        assert abs(x - right) <= SPREAD
        assert abs(y - told) <= SPREAD
    assert len({tuple(point) for point in drawn[0]["row"]}) == 20
    assert drawn[0]["judge's mean at each level"] == [[1.0, 1.5], [2.0, 2.0], [3.0, 2.0]]


def test_points_of_a_scale_stand_where_they_are_and_the_bias_is_told():
    gold = [number / 7 for number in range(20)]
    judge = [each + 0.5 for each in gold]
    drawn = lines(gold_scatter(judge, gold))
    assert drawn["row"] == [list(pair) for pair in zip(gold, judge, strict=True)]
    assert "equal + bias (+0.50)" in drawn
    assert "judge's mean at each level" not in drawn


def test_of_many_rows_some_are_drawn():
    numbers = [number / 3 for number in range(MOST_POINTS + 100)]
    figure = gold_scatter(numbers, numbers)
    assert len(lines(figure)["row"]) == MOST_POINTS
    assert figure.axes[0].get_xlabel() == "gold (3,000 of 3,100 rows are drawn)"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_any_number_of_rows_can_be_drawn(count: int):
    assert png(gold_scatter([1.0] * count, [2.0, 3.0][:count]))
