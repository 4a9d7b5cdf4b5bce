"""A rate found from 429s alone."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine import runner
from llmframe.engine.learning import CUT, FORGOTTEN, GROWTH, LearntRate
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import BucketLimit, Limit, LimitedClient, Part, WindowLimit, names, part_of


def sent(rate: LearntRate, *times: float) -> None:
    for time in times:
        rate.sent(time)


def test_without_a_429_there_is_no_rate():
    rate = LearntRate()
    sent(rate, *(0.01 * n for n in range(1000)))
    assert not rate.answered(10.0, sent_at=9.0)
    assert rate.rate is None


def test_what_passed_before_the_first_429_less_a_second_saved_up_is_the_rate():
    rate = LearntRate()
    sent(rate, *[0.0] * 10, *(0.1 * n for n in range(1, 21)), 2.0)  # ten at once, ten a second for two seconds
    rate.refused(31)
    rate.limited(2.1, number=31, ceiling=None)
    assert rate.rate == pytest.approx(CUT * 30 / (2.0 + 1.0))


def test_requests_that_were_sent_later_or_refused_before_do_not_count():
    rate = LearntRate()
    sent(rate, *[0.0] * 16)
    for number in (4, 5, 12, 13, 14):
        rate.refused(number)
    rate.limited(0.1, number=12, ceiling=None)
    assert rate.rate == pytest.approx(CUT * 9)  # of the eleven before it, two were refused


def test_answers_that_take_long_do_not_make_the_rate_low():
    """All are in flight still: what a server takes shows when it is sent, not when it is answered."""
    rate = LearntRate()
    sent(rate, *(0.1 * n for n in range(101)))
    rate.refused(101)
    rate.limited(10.0, number=101, ceiling=None)
    assert rate.rate == pytest.approx(CUT * 10, rel=0.03)


def test_a_pause_before_does_not_make_the_rate_low():
    rate = LearntRate()
    sent(rate, *(0.1 * n for n in range(100)), *(100 + 0.1 * n for n in range(41)))
    rate.refused(141)
    rate.limited(104.1, number=141, ceiling=None)
    assert rate.rate == pytest.approx(CUT * 40 / (4.0 + 1.0))


def test_the_servers_word_is_the_ceiling():
    rate = LearntRate()
    sent(rate, *[0.0] * 51)
    rate.limited(0.0, number=51, ceiling=8.0)
    assert rate.rate == pytest.approx(CUT * 8)


def test_a_429_before_anything_was_taken_teaches_nothing():
    rate = LearntRate()
    sent(rate, 0.0)
    rate.refused(1)
    rate.limited(0.1, number=1, ceiling=None)
    assert rate.rate is None


def grown(rate: LearntRate, seconds: int, *, start: float) -> list[float | None]:
    rates: list[float | None] = []
    for second in range(1, seconds + 1):
        rate.answered(start + second, sent_at=start + second)
        rates.append(rate.rate)
    return rates


def learnt(per_second: int, seconds: int) -> LearntRate:
    rate = LearntRate()
    times = [n / per_second for n in range(per_second * seconds + 1)]
    sent(rate, *times)
    rate.limited(times[-1], number=len(times), ceiling=None)
    return rate


def test_growth_is_slow_near_the_rate_that_met_the_429_and_fast_beyond():
    rate = learnt(100, 10)  # 100 a second, hence 95 now
    rates = [95.0, *(value for value in grown(rate, 14, start=10.0) if value is not None)]
    steps = [after / before for before, after in itertools.pairwise(rates)]
    assert steps[:9] == pytest.approx([1 + GROWTH / 5] * 9, rel=0.003)
    assert steps[-1] == pytest.approx(1 + GROWTH)


def test_growth_is_once_a_second_however_many_answers_come():
    rate = learnt(10, 10)
    before = rate.rate
    moved = [rate.answered(10.5, sent_at=10.4) for _ in range(50)]
    assert not any(moved)
    assert rate.rate == before


def test_answers_to_what_was_sent_before_the_429_are_no_reason_to_grow():
    rate = learnt(10, 10)
    assert not rate.answered(15.0, sent_at=9.9)


def test_a_rate_that_has_grown_far_is_no_limit_any_more():
    rate = learnt(10, 10)
    rates = grown(rate, 200, start=10.0)
    assert rates[-1] is None
    assert max(value for value in rates if value is not None) <= FORGOTTEN * 10.1


def test_one_request_refused_twice_teaches_no_rate():
    rate = LearntRate()
    rate.sent(0.0)
    for _ in range(2):
        rate.refused(1)
    rate.sent(0.0)
    rate.refused(2)
    rate.limited(0.0, number=2, ceiling=None)
    assert rate.rate is None


@given(st.lists(st.tuples(st.floats(0, 2), st.sampled_from(["send", "answer", "limit"])), max_size=120))
def test_whatever_comes_the_rate_is_positive_and_a_429_never_raises_it(events: list[tuple[float, str]]):
    rate, now, count = LearntRate(), 0.0, 0
    for later, event in events:
        now += later
        before = rate.rate
        if event == "send" or not count:
            rate.sent(now)
            count += 1
        elif event == "answer":
            rate.answered(now, sent_at=now)
        else:
            rate.refused(count)
            rate.limited(now, number=count, ceiling=None)
            assert before is None or (rate.rate is not None and rate.rate <= before)
        assert rate.rate is None or 0 < rate.rate < float("inf")


def run_against(limit: Limit, rows: int, *, latency: float, tells_when: bool) -> tuple[Part, LimitedClient, float]:
    runner.JITTER.seed(1)
    client = LimitedClient(latency=latency, limit=limit, tells_when=tells_when)

    async def main() -> tuple[Part, float]:
        part = await part_of(names(rows), client, max_concurrency=64).work()
        return part, asyncio.get_running_loop().time()

    part, seconds = run_in_fake_time(main())
    return part, client, seconds


@pytest.mark.parametrize("tells_when", [False, True])
@pytest.mark.parametrize("kind", [BucketLimit, WindowLimit])
@pytest.mark.parametrize(
    ("rate", "latency", "ratio"), [(2, 0.2, 1.3), (10, 0.05, 1.35), (10, 0.2, 1.35), (10, 2.0, 1.7)]
)
def test_a_limit_told_by_429s_alone_is_found(
    kind: Callable[[float], Limit], rate: int, latency: float, ratio: float, *, tells_when: bool
):
    part, client, seconds = run_against(kind(rate), 300, latency=latency, tells_when=tells_when)
    assert set(part.kinds) == {""}
    assert seconds <= ratio * ((300 - rate) / rate + latency)  # a second's worth may go at once
    assert client.refused <= 0.1 * 300


@pytest.mark.parametrize("tells_when", [False, True])
def test_600_a_minute_are_found_within_a_tenth_of_the_ideal(*, tells_when: bool):
    _, _, seconds = run_against(BucketLimit(10), 300, latency=0.2, tells_when=tells_when)
    assert seconds <= 1.1 * (290 / 10 + 0.2)


@pytest.mark.parametrize("rates", [(10, 20), (20, 10)])
def test_a_limit_that_changes_is_followed_within_half_a_minute(rates: tuple[int, int]):
    class Changing(BucketLimit):
        def wait(self, now: float) -> float:
            self.rate = rates[now >= 40]
            return super().wait(now)

    rows = 35 * rates[0] + 60 * rates[1]
    part, client, _ = run_against(Changing(rates[0]), rows, latency=0.2, tells_when=False)
    taken = [sum(start <= at < start + 10 for at in client.taken) / 10 for start in (20, 75)]
    assert set(part.kinds) == {""}
    assert taken[0] == pytest.approx(rates[0], rel=0.2)
    assert taken[1] == pytest.approx(rates[1], rel=0.2)
