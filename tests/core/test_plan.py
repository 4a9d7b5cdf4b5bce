"""From rows to distinct requests and back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Answer, Failure, Outcome
from llmframe.core.plan import CHUNK_ROWS, NOT_ASKED, NOT_PLANNED, Plan, Planned, first_failure
from llmframe.core.request import Question
from llmframe.core.template import compile_prompt

CANCELLED = Failure("cancelled", "stopped")

CELLS = st.sampled_from(["a", "b", "c", "", None, 1, True, 1.0, "1", "1.0", "True", -0.0])


def plan_of(rows: Sequence[object], *, asked: Sequence[bool] | None = None) -> Plan:
    question = Question(identity="x", model="m", params={}, schema="", output_mode="auto")
    return Plan(
        compile_prompt("{t}", ["t"]),
        question.fingerprints(),
        length=len(rows),
        read=lambda positions, start, stop: [list(rows[start:stop]) for _ in positions],
        asked=asked,
    )


def drawn(plan: Plan) -> list[Planned]:
    return [planned for chunk in plan.draw() for planned in chunk]


def texts(requests: list[Planned]) -> list[object]:
    return [planned.messages[0]["content"] for planned in requests]


def rows_of(plan: Plan, values: Sequence[str]) -> list[str]:
    return plan.scatter(values, unplanned=lambda row: f"row {row} has none", outside="outside")


def test_equal_rows_share_one_request_and_values_go_back_by_position():
    plan = plan_of(["b", "a", "b", "c", "a"])
    assert texts(drawn(plan)) == ["b", "a", "c"]
    assert list(plan.requests) == [0, 1, 0, 2, 1]
    assert list(plan.first_rows) == [0, 1, 3]
    assert rows_of(plan, ["B", "A", "C"]) == ["B", "A", "B", "C", "A"]


def test_cells_that_python_calls_equal_are_three_questions():
    requests = drawn(plan_of([1, True, 1.0, 1, True, 1.0]))
    assert texts(requests) == ["1", "True", "1.0"]
    assert len({planned.key for planned in requests}) == 3


def test_cells_of_different_types_with_one_text_are_one_question():
    assert texts(drawn(plan_of([1, "1"]))) == ["1"]


def test_rows_that_can_not_be_asked_have_their_failure_and_no_request():
    plan = plan_of(["a", None, "\ud800"])
    assert texts(drawn(plan)) == ["a"]
    assert {row: failure.kind for row, failure in plan.failures.items()} == {1: "null", 2: "encoding"}
    assert list(plan.requests) == [0, NOT_PLANNED, NOT_PLANNED]
    assert plan.rows_done == 2


def test_rows_outside_the_mask_are_neither_read_nor_failed():
    plan = plan_of(["a", None, "b", "a"], asked=[False, False, True, True])
    assert texts(drawn(plan)) == ["b", "a"]
    assert plan.failures == {}
    assert list(plan.requests) == [NOT_ASKED, NOT_ASKED, 0, 1]
    assert rows_of(plan, ["B", "A"]) == ["outside", "outside", "B", "A"]
    assert plan.rows_done == 2  # those two wait for nothing


def test_a_chunk_without_an_asked_row_is_not_read_at_all():
    def read(positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        assert start == CHUNK_ROWS
        return [["a"] * (stop - start) for _ in positions]

    plan = Plan(
        compile_prompt("{t}", ["t"]),
        Question(identity="x", model="m", params={}, schema="", output_mode="auto").fingerprints(),
        length=CHUNK_ROWS + 1,
        read=read,
        asked=[False] * CHUNK_ROWS + [True],
    )
    assert [len(chunk) for chunk in plan.draw()] == [0, 1]


@pytest.mark.parametrize("length", [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2 * CHUNK_ROWS + 3])
def test_rows_are_read_a_chunk_at_a_time_each_once(length: int):
    reads: list[tuple[int, int]] = []
    rows = [str(number) for number in range(length)]

    def read(positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        reads.append((start, stop))
        return [list(rows[start:stop]) for _ in positions]

    plan = Plan(
        compile_prompt("{t}", ["t"]),
        Question(identity="x", model="m", params={}, schema="", output_mode="auto").fingerprints(),
        length=length,
        read=read,
    )
    assert texts(drawn(plan)) == rows
    starts = list(range(0, length, CHUNK_ROWS))
    assert reads == [(start, min(start + CHUNK_ROWS, length)) for start in starts]


def test_rows_share_requests_over_chunks_too():
    plan = plan_of(["a", *map(str, range(CHUNK_ROWS)), "a"])
    requests = drawn(plan)
    assert len(requests) == 1 + CHUNK_ROWS
    assert plan.requests[-1] == 0


def test_a_chunk_is_drawn_when_it_is_asked_for():
    plan = plan_of(["x"] * CHUNK_ROWS + ["y"])
    chunks = plan.draw()
    assert texts(next(chunks)) == ["x"]
    assert plan.requests[-1] == NOT_PLANNED
    assert texts(next(chunks)) == ["y"]


@given(rows=st.lists(CELLS, max_size=60), data=st.data())
def test_scattering_undoes_deduplication(rows: list[object], data: st.DataObject):
    """Whatever rows, duplicates, nulls and masks: row i gets what belongs to its own text."""
    asked = data.draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    plan = plan_of(rows, asked=asked)
    requests = drawn(plan)
    assert len({planned.key for planned in requests}) == len(requests) == len(plan.first_rows)
    assert [planned.index for planned in requests] == list(range(len(requests)))
    values = [f"answer to {text!r}" for text in texts(requests)]
    for row, (cell, value) in enumerate(zip(rows, rows_of(plan, values), strict=True)):
        if asked is not None and not asked[row]:
            assert value == "outside"
        elif cell is None:
            assert value == f"row {row} has none"
            assert plan.failures[row].kind == "null"
        else:
            (single,) = drawn(plan_of([cell]))
            assert value == f"answer to {single.messages[0]['content']!r}"
    for index, row in enumerate(plan.first_rows):
        assert plan.requests[row] == index
        assert index not in plan.requests[:row]


@given(rows=st.lists(CELLS, max_size=40), data=st.data())
def test_the_rows_done_add_up_whenever_requests_finish(rows: list[object], data: st.DataObject):
    asked = data.draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    plan = plan_of(rows, asked=asked)
    requests = drawn(plan)
    finished = data.draw(st.permutations(range(len(requests))))
    for count, index in enumerate(finished, start=1):
        plan.finish(index)
        plan.finish(index)  # told twice, counted once
        waiting = [row for row, number in enumerate(plan.requests) if number >= 0 and number not in finished[:count]]
        assert plan.rows_done == len(rows) - len(waiting)
    assert plan.rows_done == len(rows)


def test_a_row_that_joins_a_finished_request_is_done_at_once():
    plan = plan_of(["a"] * CHUNK_ROWS + ["a", "b"])
    chunks = plan.draw()
    next(chunks)
    plan.finish(0)
    assert plan.rows_done == CHUNK_ROWS
    next(chunks)
    assert plan.rows_done == CHUNK_ROWS + 1


def test_values_that_are_not_there_yet_are_the_rows_own():
    plan = plan_of(["a", "b", "a"])
    drawn(plan)
    assert rows_of(plan, ["A"]) == ["A", "row 1 has none", "A"]
    assert rows_of(plan, []) == ["row 0 has none", "row 1 has none", "row 2 has none"]


def outcome(result: Answer | Failure) -> Outcome:
    return Outcome(result=result)


def test_the_first_failure_is_the_first_by_position():
    plan = plan_of(["a", None, "b"])
    drawn(plan)
    answer, timeout = Answer("x", ("x",)), Failure("timeout", "late")
    assert first_failure(plan, [outcome(answer), outcome(timeout)], missing=CANCELLED) == (1, plan.failures[1])
    assert first_failure(plan, [outcome(timeout), outcome(answer)], missing=CANCELLED) == (0, timeout)


def test_a_row_that_was_merely_cancelled_is_named_only_when_no_other_failed():
    plan = plan_of(["a", "b", "c"])
    drawn(plan)
    timeout = Failure("timeout", "late")
    assert first_failure(plan, [None, outcome(timeout)], missing=CANCELLED) == (1, timeout)
    assert first_failure(plan, [outcome(Answer("x", ("x",)))], missing=CANCELLED) == (1, CANCELLED)


def test_without_a_failure_there_is_no_first_one():
    plan = plan_of(["a", "b"], asked=[True, False])
    drawn(plan)
    assert first_failure(plan, [outcome(Answer("x", ("x",)))], missing=CANCELLED) is None


def test_repeats_are_found_when_their_texts_are_no_longer_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmframe.core.plan.REMEMBERED_CHARACTERS", 20)
    plan = plan_of([f"row-{row % 7}" for row in range(2000)])
    assert sum(len(chunk) for chunk in plan.draw()) == 7
    assert [plan.requests[row] for row in range(2000)] == [row % 7 for row in range(2000)]
