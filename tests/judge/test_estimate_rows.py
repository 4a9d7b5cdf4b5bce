"""A judge's answers and the known ones as numbers: scores, labels, probabilities, distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.estimate_rows import chances, estimate_rows, less


def rows(judge: list[Any], gold: list[Any], *, label: Any = None, error: list[Any] | None = None):
    cells = [
        {"said": said, "error": fault, "human": human}
        for said, fault, human in zip(judge, error or [None] * len(judge), gold, strict=True)
    ]
    return estimate_rows(wrap(cells), "said", "human", label=label)


def told(numbers: Any) -> list[float | None]:
    return [None if math.isnan(each) else each for each in numbers]


def test_scores_stay_as_they_are_and_nulls_are_unknown():
    found = rows([1, 2.5, None], [2, None, math.nan])
    assert (told(found.judge), told(found.gold)) == ([1, 2.5, None], [2, None, None])
    assert (found.of, found.share) == ("mean of 'said'", False)


def test_true_and_false_are_a_share():
    found = rows([True, False, None], [True, None, False])
    assert (told(found.judge), told(found.gold)) == ([1, 0, None], [1, None, 0])
    assert found.of == "share of True"


def test_a_label_is_one_where_it_was_said():
    found = rows(["a", "b", None], ["b", "a", None], label="a")
    assert (told(found.judge), told(found.gold)) == ([1, 0, None], [0, 1, None])
    assert found.of == "share of 'a'"


def test_a_number_can_be_a_label():
    assert told(rows([1, 2, 2], [2, 2, None], label=2).judge) == [0, 1, 1]


def test_a_failed_row_has_no_answer():
    assert told(rows(["a", "b"], ["b", "a"], label="a", error=[None, "timeout: 30 s"]).judge) == [1, None]


def test_probabilities_are_taken_as_they_are_where_the_gold_holds_labels():
    assert told(rows([0.25, None, 1], ["a", "b", None], label="a").judge) == [0.25, None, 1]


def test_a_distribution_gives_the_probability_of_the_label():
    found = rows([{"a": 0.7, "b": 0.3}, None], ["a", "b"], label="a")
    assert told(found.judge) == [0.7, None]


@pytest.mark.parametrize(
    ("judge", "gold", "label", "message"),
    [
        (["a", "b"], ["a", None], None, "holds labels, not scores: 'a', 'b'; say whose share is wanted: `label='a'`"),
        ([1, 2], ["a", None], None, "`gold` 'human' holds labels"),
        (["good", "bad"], ["good", None], "god", "no answer and no gold is 'god'; did you mean 'good'"),
        ([3, 0.5], ["a", "b"], "a", "3.0 is no probability"),
        ([{"a": 1.0}], ["a"], "c", "no answer and no gold is 'c'"),
    ],
    ids=["labels", "gold of labels", "misspelt", "no probability", "not in the distribution"],
)
def test_what_cannot_be_meant_is_refused(judge: list[Any], gold: list[Any], label: Any, message: str):
    with pytest.raises(UsageError, match=message):
        rows(judge, gold, label=label)


def test_a_difference_is_known_where_both_are():
    first, second = (
        rows(["a", "b", None], ["a", None, "a"], label="a"),
        rows(["b", "b", "a"], ["a", "a", "a"], label="a"),
    )
    found = less(second, first, ("old", "new"))
    assert (told(found.judge), told(found.gold)) == ([-1, 0, None], [0, None, 0])
    assert found.of == "share of 'a' of 'new' less that of 'old'"
    assert less(rows([1], [2]), rows([3], [4]), ("old", "new")).of == "mean of 'new' less 'old'"


def picked(cells: list[float | None], known: list[bool]) -> tuple[list[float | None], str]:
    found, note = chances(wrap([{"p": cell} for cell in cells]), "p", np.array(known), np.ones(len(cells), dtype=bool))
    return told(found), note


def test_picked_rows_that_nobody_labelled_are_made_up_for_and_told():
    found, note = picked([0.5, 0.4, None, 0.4, 0.4], [True, True, False, False, True])
    # three of the four picked rows are known
    assert found == pytest.approx([0.375, 0.3, None, 0.3, 0.3])
    assert note.startswith("1 of 4 picked rows have no gold")


@pytest.mark.parametrize(
    "cells", [[0.5, 0.2, 0.3], [0.5, None, None]], ids=["every row's is told", "all picked are known"]
)
def test_otherwise_probabilities_stay_as_they_are(cells: list[float | None]):
    assert picked(cells, [True, False, False]) == (cells, "")


def test_a_known_row_without_a_probability_is_refused():
    with pytest.raises(UsageError, match="1 rows with gold have no probability in `probability`"):
        picked([None, 0.5], [True, True])


@pytest.mark.parametrize(
    ("cells", "known"),
    [
        ([0.1] * 20, [True] * 20),
        ([0.1] * 20, [True] * 15 + [False] * 5),
        ([0.7, 0.8, 0.9], [True] * 3),
    ],
    ids=["all picked rows", "some left empty", "large probabilities"],
)
def test_picked_rows_alone_are_refused_because_the_others_are_missing(cells: list[float | None], known: list[bool]):
    with pytest.raises(
        UsageError, match="pass the whole frame, with the judge's answers to the rows that weren't picked"
    ):
        picked(cells, known)


def test_every_row_known_for_sure_is_the_whole_frame():
    assert picked([1.0, 1.0], [True, True]) == ([1.0, 1.0], "")
