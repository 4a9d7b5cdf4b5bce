"""Turns by the minute."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmframe.engine.pace import BURST_SECONDS, Pace
from llmframe.testing import run_in_fake_time

TINY = 1e-6
"""Turns: what sums of floats may be off by."""


def now() -> float:
    return asyncio.get_running_loop().time()


def new_pace() -> Pace:
    return Pace(now, lambda: None)


async def turns(pace: Pace, count: int) -> list[float]:
    """The moments of `count` turns, one after the other."""
    taken: list[float] = []
    for _ in range(count):
        await pace.turn()
        pace.sent(now())
        taken.append(now())
    return taken


def most_in_window(times: Sequence[float], window: float) -> int:
    return max(sum(start <= time <= start + window for time in times) for start in times)


def test_the_rate_is_used_in_full():
    async def main() -> list[float]:
        pace = new_pace()
        pace.join(60)
        return await turns(pace, 5)

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3, 4])  # 60 a minute: one a second


def test_half_a_second_of_the_rate_may_pass_at_once():
    async def main() -> list[float]:
        pace = new_pace()
        pace.join(600)
        return await turns(pace, 8)

    # ten a second: five at once, then one in 0.1 s
    assert run_in_fake_time(main()) == pytest.approx([0, 0, 0, 0, 0, 0.1, 0.2, 0.3])


def test_without_a_rate_nothing_waits():
    async def main() -> tuple[list[float], bool]:
        pace = new_pace()
        pace.join(None)
        return await turns(pace, 500), pace.free

    assert run_in_fake_time(main()) == ([0.0] * 500, True)


def test_the_lowest_rate_of_running_calls_holds():
    pace = Pace(lambda: 0.0, lambda: None)
    rates: list[float | None] = []
    pace.join(600)
    pace.join(60)
    pace.join(60)
    rates.append(pace.rate)
    pace.leave(60)
    rates.append(pace.rate)
    pace.leave(60)
    rates.append(pace.rate)
    pace.leave(600)
    rates.append(pace.rate)
    assert rates == [1, 1, 10, None]


@given(
    rate=st.floats(1, 6000),
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=40),
    window=st.floats(0.01, 60),
    others=st.lists(st.floats(1, 6000), max_size=3),
)
@example(rate=60.0, gaps=[0.0] * 20, window=10.0, others=[])
def test_no_window_holds_more_than_the_rate_and_one_burst(
    rate: float, gaps: list[float], window: float, others: list[float]
):
    """A slower rate may come and go meanwhile."""

    async def main() -> list[float]:
        pace, taken = new_pace(), list[float]()
        pace.join(rate)
        for number, gap in enumerate(gaps):
            if others and number % 3 == 1:
                pace.join(others[number % len(others)])
            await asyncio.sleep(gap)
            taken += await turns(pace, 1)
            if others and number % 3 == 1:
                pace.leave(others[number % len(others)])
        return taken

    taken = run_in_fake_time(main())
    assert most_in_window(taken, window) <= rate / 60 * window + max(1.0, rate / 60 * BURST_SECONDS) + TINY


def test_calls_one_after_the_other_keep_the_rate_together():
    async def main() -> list[float]:
        pace, taken = new_pace(), list[float]()
        for _ in range(4):
            pace.join(60)
            taken += await turns(pace, 1)
            pace.leave(60)
        return taken

    assert run_in_fake_time(main()) == pytest.approx([0, 1, 2, 3])


def test_a_rate_that_is_learnt_after_a_burst_begins_with_an_empty_bucket():
    async def main() -> list[float]:
        pace = new_pace()
        await turns(pace, 30)
        pace.observed(limit=600, remaining=None, since=0, sent_at=0.0)
        return await turns(pace, 3)

    assert run_in_fake_time(main()) == pytest.approx([0.1, 0.2, 0.3])


def test_a_rate_that_is_stated_long_before_the_first_turn_has_its_burst():
    async def main() -> list[float]:
        pace = new_pace()
        pace.join(600)
        await turns(pace, 1)
        pace.join(300)
        await asyncio.sleep(10)
        return await turns(pace, 3)

    # five a second: 2.5 at once
    assert run_in_fake_time(main()) == pytest.approx([10, 10, 10.1])


def test_a_header_sets_a_limit_where_none_is_stated_and_never_raises_a_lower_one():
    pace = Pace(lambda: 0.0, lambda: None)
    pace.observed(limit=600, remaining=None, since=0, sent_at=0.0)
    assert pace.rate == 10
    pace.join(60)
    assert pace.rate == 1
    pace.observed(limit=6000, remaining=None, since=0, sent_at=0.0)
    assert pace.rate == 1
    pace.leave(60)
    assert pace.rate == 100


@pytest.mark.parametrize("limit", [None, 0.0])
def test_a_limit_that_says_nothing_changes_nothing(limit: float | None):
    pace = Pace(lambda: 0.0, lambda: None)
    pace.observed(limit=limit, remaining=None, since=0, sent_at=0.0)
    assert pace.rate is None
    pace.observed(limit=limit, remaining=0.0, since=5, sent_at=0.0)
    assert pace.closed(0.0) <= 0  # without a rate nobody knows for how long


@pytest.mark.parametrize(
    ("remaining", "since", "seconds"),
    [
        (0.0, 0, 0.1),  # ten a second: one more is there 0.1 s after the request was counted
        (0.0, 4, 0.5),  # four left after it, so the fifth from then
        (3.0, 4, 0.2),
        (5.0, 4, 0.0),
        (100.0, 4, 0.0),
    ],
)
def test_when_nothing_remains_turns_wait_until_it_is_refilled(remaining: float, since: int, seconds: float):
    pace = Pace(lambda: 2.0, lambda: None)
    pace.observed(limit=600, remaining=remaining, since=since, sent_at=2.0)
    assert max(0.0, pace.closed(2.0)) == pytest.approx(seconds)


def test_what_was_refilled_while_the_answer_was_on_its_way_counts():
    """Twenty requests are always on their way at ten a second and 2 s: that nothing remains is no reason to stop."""
    pace = Pace(lambda: 2.0, lambda: None)
    pace.observed(limit=600, remaining=0.0, since=19, sent_at=0.0)
    assert pace.closed(2.0) <= 0


def test_a_limit_told_too_low_for_a_moment_closes_for_a_minute_at_most():
    """One a minute with 63 more on their way would be 64 minutes, in which no answer could take it back."""
    pace = Pace(lambda: 2.0, lambda: None)
    pace.observed(limit=1, remaining=0.0, since=63, sent_at=1.5)
    assert pace.closed(2.0) == 60.0


def test_who_waits_is_told_when_the_wait_may_have_changed():
    changes: list[float | None] = []
    pace = Pace(lambda: 0.0, lambda: changes.append(pace.rate))
    pace.join(60)
    pace.join(600)  # the lower one holds
    pace.join(30)
    pace.leave(30)
    pace.leave(60)
    pace.leave(600)
    assert changes == [1, 0.5, 1, 10, None]
