"""What passes a gate, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmframe.engine.limits import FULL_RAMP, Gate
from llmframe.testing import run_in_fake_time

TINY = 1e-6
"""Seconds: what sums of floats may be off by."""


def now() -> float:
    return asyncio.get_running_loop().time()


async def settle() -> None:
    """Let everything that can run at this instant run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def visit(gate: Gate, *, at: float = 0.0, stay: float = 0.0) -> float:
    """One request that comes at `at`; returns when it was let in."""
    await asyncio.sleep(at - now())
    await gate.enter()
    came = now()
    await asyncio.sleep(stay)
    gate.exit()
    return came


def most_in_window(times: Sequence[float], window: float) -> int:
    ordered = sorted(times)
    return max(sum(start <= time <= start + window for time in ordered) for start in ordered)


@given(
    rate=st.floats(1, 6000),
    arrivals=st.lists(st.floats(0, 20), min_size=1, max_size=40),
    window=st.floats(0.01, 60),
)
@example(rate=60.0, arrivals=[0.0] * 20, window=10.0)
def test_no_window_holds_more_than_the_rate_and_one_burst(rate: float, arrivals: list[float], window: float):
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(rate)
        return await asyncio.gather(*(visit(gate, at=at) for at in arrivals))

    granted = run_in_fake_time(main())
    per_second = rate / 60
    assert most_in_window(granted, window) <= per_second * window + max(1.0, per_second * 0.1) + TINY


def test_the_rate_is_used_in_full():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(60)
        return await asyncio.gather(*(visit(gate) for _ in range(5)))

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3, 4])  # 60 a minute: one a second, in turn


def test_without_a_rate_nothing_waits():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(None)
        return await asyncio.gather(*(visit(gate) for _ in range(500)))

    assert run_in_fake_time(main()) == [0.0] * 500


def test_the_lowest_rate_among_running_calls_holds():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(600)
        gate.join(60)
        gate.join(None)
        slow = await asyncio.gather(*(visit(gate) for _ in range(3)))
        gate.leave(60)
        began = now()
        fast = [await visit(gate, at=now()) for _ in range(11)]
        return [*slow, fast[-1] - fast[0], fast[0] - began]

    *slow, eleven, first = run_in_fake_time(main())
    assert slow == pytest.approx([0, 1, 2])
    assert eleven == pytest.approx(1.0)  # 600 a minute: ten after the first take a second
    assert first <= 0.1 + TINY


def test_calls_one_after_the_other_keep_the_rate_together():
    """Many short calls, each over one row: the rate is the process's, not the call's."""

    async def main() -> list[float]:
        gate = Gate(now)
        granted: list[float] = []
        for _ in range(4):
            gate.join(60)
            granted.append(await visit(gate, at=now()))
            gate.leave(60)
        return granted

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3])


@given(st.lists(st.tuples(st.sampled_from([30.0, 60.0, 600.0]), st.integers(1, 4)), min_size=1, max_size=8))
def test_no_change_of_callers_lets_more_pass_than_the_highest_rate_stated(calls: list[tuple[float, int]]):
    async def main() -> list[float]:
        gate = Gate(now)
        granted: list[float] = []
        for rate, requests in calls:
            gate.join(rate)
            granted += await asyncio.gather(*(visit(gate, at=now()) for _ in range(requests)))
            gate.leave(rate)
        return granted

    granted = run_in_fake_time(main())
    highest = max(rate for rate, _ in calls) / 60
    for window in (0.5, 1.0, 5.0):
        assert most_in_window(granted, window) <= highest * window + 1 + TINY


def test_who_waits_for_a_slow_pace_goes_on_when_the_slow_call_has_ended():
    async def main() -> float:
        gate = Gate(now)
        gate.join(1)
        waiting = [asyncio.create_task(visit(gate)) for _ in range(5)]
        await settle()
        gate.leave(1)
        await asyncio.gather(*waiting)
        return now()

    assert run_in_fake_time(main()) < 1


def test_who_waits_for_a_fast_pace_takes_the_slower_one_that_comes():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(600)
        waiting = [asyncio.create_task(visit(gate)) for _ in range(4)]
        await settle()
        gate.join(60)
        return await asyncio.gather(*waiting)

    first, *others = run_in_fake_time(main())
    assert first == 0
    assert sorted(others) == pytest.approx([1, 2, 3])


def test_a_cooldown_holds_all_requests_for_as_long_as_the_server_asks():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.limited(30.0, generation=await gate.enter())
        gate.exit()
        return await asyncio.gather(*(visit(gate) for _ in range(3)))

    assert run_in_fake_time(main()) == pytest.approx([30, 30, 30])


def test_a_cooldown_stands_before_the_pace():
    async def main() -> list[float]:
        gate = Gate(now)
        gate.join(60)
        generation = await gate.enter()
        waiting = [asyncio.create_task(visit(gate)) for _ in range(2)]
        await settle()
        gate.limited(10.0, generation=generation)
        gate.exit()
        return await asyncio.gather(*waiting)

    first, second = sorted(run_in_fake_time(main()))
    assert first >= 10
    assert second >= first + 1 - TINY


@pytest.mark.parametrize(("episode", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (6, 32), (7, 60), (9, 60)])
def test_cooldowns_without_a_time_double_up_to_a_minute(episode: int, seconds: float):
    async def main() -> float:
        gate = Gate(now)
        began = 0.0
        for _ in range(episode):
            generation = await gate.enter()
            began = now()
            gate.limited(None, generation=generation)
            gate.exit()
        return await visit(gate, at=now()) - began

    assert run_in_fake_time(main()) == pytest.approx(seconds)


def test_a_request_that_left_before_the_cooldown_begins_no_other_episode():
    async def main() -> tuple[int, float]:
        gate = Gate(now)
        together = [await gate.enter() for _ in range(32)]
        for generation in together:
            gate.limited(None, generation=generation)
            gate.exit()
        return gate.generation, await visit(gate)

    generation, came = run_in_fake_time(main())
    assert generation == 1
    assert came == pytest.approx(1.0)  # one episode, hence 2^0 s; 32 of them would be a minute


def test_a_late_request_may_still_lengthen_the_wait_that_the_server_asks_for():
    async def main() -> float:
        gate = Gate(now)
        early, late = await gate.enter(), await gate.enter()
        gate.limited(5.0, generation=early)
        gate.limited(9.0, generation=late)
        gate.exit()
        gate.exit()
        return await visit(gate)

    assert run_in_fake_time(main()) == pytest.approx(9.0)


def test_an_answer_ends_the_row_of_episodes():
    async def main() -> float:
        gate = Gate(now)
        for _ in range(5):
            gate.limited(None, generation=await gate.enter())
            gate.exit()
        generation = await gate.enter()
        gate.succeeded(generation=generation)
        gate.limited(None, generation=generation)
        gate.exit()
        began = now()
        return await visit(gate, at=began) - began

    assert run_in_fake_time(main()) == pytest.approx(1.0)


def test_after_a_cooldown_one_goes_first_and_every_answer_doubles_the_ramp():
    async def main() -> list[int]:
        gate = Gate(now)
        gate.limited(1.0, generation=await gate.enter())
        gate.exit()
        inside: list[int] = []
        tasks = [asyncio.create_task(gate.enter()) for _ in range(40)]
        await asyncio.sleep(2)
        seen: list[int] = []
        for _ in range(4):
            await settle()
            inside = [task.result() for task in tasks if task.done()]
            seen.append(len(inside))
            gate.exit()
            gate.succeeded(generation=inside[0])
        for task in tasks:
            task.cancel()
        return seen

    # at most 1 in flight; it ends and the ramp is 2: 1 + 2 were let in; then 4: 3 - 2 left, 4 in flight; then 8
    assert run_in_fake_time(main()) == [1, 3, 6, 11]


def test_answers_to_requests_from_before_the_cooldown_open_no_ramp():
    async def main() -> int:
        gate = Gate(now)
        together = [await gate.enter() for _ in range(32)]
        gate.limited(5.0, generation=together[0])
        gate.exit()
        for generation in together[1:]:
            gate.exit()
            gate.succeeded(generation=generation)
        tasks = [asyncio.create_task(gate.enter()) for _ in range(32)]
        await asyncio.sleep(6)
        inside = sum(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        return inside

    assert run_in_fake_time(main()) == 1


def test_the_ramp_is_over_when_it_has_doubled_to_its_end():
    async def main() -> int:
        gate = Gate(now)
        gate.limited(1.0, generation=await gate.enter())
        gate.exit()
        for _ in range(9):  # 2, 4, 8, 16, 32, 64, 128, 256, none
            generation = await gate.enter()
            gate.exit()
            gate.succeeded(generation=generation)
        await asyncio.gather(*(gate.enter() for _ in range(FULL_RAMP + 50)))
        return gate.in_flight

    assert run_in_fake_time(main()) == FULL_RAMP + 50


def test_a_fault_on_the_ramp_lets_the_next_one_try():
    async def main() -> float:
        gate = Gate(now)
        gate.limited(1.0, generation=await gate.enter())
        gate.exit()
        await asyncio.gather(*(visit(gate, stay=1.0) for _ in range(3)))  # none of them succeeds
        return now()

    assert run_in_fake_time(main()) == pytest.approx(4.0)  # 1 s closed, then one after the other


def test_a_cancelled_waiter_gives_its_place_on_the_ramp_to_the_next():
    async def main() -> float:
        gate = Gate(now)
        gate.limited(1.0, generation=await gate.enter())
        gate.exit()
        await asyncio.sleep(1)
        await gate.enter()
        first, second = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
        await settle()
        gate.exit()  # `first` is told to come, and is cancelled before it does
        first.cancel()
        async with asyncio.timeout(60):
            await second
        return now()

    assert run_in_fake_time(main()) == pytest.approx(1.0)


def test_a_waiter_cancelled_in_a_cooldown_leaves_its_place_to_the_next():
    async def main() -> bool:
        gate = Gate(now)
        gate.limited(1.0, generation=await gate.enter())
        gate.exit()
        await asyncio.sleep(1)
        generation = await gate.enter()
        first, second = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
        await settle()
        gate.limited(5.0, generation=generation)
        gate.exit()  # `first` is told to come, and finds the gate closed
        await asyncio.sleep(1)
        first.cancel()
        async with asyncio.timeout(60):
            await second
        return first.cancelled()

    assert run_in_fake_time(main())


def test_a_waiter_cancelled_before_its_pace_is_not_in_flight():
    async def main() -> int:
        gate = Gate(now)
        gate.join(60)
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await settle()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return gate.in_flight

    assert run_in_fake_time(main()) == 1


@given(st.data())
def test_whoever_is_cancelled_and_whatever_the_server_says_everybody_else_comes_through(data: st.DataObject):
    """No order of arrivals, faults, 429s and cancelling leaves a request waiting for ever."""
    count = data.draw(st.integers(1, 12))
    fates = [data.draw(st.sampled_from(["answer", "fault", "limit", "cancel"])) for _ in range(count)]
    starts = [data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for _ in range(count)]
    ends = [data.draw(st.sampled_from([0.0, 0.5, 1.0, 4.0])) for _ in range(count)]
    rate = data.draw(st.sampled_from([None, 20.0, 600.0]))

    async def request(gate: Gate, number: int) -> None:
        await asyncio.sleep(starts[number])
        generation = await gate.enter()
        try:
            await asyncio.sleep(ends[number])
            if fates[number] == "limit":
                gate.limited(None if number % 2 else 2.0, generation=generation)
        finally:
            gate.exit()
        if fates[number] == "answer":
            gate.succeeded(generation=generation)

    async def main() -> int:
        gate = Gate(now)
        gate.join(rate)
        tasks = [asyncio.create_task(request(gate, number)) for number in range(count)]
        for number, task in enumerate(tasks):
            if fates[number] == "cancel":
                asyncio.get_running_loop().call_at(starts[number] + ends[number], task.cancel)
        async with asyncio.timeout(1000):
            await asyncio.gather(*tasks, return_exceptions=True)
        return gate.in_flight

    assert run_in_fake_time(main()) == 0
