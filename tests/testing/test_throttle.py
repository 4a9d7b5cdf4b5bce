from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing.throttle import Throttle


def test_without_limits_everything_passes_without_headers():
    verdict = Throttle(requests_per_minute=None, tokens_per_minute=None).admit(tokens=10**9, now=1)
    assert (verdict.wait, verdict.headers) == (0.0, {})


def test_a_second_of_requests_passes_and_the_next_is_told_when():
    throttle = Throttle(requests_per_minute=120, tokens_per_minute=None)  # 2 a second
    waits = [throttle.admit(tokens=1, now=100).wait for _ in range(3)]
    assert waits == [0, 0, 0.5]
    assert throttle.admit(tokens=1, now=100.5).wait == 0


def test_a_refused_request_is_not_charged():
    throttle = Throttle(requests_per_minute=60, tokens_per_minute=600)  # 1 and 10 a second
    assert throttle.admit(tokens=10, now=0).wait == 0
    assert [throttle.admit(tokens=10, now=0.5).wait for _ in range(5)] == [0.5] * 5
    assert throttle.admit(tokens=10, now=1).wait == 0


def test_headers_tell_limit_rest_and_refill():
    throttle = Throttle(requests_per_minute=240, tokens_per_minute=6000)  # 4 and 100 a second
    assert throttle.admit(tokens=30, now=0).headers == {
        "x-ratelimit-limit-requests": "240",
        "x-ratelimit-remaining-requests": "3",
        "x-ratelimit-reset-requests": "250ms",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "70",
        "x-ratelimit-reset-tokens": "300ms",
    }


def test_a_refusal_tells_its_wait_in_whole_seconds_and_in_milliseconds():
    throttle = Throttle(requests_per_minute=30, tokens_per_minute=None)  # one in 2 s
    throttle.admit(tokens=1, now=0)
    headers = throttle.admit(tokens=1, now=0.5).headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "1500")


def test_a_request_above_the_capacity_passes_when_full_and_leaves_a_debt():
    throttle = Throttle(requests_per_minute=None, tokens_per_minute=600)  # 10 a second
    assert throttle.admit(tokens=50, now=0).wait == 0
    # 40 owed: full again (and 10 there) after 5 s.
    assert throttle.admit(tokens=10, now=0).wait == pytest.approx(5.0)


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 40)), max_size=60))
def test_never_more_passes_than_rate_burst_and_one_oversized_request(steps):
    throttle, now, granted = Throttle(requests_per_minute=None, tokens_per_minute=1200), 0.0, 0  # 20 a second
    for gap, tokens in steps:
        now += gap
        if throttle.admit(tokens=tokens, now=now).wait == 0:
            granted += tokens
    assert granted <= 20 * now + 20 + 40 + 1e-3


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30))
def test_who_waits_as_long_as_told_is_admitted(costs):
    throttle, now = Throttle(requests_per_minute=600, tokens_per_minute=900), 0.0
    for tokens in costs:
        now += throttle.admit(tokens=tokens, now=now).wait or 0.0
        verdict = throttle.admit(tokens=tokens, now=now)
        now += verdict.wait
        assert verdict.wait == 0 or throttle.admit(tokens=tokens, now=now).wait == 0
