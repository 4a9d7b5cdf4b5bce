"""A rubric, checked when it is made."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.judge.rubric import Rubric


def test_its_levels_decide_the_dtype():
    assert Rubric("Clear?", range(1, 6)).type == ColumnType("int")
    assert Rubric("Clear?", ["no", "yes"]).type == ColumnType("enum", labels=("no", "yes"))


def test_a_level_is_found_by_value_and_type():
    rubric = Rubric("Clear?", {1: "no", 2: "yes"})
    assert rubric.step_of(2) is rubric.steps[1]
    assert rubric.step_of("2") is rubric.step_of(True) is rubric.step_of(2.0) is None


def test_equal_rubrics_are_equal():
    assert Rubric("Clear?", [1, 2], anchors=[("t", 1)]) == Rubric("Clear?", [1, 2], anchors=[("t", 1)])
    assert Rubric("Clear?", [1, 2]) != Rubric("Clear?", [1, 2], reason="after")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"criterion": " "}, "`criterion` says in words what is judged, got ' '"),
        ({"criterion": 3}, "`criterion` says in words"),
        ({"scale": "ordnal"}, "`scale` must be one of 'ordinal', 'nominal', 'binary', got 'ordnal'; did you mean"),
        ({"reason": "first"}, "`reason` must be one of 'after', 'before', None, got 'first'"),
        ({"reference": 1}, "`reference` is the name of a column, got 1"),
        ({"anchors": [("t", 2), ("secret text",)]}, "^anchor 2 isn't \\(text, level\\)$"),
        ({"anchors": [("t", 2, "r")]}, "anchor 1 isn't \\(text, level\\)"),
        ({"anchors": ["t"]}, "anchor 1 isn't \\(text, level\\)"),
        ({"anchors": [("t", 2)], "reference": "r"}, "anchor 1 isn't \\(text, level, reference answer\\)"),
        ({"anchors": [("t", 4)]}, "anchor 1 has the level 4, which the rubric lacks; levels: \\[1, 2, 3\\]"),
        ({"levels": ["good", "bad"], "anchors": [("t", "godo")]}, "the rubric lacks; did you mean 'good'\\?"),
    ],
)
def test_a_rubric_that_cannot_work_is_told(said: dict[str, Any], message: str):
    given: dict[str, Any] = {"criterion": "Clear?", "levels": [1, 2, 3], **said}
    with pytest.raises(UsageError, match=message):
        Rubric(given.pop("criterion"), given.pop("levels"), **given)
