"""From rows to distinct requests and back."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Answer, Failure, Outcome
from llmframe.core.plan import (
    CHUNK_CHARS,
    CHUNK_ROWS,
    NOT_ASKED,
    NOT_PLANNED,
    SAMPLE_ROWS,
    Plan,
    Planned,
    first_failure,
)
from llmframe.core.request import Question
from llmframe.core.template import Template, compile_prompt

CANCELLED = Failure("cancelled", "stopped")

WORD = type("Word", (str,), {})
COLUMNS = [
    st.sampled_from(["a", "b", "", None, "\ud800", "ü"]),
    st.sampled_from([1, 2, None, 10**5000]),
    st.sampled_from([True, False]),
    st.sampled_from(["1", 1, True, 1.0, None, -0.0, 0.0, Decimal("1.0"), Decimal("1.00"), WORD("1"), b"x", ["1"]]),
]
"""Columns of one type, and an object column that holds whatever it likes."""

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
    entries = plan.entries(values, failed=lambda failure: failure.kind, outside="outside", missing="missing")
    return [entries[number] for number in plan.requests]


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
    assert rows_of(plan, ["A"]) == ["A", "null", "encoding"]
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
    sample = [(0, min(SAMPLE_ROWS, length))] if length else []
    assert reads == sample + [(start, min(start + CHUNK_ROWS, length)) for start in starts]


def test_a_chunk_of_long_rows_has_few_of_them():
    long, short = CHUNK_CHARS // 4, 20
    rows = [str(number) * (long if number < 8 else short) for number in range(200)]
    plan = plan_of(rows)
    sizes, drawn_rows = [], []
    for chunk in plan.draw():
        sizes.append(len(chunk))
        drawn_rows.append(plan.rows_drawn)
    assert sizes == [4, 4, 4, 188]  # as many as were as long as those before
    assert drawn_rows == [4, 8, 12, 200]


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
            assert value == "null"
            assert plan.failures[row].kind == "null"
        else:
            (single,) = drawn(plan_of([cell]))
            assert value == f"answer to {single.messages[0]['content']!r}"
    for index, row in enumerate(plan.first_rows):
        assert plan.requests[row] == index
        assert index not in plan.requests[:row]


@given(data=st.data(), width=st.integers(1, 2), chunk=st.integers(1, 7), remembered=st.sampled_from([0, 400, 10**6]))
def test_known_cells_change_nothing(data: st.DataObject, width: int, chunk: int, remembered: int):
    """Any cells, one or two columns, any chunks and memory: as when every row was rendered alone."""
    columns = data.draw(
        st.lists(st.lists(data.draw(st.sampled_from(COLUMNS)), min_size=20, max_size=20), min_size=2, max_size=2)
    )
    columns = columns[:width]
    prompt = compile_prompt(["{t}!", "{t}|{u}"][width - 1], ["t", "u"][:width])
    asked = data.draw(st.none() | st.lists(st.booleans(), min_size=20, max_size=20))
    fingerprints = Question(identity="x", model="m", params={}, schema="", output_mode="auto").fingerprints()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llmframe.core.plan.CHUNK_ROWS", chunk)
        patch.setattr("llmframe.core.known.REMEMBERED_BYTES", remembered)
        plan = Plan(
            prompt,
            fingerprints,
            length=20,
            read=lambda positions, start, stop: [columns[at][start:stop] for at in positions],
            asked=asked,
        )
        requests = drawn(plan)
    keys: list[bytes] = []
    for row in range(20):
        number = plan.requests[row]
        if asked is not None and not asked[row]:
            assert number == NOT_ASKED
            continue
        [alone] = prompt.render([[column[row]] for column in columns])
        if isinstance(alone, Failure):
            assert plan.failures[row] == alone
            continue
        assert row not in plan.failures
        key = fingerprints.key(prompt.messages(alone))
        if key not in keys:
            keys.append(key)
            assert plan.first_rows[number] == row
            assert requests[number] == Planned(number, key, prompt.messages(alone))
        assert number == keys.index(key)
    assert [planned.key for planned in requests] == keys
    assert plan.shares == [list(plan.requests).count(number) for number in range(len(keys))]
    assert sum(plan.failed_rows.values()) == len(plan.failures) == len(dict(plan.failures))
    assert plan.rows_done == 20 - sum(plan.shares)


def test_a_callable_is_called_for_every_row():
    numbers = iter(range(9))
    plan = Plan(
        compile_prompt(lambda row: f"{row['t']} {next(numbers)}", ["t"]),
        Question(identity="x", model="m", params={}, schema="", output_mode="auto").fingerprints(),
        length=3,
        read=lambda positions, start, stop: [["a"] * (stop - start) for _ in positions],
    )
    assert texts(drawn(plan)) == ["a 0", "a 1", "a 2"]


def test_a_prompt_without_a_column_is_one_question():
    plan = Plan(
        compile_prompt(Template("why?", literal=True), ["t"]),
        Question(identity="x", model="m", params={}, schema="", output_mode="auto").fingerprints(),
        length=3,
        read=lambda positions, start, stop: [],
    )
    assert texts(drawn(plan)) == ["why?"]
    assert list(plan.requests) == [0, 0, 0]


def test_equal_failures_are_kept_once():
    plan = plan_of([None, "a", None, "\ud800", 1, None])
    drawn(plan)
    assert {failure.kind: rows for failure, rows in plan.failed_rows.items()} == {"null": 3, "encoding": 1}
    assert list(plan.failures) == [0, 2, 3, 5]
    assert plan.failures[0] is plan.failures[5]
    assert plan.failures.get(1) is None


def test_rows_outside_the_mask_are_so_before_they_are_drawn():
    plan = plan_of(["a", "b"], asked=[True, False])
    assert list(plan.requests) == [NOT_PLANNED, NOT_ASKED]
    assert (plan.not_asked, plan.rows_done) == (1, 1)
    assert rows_of(plan, []) == ["missing", "outside"]


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
    assert rows_of(plan, ["A"]) == ["A", "missing", "A"]
    assert rows_of(plan, []) == ["missing"] * 3


def test_a_copy_of_what_is_known_by_now_stays_so_while_the_plan_goes_on():
    rows = [*range(CHUNK_ROWS), None, "late"]
    plan = plan_of(rows)
    chunks = plan.draw()
    next(chunks)
    twin = plan.so_far()
    drawn_by_then = plan.requests[:]
    next(chunks)
    assert twin.requests == drawn_by_then
    assert (len(twin.first_rows), len(plan.first_rows)) == (CHUNK_ROWS, CHUNK_ROWS + 1)
    told = rows_of(twin, [str(number) for number in range(CHUNK_ROWS)])
    assert told[-3:] == [str(CHUNK_ROWS - 1), "missing", "missing"]
    assert (twin.failures, len(plan.failures)) == ({}, 1)


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
    monkeypatch.setattr("llmframe.core.known.REMEMBERED_BYTES", 400)
    plan = plan_of([f"row-{row % 7}" for row in range(2000)])
    assert sum(len(chunk) for chunk in plan.draw()) == 7
    assert [plan.requests[row] for row in range(2000)] == [row % 7 for row in range(2000)]
