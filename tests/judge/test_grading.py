"""From codes to levels and scores."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.columns import ColumnType
from llmframe.judge.grading import graded_columns, grading
from llmframe.judge.rubric import Rubric

FLOAT, TEXT = ColumnType("float"), ColumnType("string")
SPREAD = ColumnType("struct", fields=(("1", FLOAT), ("2", FLOAT), ("5", FLOAT)))
ASKED = [("level", TEXT), ("distribution", SPREAD), ("label_mass", FLOAT), ("error", TEXT)]
RUBRIC = Rubric("Clear?", {1: "no", 2: "so so", 5: "yes"})


def graded(*cells: list[object], outputs: list[str]) -> dict[str, list[object]]:
    made = grading(RUBRIC, [name for name, _ in ASKED], outputs)(list(cells))
    return dict(zip(outputs, made, strict=True))


def test_the_score_is_the_expected_level():
    # 0.5 * 1 + 0.25 * 2 + 0.25 * 5 = 2.25; variance 0.5 * 1.5625 + 0.25 * 0.0625 + 0.25 * 7.5625 = 2.6875
    spread = {"1": 0.5, "2": 0.25, "5": 0.25}
    made = graded(["1"], [spread], [0.9], [None], outputs=["level", "score", "score_sd", "distribution"])
    assert made["level"] == [1]
    assert made["score"] == [2.25]
    assert made["score_sd"] == [pytest.approx(math.sqrt(2.6875))]
    assert made["distribution"] == [spread]


def test_without_probabilities_the_score_is_the_level():
    made = graded(["5", None], [None, None], [None, None], [None, "timeout: x"], outputs=["level", "score", "score_sd"])
    assert made == {"level": [5, None], "score": [5.0, None], "score_sd": [None, None]}


def test_a_tie_of_votes_has_a_score_and_no_level():
    # votes 1 and 5 equally often: (1 + 5) / 2
    made = graded([None], [{"1": 0.5, "2": 0.0, "5": 0.5}], [1.0], [None], outputs=["level", "score", "score_sd"])
    assert made == {"level": [None], "score": [3.0], "score_sd": [2.0]}


def test_columns_come_in_order_and_probabilities_only_when_they_are_wanted():
    def names(rubric: Rubric, *, shown: bool, known: bool = True) -> list[str]:
        asked = [*ASKED[:1], ("reason", TEXT), *(ASKED[1:] if known else ASKED[3:])]
        return [name for name, _ in graded_columns(rubric, asked, known=known, shown=shown)]

    assert names(RUBRIC, shown=False) == ["level", "score", "score_sd", "reason", "error"]
    assert names(RUBRIC, shown=True)[-3:] == ["distribution", "label_mass", "error"]
    assert names(RUBRIC, shown=False, known=False) == ["level", "score", "reason", "error"]
    assert names(Rubric("Tone", ["a", "b"], scale="nominal"), shown=False) == ["level", "reason", "error"]


def test_probabilities_stand_under_the_levels_names():
    rubric = Rubric("Tone", ["warm", "cold"], scale="nominal")
    types = dict(graded_columns(rubric, [("level", TEXT), ("distribution", SPREAD)], known=True, shown=True))
    assert types["distribution"].fields == (("warm", FLOAT), ("cold", FLOAT))
    [spread] = grading(rubric, ["level", "distribution"], ["distribution"])([["A"], [{"A": 0.75, "B": 0.25}]])
    assert spread == [{"warm": 0.75, "cold": 0.25}]


@given(st.lists(st.integers(0, 100), min_size=3, max_size=3).filter(any))
def test_a_score_lies_on_the_scale(weights: list[int]):
    shares = [weight / sum(weights) for weight in weights]
    made = graded(
        ["1"], [dict(zip(["1", "2", "5"], shares, strict=True))], [1.0], [None], outputs=["score", "score_sd"]
    )
    [score], [deviation] = made["score"], made["score_sd"]
    assert isinstance(score, float)
    assert isinstance(deviation, float)
    assert 1 - 1e-9 <= score <= 5 + 1e-9
    assert 0 <= deviation <= 2 + 1e-9  # half the scale, when both ends have a half
