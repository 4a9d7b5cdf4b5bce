"""Whose turn it is."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine.line import UNBOUNDED, Flow, Line, Ticket
from llmframe.engine.tokens import Cost
from llmframe.options import Priority

ONE = Cost(1, 1)


def wait_in(line: Line, flow: Flow, count: int = 1) -> list[Ticket]:
    tickets = [Ticket(flow, ONE, 0.0) for _ in range(count)]
    for ticket in tickets:
        line.add(ticket)
    return tickets


def next_flow(line: Line, now: float = 0.0) -> Flow:
    ticket = line.head(now)
    assert ticket is not None
    line.take(ticket)
    return ticket.flow


def test_a_flow_is_served_in_the_order_it_came():
    line, flow = Line(), Flow(9)
    tickets = wait_in(line, flow, 5)
    served: list[Ticket] = []
    while (ticket := line.head(0.0)) is not None:
        line.take(ticket)
        served.append(ticket)
    assert served == tickets
    assert not line


def test_of_21_turns_high_has_16_normal_4_and_low_1():
    line = Line()
    flows: dict[Priority, Flow] = {"high": Flow(9, "high"), "normal": Flow(9, "normal"), "low": Flow(9, "low")}
    for flow in flows.values():
        wait_in(line, flow, 300)
    served = Counter(next_flow(line).priority for _ in range(10 * 21))
    assert served == {"high": 160, "normal": 40, "low": 10}


def test_calls_of_one_class_take_turns():
    line, first, second = Line(), Flow(9), Flow(9)
    wait_in(line, first, 20)
    wait_in(line, second, 20)
    served = [next_flow(line) for _ in range(20)]
    assert 9 <= served.count(second) <= served.count(first) <= 11


def test_a_call_that_comes_beside_a_backfill_has_its_turn_at_once():
    line, backfill, call = Line(), Flow(9), Flow(9)
    wait_in(line, backfill, 10_000)
    for _ in range(5_000):
        next_flow(line)
    wait_in(line, call, 3)
    served = [next_flow(line) for _ in range(6)]
    assert call in served[:2]
    assert served.count(call) == 3  # every second turn


def test_turns_that_were_not_waited_for_are_not_saved_up():
    line, busy, late = Line(), Flow(9), Flow(9)
    wait_in(line, busy, 400)
    wait_in(line, late)
    for _ in range(200):
        next_flow(line)
    wait_in(line, late, 200)
    served = [next_flow(line) for _ in range(100)]
    assert 49 <= served.count(late) <= 51


def test_a_train_of_calls_over_one_row_does_not_shut_others_out():
    line, backfill = Line(), Flow(9)
    wait_in(line, backfill, 100)
    wait_in(line, Flow(9))
    served: list[Flow] = []
    for _ in range(100):
        served.append(next_flow(line))
        wait_in(line, Flow(9))  # the next one is there before anybody else has a turn
    assert served.count(backfill) >= 49


def test_calls_that_were_cancelled_have_nobody_wait_for_their_turns():
    line, backfill = Line(), Flow(9)
    wait_in(line, backfill, 1_000)
    for _ in range(10):
        next_flow(line)
    cancelled = [ticket for _ in range(500) for ticket in wait_in(line, Flow(9))]
    for ticket in cancelled:
        line.remove(ticket)
    late = Flow(9)
    wait_in(line, late)
    assert late in [next_flow(line) for _ in range(2)]


def test_a_call_whose_only_request_was_cancelled_has_its_first_turn_later():
    line, backfill, call = Line(), Flow(9), Flow(9)
    wait_in(line, backfill, 100)
    (ticket,) = wait_in(line, call)
    line.remove(ticket)
    wait_in(line, call)
    assert call in [next_flow(line) for _ in range(3)]  # theirs are due at the same turn
    wait_in(line, call, 50)
    served = [next_flow(line) for _ in range(40)]
    assert 19 <= served.count(call) <= 21


def test_a_flow_whose_places_are_taken_is_passed_over():
    line, full, free = Line(), Flow(1, "high"), Flow(1)
    wait_in(line, full, 2)
    wait_in(line, free, 2)
    full.in_flight = 1
    assert next_flow(line) is free
    full.in_flight = 0
    assert next_flow(line) is full


def test_a_flow_that_probes_has_one_place():
    flow = Flow(9)
    flow.probing = True
    assert flow.free(0.0)
    flow.in_flight = 1
    assert not flow.free(0.0)


def test_a_held_flow_blocks_nobody_and_tells_when_it_goes_on():
    line, held, other = Line(), Flow(9, "high"), Flow(9, "low")
    wait_in(line, held, 2)
    wait_in(line, other)
    held.held_until = 5.0
    assert next_flow(line, now=1.0) is other
    assert line.head(1.0) is None
    assert line.held_until(1.0) == 5.0
    assert next_flow(line, now=5.0) is held
    assert line.held_until(5.0) == UNBOUNDED


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["add", "take", "leave"])), max_size=80), st.data())
def test_whoever_joins_and_leaves_the_line_is_empty_when_nobody_waits(
    moves: list[tuple[int, str]], data: st.DataObject
):
    line = Line()
    flows = [Flow(9, "high"), Flow(9), Flow(9, "low")]
    waiting: list[Ticket] = []
    for number, move in moves:
        if move == "add":
            waiting += wait_in(line, flows[number])
        elif move == "take" and waiting:
            head = line.head(0.0)
            assert head is not None
            line.take(head)
            waiting.remove(head)
        elif move == "leave" and waiting:
            ticket = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            line.remove(ticket)
    assert sum(len(flow.waiting) for flow in flows) == len(waiting)
    for ticket in waiting:
        line.remove(ticket)
    assert not line
    assert line.head(0.0) is None


@given(st.lists(st.sampled_from(["high", "normal", "low"]), min_size=2, max_size=6))
def test_between_two_turns_of_a_waiting_flow_no_other_has_more_than_its_weight_says(priorities: list[Priority]):
    weights = {"high": 16, "normal": 4, "low": 1}
    line = Line()
    flows = [Flow(9, priority) for priority in priorities]
    for flow in flows:
        wait_in(line, flow, 200)
    served = [next_flow(line) for _ in range(120)]
    for flow in flows:
        turns = [number for number, who in enumerate(served) if who is flow]
        for start, end in itertools.pairwise(turns):
            between = Counter(id(who) for who in served[start + 1 : end])
            for other in flows:
                assert between[id(other)] <= weights[other.priority] / weights[flow.priority] + 1
