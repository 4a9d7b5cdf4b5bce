"""What is left of a run, with numbers by hand."""

from __future__ import annotations

import pytest

from llmframe.core.outlook import Outlook


def outlook(*, requests: int, characters: int, rows: int, done: int, each: int) -> Outlook:
    found = Outlook()
    found.planned(requests, characters, rows=rows)
    for _ in range(done):
        found.settled(each)
    return found


def test_rows_that_are_not_drawn_yet_are_like_those_that_are():
    # 10 of 20 rows gave 5 requests, 4 are done at 100 tokens each: 1 waits, 5 are to come
    left = outlook(requests=5, characters=500, rows=10, done=4, each=100).left(
        rows=20, kept=0, input_tokens=320, output_tokens=80
    )
    assert left is not None
    assert (left.requests, left.tokens, left.done) == (6.0, 600.0, 4)


def test_what_is_drawn_counts_by_its_size():
    # one waits, ten times as long as the four that are done: 80·10 in, 20 out
    left = outlook(requests=5, characters=400 + 1000, rows=5, done=4, each=100).left(
        rows=5, kept=0, input_tokens=320, output_tokens=80
    )
    assert left is not None
    assert left.tokens == pytest.approx(820.0)


def test_kept_answers_cost_nothing_and_are_not_to_come():
    # 10 rows gave 10 requests: 5 kept, 4 done, 1 waits; of 10 rows more half will be kept
    left = outlook(requests=10, characters=1000, rows=10, done=4, each=100).left(
        rows=20, kept=5, input_tokens=400, output_tokens=0
    )
    assert left is not None
    assert (left.requests, left.tokens) == (6.0, 600.0)


def test_more_outcomes_than_were_drawn_leave_nothing_to_wait_for():
    left = outlook(requests=3, characters=0, rows=10, done=4, each=0).left(
        rows=10, kept=0, input_tokens=400, output_tokens=0
    )
    assert left is not None
    assert left.requests == 0.0


@pytest.mark.parametrize(("rows", "drawn", "done"), [(None, 5, 2), (10, 0, 0), (10, 5, 0)])
def test_nothing_is_told_before_the_first_answer_or_without_the_number_of_rows(rows: int | None, drawn: int, done: int):
    found = outlook(requests=drawn, characters=9, rows=drawn, done=done, each=1)
    assert found.left(rows=rows, kept=0, input_tokens=9, output_tokens=9) is None


def test_a_finished_run_has_nothing_left():
    left = outlook(requests=5, characters=500, rows=5, done=5, each=100).left(
        rows=5, kept=0, input_tokens=320, output_tokens=80
    )
    assert left is not None
    assert (left.requests, left.tokens) == (0.0, 0.0)
