from __future__ import annotations

import threading

import pytest

from llmframe.testing.answers import Response
from llmframe.testing.tally import Tally, prompt_of


def test_a_call_is_in_flight_until_it_is_answered_or_left():
    tally = Tally(keep=True)
    for _ in range(3):
        tally.arrived({}, {}, at=1.5)
    tally.answered(Response(status=200, prompt_tokens=3, completion_tokens=2))
    tally.answered(Response(ending="cut", prompt_tokens=3, completion_tokens=2))
    tally.left(by_client=True)
    assert (tally.requests, tally.in_flight, tally.max_in_flight, tally.closed_in_flight) == (3, 0, 3, 1)
    assert (tally.statuses, tally.prompt_tokens, tally.completion_tokens) == ({200: 1}, 3, 2)


def test_zeroing_keeps_what_is_in_flight():
    tally = Tally(keep=True)
    tally.arrived({"a": 1}, {}, at=0)
    tally.zero()
    assert (tally.requests, tally.in_flight, tally.max_in_flight, tally.bodies) == (0, 1, 1, [])


def test_without_keeping_the_counters_go_on():
    tally = Tally(keep=False)
    tally.arrived({"a": 1}, {"b": "2"}, at=0)
    assert (tally.requests, tally.bodies, tally.headers) == (1, [], [])


def test_times_charges_and_refusals_are_kept_without_records_too():
    tally = Tally(keep=False)
    for at, refused in ((1.0, False), (1.5, True), (2.0, False)):
        tally.arrived({}, {}, at=at)
        if refused:
            tally.limited()
        else:
            tally.charged(30)
    assert (list(tally.arrivals), list(tally.limited_at), list(tally.charges)) == ([1.0, 1.5, 2.0], [1.5], [30, 0, 30])
    tally.zero()
    assert (list(tally.arrivals), list(tally.limited_at), list(tally.charges)) == ([], [], [])


def test_a_waiter_wakes_at_the_change_that_it_waits_for():
    tally = Tally(keep=False)
    reached: list[bool] = []
    waiter = threading.Thread(target=lambda: reached.append(tally.wait_for(lambda: tally.requests >= 100, 60)))
    waiter.start()
    for _ in range(100):
        tally.arrived({}, {}, at=1.5)
    waiter.join(60)
    assert reached == [True]


def test_a_wait_ends_with_its_time():
    assert not Tally(keep=False).wait_for(lambda: False, 0.01)


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ({}, ""),
        ({"messages": "x"}, ""),
        ({"messages": [{"role": "system", "content": "s"}]}, ""),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, "a"),
    ],
)
def test_the_prompt_of_a_body_is_its_last_user_message(body, prompt):
    assert prompt_of(body) == prompt
