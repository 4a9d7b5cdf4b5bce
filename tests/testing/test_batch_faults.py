from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.testing import BadBody, Cut, Delay, Empty, Hang, Html, Reset, Results, Status
from llmframe.testing.answers import Response
from llmframe.testing.batch_faults import Turns, call_fault, disturbed


def worked(step, *, lost: bool = False) -> bool:
    """Whether the work is done under a step."""
    done = list[Response]()
    call_fault("create", step, lost=lost).answer(lambda: done.append(Response(body=b"{}")) or done[0])
    return bool(done)


def test_turns_come_in_order_before_what_stands():
    turns = Turns[str]()
    assert turns.take() is None
    turns.add("always", None)
    turns.add("twice", 2)
    turns.add("once", 1)
    assert [turns.take() for _ in range(5)] == ["twice", "twice", "once", "always", "always"]


def test_work_is_done_for_an_answer_that_is_lost_or_breaks():
    assert [worked(step) for step in (Status(500), Reset(), Hang(), Html())] == [False] * 4
    assert [worked(step, lost=True) for step in (Status(500), Reset(), Hang(), Html())] == [True] * 4
    assert [worked(step) for step in (Cut(), BadBody(), Delay(1.0), Delay(1.0, Cut()))] == [True] * 4


def test_an_answer_is_delayed_replaced_or_cut():
    whole = Response(body=b'{"a": 1}')
    assert disturbed(whole, Delay(2.0)).delay == 2.0
    late = disturbed(whole, Delay(2.0, Status(503)))
    assert (late.delay, late.status) == (2.0, 503)
    assert disturbed(whole, BadBody()).body == b'{"a"'
    assert disturbed(whole, Cut()).ending == "cut"


def test_steps_about_a_reply_are_refused_inside_a_delay_too():
    for step in (Empty(), Delay(1.0, Empty())):
        with pytest.raises(UsageError, match="no reply"):
            call_fault("state", step, lost=False)


def test_lines_are_written_as_told():
    lines = [b"1", b"2"]
    assert Results().written(lines) == b"1\n2\n"
    assert Results(reverse=True, double=True).written(lines) == b"2\n1\n2\n1\n"
    assert Results(blank_line=True).written(lines) == b"1\n2\n\n"


def test_missing_lines_are_the_first_ones_or_those_of_a_function():
    assert [Results(missing=2).leaves_out(at, "x") for at in range(3)] == [True, True, False]
    assert [Results(missing="b".__eq__).leaves_out(0, name) for name in "ab"] == [False, True]
