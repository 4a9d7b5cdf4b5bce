"""The levels of a rubric."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.errors import UsageError
from llmframe.judge.levels import Level, Scale, levels_of


def told(levels: Any, scale: Scale = "ordinal") -> list[tuple[Any, str, str, float | None]]:
    return [(step.value, step.code, step.meaning, step.number) for step in levels_of(levels, scale)]


def test_digits_are_their_own_codes_and_count_as_themselves():
    assert told({1: "bad", 5: " good "}) == [(1, "1", "bad", 1.0), (5, "5", "good", 5.0)]
    assert [step.code for step in levels_of(range(10), "ordinal")] == list("0123456789")


def test_other_whole_numbers_have_letters_and_count_as_themselves():
    assert told([10, 0, -5]) == [(10, "A", "", 10.0), (0, "B", "", 0.0), (-5, "C", "", -5.0)]


def test_names_count_from_one_in_their_order_and_two_from_zero():
    assert told(["low", "mid", "high"]) == [("low", "A", "", 1.0), ("mid", "B", "", 2.0), ("high", "C", "", 3.0)]
    assert [step.number for step in levels_of(["no", "yes"], "binary")] == [0.0, 1.0]


def test_names_without_an_order_have_no_number():
    assert levels_of(["x", "y"], "nominal")[1] == Level("y", "B", "", None)


def test_there_may_be_as_many_as_letters():
    assert [step.code for step in levels_of(range(1, 27), "ordinal")][-1] == "Z"


@pytest.mark.parametrize(
    ("levels", "scale", "message"),
    [
        (range(27), "ordinal", "`levels` has 27; a rubric has 2 to 26, each one token"),
        ([1], "ordinal", "`levels` has 1; a rubric has 2 to 26"),
        (["a", "b", "a"], "ordinal", "`levels` has 'a' twice"),
        (["a", 1], "ordinal", "all of one kind, got \\['a', 1\\]"),
        ([True, False], "binary", "for bools say 0 and 1"),
        (["a", " "], "ordinal", "whole numbers or texts"),
        ({1: "x", 2: None}, "ordinal", "the meaning of a level is text"),
        ([1, 2, 3], "binary", '`scale="binary"` has two levels, got 3'),
        ("abc", "ordinal", "a dict of levels and meanings, a list or a range, got 'abc'"),
        (5, "ordinal", "a list or a range, got 5"),
    ],
)
def test_levels_that_cannot_be_are_told(levels: Any, scale: Scale, message: str):
    with pytest.raises(UsageError, match=message):
        levels_of(levels, scale)
