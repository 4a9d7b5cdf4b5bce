"""What passes a gate, in simulated time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Usage
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.engine.gate import ClosedError, Gate
from llmframe.engine.line import Flow, Ticket
from llmframe.engine.pace import BURST_SECONDS
from llmframe.engine.tokens import BURST_SECONDS as TOKEN_SECONDS
from llmframe.engine.tokens import Cost
from llmframe.options import Priority
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import CountingLoop, others, run_counting, say, settle

TINY = 1e-3
"""Requests or tokens: what sums of floats may be off by."""

SMALL = Cost(5, 5)


def now() -> float:
    return asyncio.get_running_loop().time()


def joined(gate: Gate, flow: Flow | None = None) -> Flow:
    flow = flow or Flow(10_000)
    gate.join(flow)
    return flow


def answer(gate: Gate, ticket: Ticket, *, tokens: int | None = None, limits: RateLimits | None = None) -> None:
    cost = ticket.cost
    usage = Usage(round(cost.input), round(cost.output), 0) if tokens is None else Usage(tokens, 0, 0)
    gate.answered(ticket, replace(say("pos", usage=usage), limits=limits))


def refuse(gate: Gate, ticket: Ticket, retry_after: float | None = None, *, limits: RateLimits | None = None) -> None:
    gate.faulted(ticket, RequestError("rate_limit", "429", status=429, retry_after=retry_after, limits=limits))


async def visit(gate: Gate, flow: Flow, *, cost: Cost = SMALL, at: float = 0.0, stay: float = 0.0) -> float:
    """One request that comes at `at` and is answered after `stay`; returns when it was let through."""
    await asyncio.sleep(at - now())
    ticket = await gate.enter(flow, cost)
    came = now()
    await asyncio.sleep(stay)
    answer(gate, ticket)
    return came


async def warm(gate: Gate, flow: Flow) -> None:
    """Let the adaptive limit grow out of the way."""
    while gate.limit < 200:
        await asyncio.gather(*(visit(gate, flow, cost=Cost(0, 0), at=now(), stay=1.0) for _ in range(256)))


def allowance(limit: float | None = None, remaining: float | None = None) -> Allowance:
    return Allowance(limit, remaining, None)


def most_in_window(grants: Sequence[tuple[float, float]], window: float) -> float:
    return max(sum(amount for time, amount in grants if start <= time <= start + window) for start, _ in grants)


# Laws ----------------------------------------------------------------------------------------------------------------

Fate = Literal["answer", "less", "more", "silent", "fault", "limit", "wait", "unsent", "lost", "cancel"]
FATES: tuple[Fate, ...] = ("answer", "less", "more", "silent", "fault", "limit", "wait", "unsent", "lost", "cancel")


@dataclass(frozen=True)
class Asked:
    """A request of a random day: `tokens` are estimated; a cancel comes `stay` seconds after it."""

    flow: int
    at: float
    stay: float
    tokens: int
    fate: Fate


@dataclass
class Seen:
    """What became of a day; `left` are requests in flight, tasks and timers after it."""

    came: list[Asked]
    order: list[Asked]
    granted: list[tuple[float, Asked]]
    refunds: list[tuple[float, float]]
    left: tuple[int, int, int]
    timers: int
    full_again: float


REQUESTS = st.builds(
    Asked,
    flow=st.integers(0, 2),
    at=st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0, 3.0, 10.0]),
    stay=st.sampled_from([0.0, 0.0, 0.2, 1.0, 4.0]),
    tokens=st.integers(1, 60) | st.sampled_from([200, 400]),
    fate=st.sampled_from(FATES),
)
PRIORITIES: tuple[Priority, ...] = ("high", "normal", "low")


class Day:
    """Three calls with these limits, in simulated time."""

    def __init__(self, *, rate: float | None, tokens: float | None) -> None:
        self.gate = Gate(now)
        self.flows = [
            joined(self.gate, Flow(places, priority, requests_per_minute=rate, tokens_per_minute=tokens))
            for places, priority in zip((40, 40, 3), PRIORITIES, strict=True)
        ]
        self.came: list[Asked] = []
        self.granted: list[tuple[float, Asked]] = []
        self.refunds: list[tuple[float, float]] = []
        self.numbers: dict[int, Asked] = {}

    async def ask(self, asked: Asked) -> None:
        await asyncio.sleep(asked.at)
        self.came.append(asked)
        ticket = await self.gate.enter(self.flows[asked.flow], Cost(asked.tokens, 0))
        self.granted.append((now(), asked))
        self.numbers[ticket.number] = asked
        try:
            await asyncio.sleep(asked.stay if asked.fate != "unsent" else 0)
        except asyncio.CancelledError:
            self.gate.cancelled(ticket)
            raise
        self.refunds.append((now(), self.end(ticket, asked)))

    def end(self, ticket: Ticket, asked: Asked) -> float:
        """End it as it is fated; returns the tokens that come back."""
        gate = self.gate
        match asked.fate:
            case "less":
                answer(gate, ticket, tokens=asked.tokens // 2)
                return asked.tokens - asked.tokens // 2
            case "limit" | "wait":
                refuse(gate, ticket, 2.0 if asked.fate == "wait" else None)
                return asked.tokens
            case "unsent":
                gate.unsent(ticket)
                return asked.tokens
            case "answer" | "cancel":
                answer(gate, ticket)
            case "more":
                answer(gate, ticket, tokens=2 * asked.tokens)
            case "silent":
                gate.answered(ticket, say("pos", usage=Usage(None, None, None)))
            case "fault":
                gate.faulted(ticket, RequestError("server", "500", status=500))
            case "lost":
                gate.cancelled(ticket)
        return 0.0

    async def visited(self, at: float, per_minute: float) -> None:
        """Another call comes with limits of its own and stays for a second."""
        await asyncio.sleep(at)
        flow = joined(self.gate, Flow(1, requests_per_minute=per_minute, tokens_per_minute=per_minute * 10))
        await asyncio.sleep(1)
        self.gate.leave(flow)


def live_through(
    requests: Sequence[Asked], *, rate: float | None, tokens: float | None, guests: Sequence[tuple[float, float]]
) -> Seen:
    """A day with these limits; `guests` are other calls, when they come and the rate that they state."""

    async def main(loop: CountingLoop) -> Seen:
        day = Day(rate=rate, tokens=tokens)
        tasks = [asyncio.create_task(day.ask(asked)) for asked in requests]
        ours = [
            loop.call_at(asked.at + asked.stay, task.cancel)
            for asked, task in zip(requests, tasks, strict=True)
            if asked.fate == "cancel"
        ]
        tasks += [asyncio.create_task(day.visited(at, per_minute)) for at, per_minute in guests]
        async with asyncio.timeout(1e5):
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
        for timer in ours:
            timer.cancel()
        await settle()
        left = day.gate.in_flight, len(others()), loop.open_timers
        timers = len(loop.timers)
        assert not any(flow.in_flight or flow.waiting for flow in day.flows)
        await asyncio.sleep(1e4)
        began = now()
        day.gate.unsent(await day.gate.enter(day.flows[0], Cost((tokens or 0) / 60 * TOKEN_SECONDS, 0)))
        order = [day.numbers[number] for number in sorted(day.numbers)]
        return Seen(day.came, order, day.granted, day.refunds, left, timers, now() - began)

    return run_counting(main)


DAYS = {
    "requests": st.lists(REQUESTS, min_size=1, max_size=30),
    "rate": st.none() | st.sampled_from([30.0, 120.0, 600.0]),
    "tokens": st.none() | st.sampled_from([600.0, 6000.0]),
    "guests": st.lists(st.tuples(st.sampled_from([0.0, 0.3, 2.0]), st.sampled_from([20.0, 60.0, 6000.0])), max_size=3),
}


@given(**DAYS, window=st.floats(0.01, 100))
def test_no_window_holds_more_requests_than_the_rate_and_one_burst(
    requests: list[Asked],
    rate: float | None,
    tokens: float | None,
    guests: list[tuple[float, float]],
    window: float,
):
    seen = live_through(requests, rate=rate, tokens=tokens, guests=guests)
    if rate is not None and seen.granted:
        grants = [(time, 1.0) for time, _ in seen.granted]
        assert most_in_window(grants, window) <= rate / 60 * window + max(1.0, rate / 60 * BURST_SECONDS) + TINY


@given(**DAYS, window=st.floats(0.01, 100))
@example(
    requests=[Asked(0, 0.0, 0.0, 400, "less")] * 3 + [Asked(1, 0.0, 0.0, 60, "answer")] * 10,
    rate=None,
    tokens=6000.0,
    guests=[],
    window=4.0,
)
def test_no_window_holds_more_tokens_than_the_rate_a_bucket_and_one_oversized_request(
    requests: list[Asked],
    rate: float | None,
    tokens: float | None,
    guests: list[tuple[float, float]],
    window: float,
):
    """Tokens that came back may be given out again."""
    seen = live_through(requests, rate=rate, tokens=tokens, guests=guests)
    if tokens is not None and seen.granted:
        moves = [(time, float(asked.tokens)) for time, asked in seen.granted]
        largest = max(amount for _, amount in moves)
        for start, _ in moves:
            taken = sum(amount for time, amount in moves if start <= time <= start + window)
            back = sum(amount for time, amount in seen.refunds if start <= time <= start + window)
            assert taken - back <= tokens / 60 * (window + TOKEN_SECONDS) + largest + TINY


@given(**DAYS)
def test_a_flow_is_let_through_in_the_order_it_came(
    requests: list[Asked], rate: float | None, tokens: float | None, guests: list[tuple[float, float]]
):
    seen = live_through(requests, rate=rate, tokens=tokens, guests=guests)
    for flow in range(3):
        served = [id(asked) for asked in seen.order if asked.flow == flow]
        assert served == [id(asked) for asked in seen.came if asked.flow == flow and id(asked) in served]


@given(**DAYS)
def test_whatever_happens_everybody_comes_through_and_nothing_is_left(
    requests: list[Asked], rate: float | None, tokens: float | None, guests: list[tuple[float, float]]
):
    seen = live_through(requests, rate=rate, tokens=tokens, guests=guests)
    certain = sum(asked.fate != "cancel" for asked in requests)
    assert sum(asked.fate != "cancel" for _, asked in seen.granted) == certain
    assert seen.left == (0, 0, 0)
    assert seen.full_again == pytest.approx(0.0)


@given(**DAYS)
def test_waiting_sets_no_more_timers_than_something_happens(
    requests: list[Asked], rate: float | None, tokens: float | None, guests: list[tuple[float, float]]
):
    seen = live_through(requests, rate=rate, tokens=tokens, guests=guests)
    # for each request its coming, going and cancel, its turn of the pace, and a look at the line at each of these
    assert seen.timers <= 12 * len(requests) + 12 * len(guests) + 10


# Paces ---------------------------------------------------------------------------------------------------------------


def test_without_a_rate_nothing_waits_but_for_the_adaptive_limit():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate)
        await warm(gate, flow)
        began = now()
        return [came - began for came in await asyncio.gather(*(visit(gate, flow, at=now()) for _ in range(200)))]

    assert run_in_fake_time(main()) == [0.0] * 200


def test_the_lowest_rate_among_running_calls_holds():
    async def main() -> tuple[list[float], float]:
        gate = Gate(now)
        fast = joined(gate, Flow(99, requests_per_minute=600))
        slow = joined(gate, Flow(99, requests_per_minute=60))
        together = [await visit(gate, fast, at=now()) for _ in range(3)]
        gate.leave(slow)
        first, *_, last = [await visit(gate, fast, at=now()) for _ in range(11)]
        return together, last - first

    together, eleven = run_in_fake_time(main())
    assert together == pytest.approx([0, 1, 2])
    assert eleven == pytest.approx(1.0)  # 600 a minute: ten after the first


def test_calls_one_after_the_other_keep_the_rate_together():
    async def main() -> list[float]:
        gate, came = Gate(now), list[float]()
        for _ in range(4):
            flow = joined(gate, Flow(1, requests_per_minute=60))
            came.append(await visit(gate, flow, at=now()))
            gate.leave(flow)
        return came

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3])


def test_who_waits_for_a_slow_pace_goes_on_when_the_slow_call_has_ended():
    async def main() -> float:
        gate = Gate(now)
        slow, other = joined(gate, Flow(9, requests_per_minute=1)), joined(gate)
        waiting = [asyncio.create_task(visit(gate, other)) for _ in range(5)]
        await settle()
        gate.leave(slow)
        await asyncio.gather(*waiting)
        return now()

    assert run_in_fake_time(main()) < 1


def test_who_waits_for_a_fast_pace_takes_the_slower_one_that_comes():
    async def main() -> list[float]:
        gate = Gate(now)
        fast = joined(gate, Flow(99, requests_per_minute=120))
        waiting = [asyncio.create_task(visit(gate, fast)) for _ in range(4)]
        await settle()
        joined(gate, Flow(9, requests_per_minute=60))
        return sorted(await asyncio.gather(*waiting))

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3])


# Turns ---------------------------------------------------------------------------------------------------------------


def test_a_call_beside_a_backfill_of_ten_thousand_has_its_turn_within_the_next_few():
    async def main() -> list[Priority]:
        gate, served = Gate(now), list[Priority]()

        async def ask(flow: Flow) -> None:
            ticket = await gate.enter(flow, SMALL)
            served.append(flow.priority)
            try:
                await asyncio.sleep(1)
            finally:
                answer(gate, ticket)

        backfill = joined(gate, Flow(20_000, "low", requests_per_minute=600))
        tasks = [asyncio.create_task(ask(backfill)) for _ in range(10_000)]
        await asyncio.sleep(20)
        before = len(served)
        call, urgent = joined(gate, Flow(9)), joined(gate, Flow(9, "high"))
        last = [asyncio.create_task(ask(flow)) for flow in (call, urgent)]
        await asyncio.gather(*last)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.in_flight == 0
        return served[before : before + 4]

    few = run_in_fake_time(main())
    assert {"normal", "high"} <= set(few)


def test_turns_are_weighted_while_all_wait():
    async def main() -> Counter[Priority]:
        gate, served = Gate(now), list[Priority]()

        async def ask(flow: Flow) -> None:
            ticket = await gate.enter(flow, SMALL)
            served.append(flow.priority)
            answer(gate, ticket)

        flows = [joined(gate, Flow(999, priority, requests_per_minute=60)) for priority in PRIORITIES]
        tasks = [asyncio.create_task(ask(flow)) for flow in flows for _ in range(400)]
        await asyncio.sleep(210.5)
        for task in tasks:
            task.cancel()
        return Counter(served[1:])

    # of 21 turns 16, 4 and 1; who came first had one before the others were there
    counts = run_in_fake_time(main())
    assert counts["high"] == pytest.approx(160, abs=2)
    assert counts["normal"] == pytest.approx(40, abs=2)
    assert counts["low"] == pytest.approx(10, abs=1)


@pytest.mark.parametrize("priority", ["normal", "low"])
def test_a_giant_is_served_while_small_ones_of_other_calls_keep_coming(priority: Priority):
    """Twice the bucket; the small ones take all that is refilled, the calls over a single row too."""

    async def main() -> float:
        gate = Gate(now)
        small = joined(gate, Flow(999, tokens_per_minute=6000))  # 100 a second
        giant = joined(gate, Flow(9, priority))
        stop = asyncio.Event()

        async def keep_coming(flow: Flow | None) -> None:
            while not stop.is_set():
                its = flow or joined(gate)
                answer(gate, await gate.enter(its, Cost(10, 0)))
                if flow is None:
                    gate.leave(its)

        tasks = [asyncio.create_task(keep_coming(flow)) for flow in (small, small, small, None, None)]
        await asyncio.sleep(5)
        began = now()
        async with asyncio.timeout(100):
            ticket = await gate.enter(giant, Cost(200 * TOKEN_SECONDS, 0))
        stop.set()
        answer(gate, ticket)
        waited = now() - began
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return waited

    assert run_in_fake_time(main()) <= 2 * TOKEN_SECONDS + 5


def test_a_held_flow_blocks_no_other_and_goes_on_by_itself():
    async def main(loop: CountingLoop) -> tuple[list[float], float, int]:
        gate = Gate(now)
        held, other = joined(gate, Flow(9, "high")), joined(gate)
        gate.hold(held, 50.0)
        waiting = asyncio.create_task(visit(gate, held))
        passed = [await visit(gate, other, at=now()) for _ in range(5)]
        before = len(loop.timers)
        return passed, await waiting, len(loop.timers) - before

    passed, came, timers = run_counting(main)
    assert passed == [0.0] * 5
    assert came == pytest.approx(50.0, abs=0.001)
    assert timers <= 3


def test_a_held_flow_probes_one_at_a_time_until_it_may_go_on():
    async def main() -> list[int]:
        gate = Gate(now)
        flow = joined(gate)
        gate.hold(flow, 1.0)
        tickets = [asyncio.create_task(gate.enter(flow, SMALL)) for _ in range(6)]
        await asyncio.sleep(2)
        inside = [sum(task.done() for task in tickets)]
        probe = tickets[0].result()
        assert probe.probe
        gate.faulted(probe, RequestError("server", "503"))
        await settle()
        inside.append(sum(task.done() for task in tickets))
        gate.go_on(flow)
        await settle()
        inside.append(sum(task.done() for task in tickets))
        return inside

    assert run_in_fake_time(main()) == [1, 2, 6]


def test_a_calls_own_bound_holds():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate, Flow(2))
        await asyncio.gather(*(visit(gate, flow, stay=1.0) for _ in range(6)))
        return now()

    assert run_in_fake_time(main()) == pytest.approx(3.0)


def test_waiting_costs_nothing_while_every_place_is_taken():
    async def main(loop: CountingLoop) -> tuple[int, int]:
        gate = Gate(now)
        flow = joined(gate, Flow(1, requests_per_minute=6000))
        ticket = await gate.enter(flow, SMALL)
        tasks = [asyncio.create_task(gate.enter(flow, SMALL)) for _ in range(256)]
        await settle()
        running = others() - set(tasks)
        timers = loop.open_timers
        for task in tasks:
            task.cancel()
        gate.unsent(ticket)
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(running), timers

    assert run_counting(main) == (0, 0)


# 429s ----------------------------------------------------------------------------------------------------------------


def test_a_cooldown_holds_all_requests_for_as_long_as_the_server_asks():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate)
        refuse(gate, await gate.enter(flow, SMALL), 30.0)
        return await asyncio.gather(*(visit(gate, flow) for _ in range(3)))

    assert run_in_fake_time(main()) == pytest.approx([30, 30, 30], abs=0.001)


def test_a_cooldown_stands_before_the_pace():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate, Flow(9, requests_per_minute=60))
        ticket = await gate.enter(flow, SMALL)
        waiting = [asyncio.create_task(visit(gate, flow)) for _ in range(2)]
        await settle()
        refuse(gate, ticket, 10.0)
        return sorted(await asyncio.gather(*waiting))

    first, second = run_in_fake_time(main())
    assert first >= 10
    assert second >= first + 1 - TINY


def test_429s_to_requests_of_one_moment_are_one_episode_and_all_are_told_its_seconds():
    async def main() -> tuple[list[tuple[float, float]], float]:
        gate, told = Gate(now), list[tuple[float, float]]()
        flow = joined(gate, Flow(99, cooled=lambda seconds, until: told.append((seconds, until - now()))))
        together = [await gate.enter(flow, SMALL) for _ in range(8)]
        for ticket in together[:-1]:
            refuse(gate, ticket)
        refuse(gate, together[-1], 9.0)
        return told, await visit(gate, flow)

    told, came = run_in_fake_time(main())
    # 2^0 s for the first of them; the last one's time made it longer, all at one moment
    assert told == [pytest.approx((1.0, 1.0)), pytest.approx((8.0, 9.0))]
    assert came == pytest.approx(9.0, abs=0.001)


def test_a_wait_over_the_cap_does_not_silence_the_gate():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate)
        refuse(gate, await gate.enter(flow, SMALL), 86_400.0)
        return await visit(gate, flow)

    assert run_in_fake_time(main()) == pytest.approx(1.0, abs=0.001)


def test_after_a_cooldown_one_goes_first_where_no_rate_is_known():
    async def main() -> list[int]:
        gate = Gate(now)
        flow = joined(gate)
        refuse(gate, await gate.enter(flow, SMALL))  # the very first: it teaches no rate
        tasks = [asyncio.create_task(gate.enter(flow, SMALL)) for _ in range(20)]
        await asyncio.sleep(2)
        seen: list[int] = []
        for number in range(3):
            await settle()
            seen.append(sum(task.done() for task in tasks))
            answer(gate, tasks[number].result())
        for task in tasks:
            task.cancel()
        return seen

    # one in flight; it ends and the ramp is 2: 1 + 2 were let in; then 4: one of two is left, three come
    assert run_in_fake_time(main()) == [1, 3, 6]


def test_a_fault_on_the_ramp_lets_the_next_one_try():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate)
        refuse(gate, await gate.enter(flow, SMALL))

        async def fail() -> None:
            ticket = await gate.enter(flow, SMALL)
            await asyncio.sleep(1)
            gate.faulted(ticket, RequestError("server", "500"))

        await asyncio.gather(*(fail() for _ in range(3)))
        return now()

    assert run_in_fake_time(main()) == pytest.approx(4.0, abs=0.001)  # 1 s closed, then one after the other


def test_tokens_of_a_refused_request_come_back():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate, Flow(9, tokens_per_minute=60))
        refuse(gate, await gate.enter(flow, Cost(TOKEN_SECONDS, 0)), 0.0)
        answer(gate, await gate.enter(flow, Cost(TOKEN_SECONDS, 0)))
        return now()

    # nothing is left by the server's word, so the bucket fills anew; a charge beside it would take twice as long
    assert run_in_fake_time(main()) <= TOKEN_SECONDS + 0.001


def test_a_429_over_tokens_teaches_no_rate_of_requests():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate)
        await warm(gate, flow)
        tickets = [await gate.enter(flow, SMALL) for _ in range(50)]
        left = RateLimits(requests=allowance(None, 400.0), tokens=allowance(None, 0.0))
        refuse(gate, tickets.pop(), 1.0, limits=left)
        for ticket in tickets:
            answer(gate, ticket)
        began = now()
        for _ in range(9):  # past the ramp
            await visit(gate, flow, at=now())
        came = await asyncio.gather(*(visit(gate, flow, at=now()) for _ in range(100)))
        return max(came) - began

    assert run_in_fake_time(main()) == pytest.approx(1.0, abs=0.001)


# Headers -------------------------------------------------------------------------------------------------------------


def test_a_header_sets_a_limit_that_nobody_stated():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate)
        answer(gate, await gate.enter(flow, SMALL), limits=RateLimits(requests=allowance(60.0, 59.0)))
        return [await visit(gate, flow, at=now()) for _ in range(3)]

    assert run_in_fake_time(main()) == pytest.approx([1, 2, 3])


def test_a_stated_lower_limit_wins():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate, Flow(9, requests_per_minute=30))
        answer(gate, await gate.enter(flow, SMALL), limits=RateLimits(requests=allowance(6000.0, 5999.0)))
        return [await visit(gate, flow, at=now()) for _ in range(2)]

    assert run_in_fake_time(main()) == pytest.approx([2, 4])


def test_when_no_request_remains_the_next_waits_for_one_to_be_refilled():
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate, Flow(99, requests_per_minute=600))
        first, *rest = [await gate.enter(flow, SMALL) for _ in range(4)]
        answer(gate, first, limits=RateLimits(requests=allowance(600.0, 0.0)))
        for ticket in rest:
            answer(gate, ticket)
        return await visit(gate, flow)

    assert run_in_fake_time(main()) == pytest.approx(0.4)  # (1 + 3 sent since) / 10 a second


def test_remaining_tokens_lower_the_level_and_never_raise_it():
    async def main() -> tuple[float, float]:
        gate = Gate(now)
        flow = joined(gate, Flow(99, tokens_per_minute=6000))
        bucket = 100 * TOKEN_SECONDS
        ticket = await gate.enter(flow, Cost(bucket / 2, 0))
        answer(gate, ticket, limits=RateLimits(tokens=allowance(6000.0, 0.0)))
        lowered = await visit(gate, flow, cost=Cost(50, 0))  # 0.5 s at 100 a second
        ticket = await gate.enter(flow, Cost(0, 0))
        answer(gate, ticket, limits=RateLimits(tokens=allowance(6000.0, 1e9)))
        began = now()
        return lowered, await visit(gate, flow, cost=Cost(bucket, 0), at=began) - began

    lowered, full = run_in_fake_time(main())
    assert lowered == pytest.approx(0.5, abs=0.001)
    assert full == pytest.approx(TOKEN_SECONDS, abs=0.001)


def test_token_limits_are_set_by_headers_in_each_direction():
    async def main() -> list[float]:
        gate = Gate(now)
        flow = joined(gate)
        told = RateLimits(input_tokens=allowance(600.0), output_tokens=allowance(60.0))
        answer(gate, await gate.enter(flow, SMALL), limits=told)
        first = await visit(gate, flow, cost=Cost(0, TOKEN_SECONDS))
        return [first, await visit(gate, flow, cost=Cost(0, TOKEN_SECONDS), at=now())]

    first, second = run_in_fake_time(main())
    assert second - first == pytest.approx(TOKEN_SECONDS, abs=0.001)


@pytest.mark.parametrize("junk", [allowance(), allowance(0.0), allowance(0.0, 0.0), allowance(None, 0.0)])
def test_headers_that_say_nothing_useful_change_nothing(junk: Allowance):
    async def main() -> float:
        gate = Gate(now)
        flow = joined(gate)
        told = RateLimits(requests=junk, tokens=junk, input_tokens=junk, output_tokens=junk)
        answer(gate, await gate.enter(flow, SMALL), limits=told)
        return await visit(gate, flow)

    assert run_in_fake_time(main()) == 0.0


# Cancelling ----------------------------------------------------------------------------------------------------------


def test_a_waiter_cancelled_at_the_instant_of_a_place_leaves_it_to_the_next():
    """Cancelled first, told to come after: its own task hasn't run in between."""

    async def main() -> tuple[bool, int]:
        gate = Gate(now)
        flow = joined(gate, Flow(1))
        ticket = await gate.enter(flow, SMALL)
        first, second = (asyncio.create_task(gate.enter(flow, SMALL)) for _ in range(2))
        await settle()
        first.cancel()
        answer(gate, ticket)
        await settle()
        return second.done(), gate.in_flight

    assert run_in_fake_time(main()) == (True, 1)


def test_a_waiter_let_through_and_cancelled_before_it_knows_gives_everything_back():
    async def main() -> tuple[bool, int, float]:
        gate = Gate(now)
        flow = joined(gate, Flow(1, tokens_per_minute=6000))
        bucket = 100 * TOKEN_SECONDS
        ticket = await gate.enter(flow, Cost(0, 0))
        first = asyncio.create_task(gate.enter(flow, Cost(bucket, 0)))
        second = asyncio.create_task(gate.enter(flow, Cost(bucket, 0)))
        await settle()
        answer(gate, ticket)
        first.cancel()
        await settle()
        return second.done(), gate.in_flight, now()

    assert run_in_fake_time(main()) == (True, 1, 0.0)


def test_a_task_cancelled_before_its_first_step_was_never_there():
    async def main() -> tuple[int, int]:
        gate = Gate(now)
        flow = joined(gate)
        task = asyncio.create_task(gate.enter(flow, SMALL))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return gate.in_flight, len(flow.waiting)

    assert run_in_fake_time(main()) == (0, 0)


def test_closing_sends_away_who_waits_and_nobody_else():
    async def main(loop: CountingLoop) -> tuple[list[str], int, int]:
        gate = Gate(now)
        closed, other = joined(gate, Flow(9, requests_per_minute=60)), joined(gate)
        ticket = await gate.enter(closed, SMALL)
        waiting = [asyncio.create_task(gate.enter(closed, SMALL)) for _ in range(3)]
        staying = asyncio.create_task(gate.enter(other, SMALL))
        await settle()
        waiting[1].cancel()
        gate.close(closed)
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        answer(gate, await staying)
        answer(gate, ticket)
        await settle()
        return [type(end).__name__ for end in ends], gate.in_flight, len(others()) + loop.open_timers

    assert run_counting(main) == ([ClosedError.__name__, "CancelledError", ClosedError.__name__], 0, 0)


@pytest.mark.parametrize("steps", range(6))
def test_cancelled_at_any_step_nothing_is_left(steps: int):
    """With a pace, tokens and a place to wait for."""

    async def main(loop: CountingLoop) -> tuple[int, int, int, float]:
        gate = Gate(now)
        flow = joined(gate, Flow(1, requests_per_minute=60, tokens_per_minute=6000))
        ticket = await gate.enter(flow, Cost(0, 0))
        await asyncio.sleep(1)
        task = asyncio.create_task(gate.enter(flow, Cost(100 * TOKEN_SECONDS, 0)))
        await asyncio.sleep(0)
        answer(gate, ticket)
        for _ in range(steps):
            await asyncio.sleep(0)
        if not task.cancel():
            gate.unsent(task.result())
        await asyncio.gather(task, return_exceptions=True)
        await settle()
        left = gate.in_flight, len(others()), loop.open_timers
        await asyncio.sleep(1)
        began = now()
        answer(gate, await gate.enter(flow, Cost(100 * TOKEN_SECONDS, 0)))
        return *left, now() - began

    assert run_counting(main) == (0, 0, 0, pytest.approx(0.0))


def test_a_request_ends_once_whoever_tells_it_twice():
    async def main() -> tuple[int, int]:
        gate = Gate(now)
        flow = joined(gate)
        ticket = await gate.enter(flow, SMALL)
        answer(gate, ticket)
        gate.unsent(ticket)
        gate.cancelled(ticket)
        return gate.in_flight, flow.in_flight

    assert run_in_fake_time(main()) == (0, 0)


# Room to spare -------------------------------------------------------------------------------------------------------


def test_there_is_nothing_to_spare_while_somebody_waits_or_little_is_left():
    async def main() -> list[bool]:
        gate = Gate(now)
        flow = joined(gate, Flow(99, tokens_per_minute=600))  # 10 a second
        granted: list[bool] = []

        async def try_it() -> None:
            spare = await gate.spare(flow, Cost(3 * TOKEN_SECONDS, 0))
            granted.append(spare is not None)
            if spare is not None:
                gate.unsent(spare)

        await try_it()
        ticket = await gate.enter(flow, Cost(2 * TOKEN_SECONDS, 0))
        await try_it()  # 8 of 10 are left, thrice 3 are more
        await asyncio.sleep(1)
        tickets = [await gate.enter(flow, Cost(0, 0)) for _ in range(5)]
        await try_it()  # six of eight places are taken
        for each in (ticket, *tickets):
            answer(gate, each)
        await try_it()
        waiting = asyncio.create_task(gate.enter(flow, Cost(1000, 0)))
        gate.hold(flow, 100.0)
        await settle()
        await try_it()
        waiting.cancel()
        return granted

    assert run_in_fake_time(main()) == [True, False, False, True, False]


def test_a_call_that_wants_more_in_flight_than_usual_gets_them_while_it_runs():
    async def main() -> tuple[int, int, int]:
        gate = Gate(now)
        usual, greedy = joined(gate, Flow(256)), Flow(1000)
        await warm(gate, usual)
        await asyncio.gather(*(visit(gate, usual, at=now(), stay=1.0) for _ in range(2000)))
        before = gate.limit
        joined(gate, greedy)
        await asyncio.gather(*(visit(gate, greedy, at=now(), stay=1.0) for _ in range(9000)))
        most = gate.limit
        gate.leave(greedy)
        return before, most, gate.limit

    assert run_in_fake_time(main()) == (256, 1000, 256)


def test_no_more_are_in_flight_than_the_process_has_room_for():
    async def main() -> int:
        gate = Gate(now, connections=50)
        flow = joined(gate)
        await asyncio.gather(*(visit(gate, flow, at=now(), stay=1.0) for _ in range(2000)))
        return gate.limit

    assert run_in_fake_time(main()) == 50
