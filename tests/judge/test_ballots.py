"""Judges' cells become a panel's cells."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from llmframe.core.columns import ColumnType
from llmframe.errors import LlmframeWarning
from llmframe.judge.ballots import Ballot, ballots_of, decided, first_error, mean
from llmframe.judge.task import Ask, Task

LABEL = Ballot(name="label", type=ColumnType("enum", labels=("a", "b")), labels=("a", "b"))
TAGS = Ballot(name="tags", type=ColumnType("list", item=ColumnType("enum", labels=("x", "y", "z"))))


def one_row(ballot: Ballot, cells: list[object], errors: list[object] | None = None) -> tuple[object, ...]:
    """Verdict, confidence, source and votes of a row that was asked."""
    failed = errors or [None] * len(cells)
    found = decided(ballot, [[cell] for cell in cells], [[error] for error in failed], [True])
    return found.verdicts[0], found.confidences[0], found.sources[0], found.votes[0]


def test_the_winner_comes_with_its_part_of_the_votes():
    assert one_row(LABEL, ["a", "b", "a", "a"]) == ("a", 0.75, "panel", 4)


def test_a_tie_and_no_valid_vote_have_neither_label_nor_confidence():
    assert one_row(LABEL, ["a", "b"]) == (None, None, "tie", 2)
    assert one_row(LABEL, [None, None], ["invalid: x", "timeout: y"]) == (None, None, "no_valid_votes", 0)


def test_judges_that_are_no_better_than_chance_on_gold_are_told_of():
    def weighted(said: list[object], failed: object = None) -> list[object]:
        cells: list[list[object]] = [said * 5, said * 5]
        errors: list[list[object]] = [[failed] * 10] * 2
        return decided(LABEL, cells, errors, [True] * 10, vote="weighted", gold=["a", "b"] * 5).verdicts

    assert weighted(["a", "b"]) == ["a", "b"] * 5
    with pytest.warns(LlmframeWarning, match="no judge is right on `gold` more often than chance"):
        assert weighted(["b", "a"]) == ["a", "b"] * 5  # what nobody said
    with pytest.warns(LlmframeWarning, match="votes count for nothing, or against"):
        weighted(["a", "a"])
    assert weighted([None, None], "timeout: x") == [None] * 10  # no vote at all is no judge's fault


def test_a_row_that_was_not_asked_is_null_throughout():
    found = decided(LABEL, [[None], [None]], [[None], [None]], [False])
    assert (found.verdicts, found.confidences, found.sources, found.votes) == ([None], [None], [None], [None])


def test_a_null_is_a_vote_where_it_is_an_answer():
    name = Ballot(name="name", type=ColumnType("string"), nulls=True)
    assert one_row(name, [None, None, "Ann", None], [None, None, None, "invalid: x"]) == (None, 2 / 3, "panel", 3)


def test_labels_of_a_list_are_voted_on_one_by_one_in_their_declared_order():
    # x: 2 of 3, y: 3 of 3, z: 1 of 3; the least sure of them is sure of 2 / 3.
    verdict, confidence, source, votes = one_row(TAGS, [["y", "x"], ["y"], ["x", "y", "z"]])
    assert (verdict, source, votes) == (["x", "y"], "panel", 3)
    assert confidence == pytest.approx(2 / 3)


def test_half_of_the_voters_for_a_label_of_a_list_is_a_tie():
    assert one_row(TAGS, [["x"], ["x", "y"]]) == (None, None, "tie", 2)


def test_an_empty_list_is_an_answer_and_a_failure_is_none():
    assert one_row(TAGS, [[], [], None], [None, None, "invalid: x"]) == ([], 1.0, "panel", 2)


def test_records_that_are_equal_are_one_vote():
    place = Ballot(
        name="place", type=ColumnType("struct", fields=(("at", ColumnType("list", item=ColumnType("int"))),))
    )
    assert one_row(place, [{"at": [1, 2]}, {"at": [1, 2]}, {"at": [2]}])[0] == {"at": [1, 2]}


def test_judges_that_all_say_the_same_of_everything_leave_nothing_to_estimate():
    level = Ballot(name="level", type=ColumnType("int"), few=True)
    found = decided(level, [[3, 3]] * 3, [[None, None]] * 3, [True, True], vote="dawid_skene")
    assert found.verdicts == [3, 3]
    assert found.confidences == [1.0, 1.0]


def test_the_first_error_is_told_only_if_every_judge_failed():
    assert first_error([None, "timeout: x"], ["one", "two"]) is None
    assert first_error(["invalid: no label: 'x'", "timeout: x"], ["one", "two"]) == "invalid: one: no label: 'x'"


def test_the_mean_leaves_out_what_is_missing():
    assert mean([1, None, 2.0]) == 1.5
    assert mean([None]) is None


def ballots(schema: Any, verdict: str, /, verdict_type: ColumnType | None = None, **options: object) -> list[Ballot]:
    asked = Ask(template="{t}", schema=schema, options={"into": verdict} if verdict else {})
    return ballots_of(Task(asks=(asked,), verdict=verdict, verdict_type=verdict_type), options)


def test_closed_labels_are_known_whatever_their_column_is():
    assert ballots(["a", "b"], "label")[0].type.kind == "enum"
    for found in (ballots(["a", "b"], "label"), ballots(["a", "b"], "label", labels="string")):
        assert found[0].labels == ("a", "b")
    assert ballots(bool, "answer")[0].labels == (False, True)
    assert ballots(Literal[1, 2, 3], "level")[0].labels == (1, 2, 3)
    assert ballots(str, "text")[0].labels == ()


def test_a_type_made_by_the_task_is_its_own():
    [found] = ballots(["1", "2"], "level", ColumnType("int"))
    assert (found.name, found.type.kind, found.few) == ("level", "int", True)


def test_without_a_verdict_every_field_is_a_ballot():
    class Found(BaseModel):
        name: str | None
        kind: Literal["a", "b"]

    assert [(each.name, each.labels, each.nulls) for each in ballots(Found, "")] == [
        ("name", (), True),
        ("kind", ("a", "b"), True),
    ]
