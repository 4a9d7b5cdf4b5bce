"""Token buckets by hand arithmetic, and the law of every window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.engine.tokens import BURST_SECONDS, Cost, TokenBucket, TokenBuckets
from llmframe.errors import UsageError

costs = st.builds(Cost, st.floats(0, 900), st.floats(0, 900))
steps = st.lists(
    st.tuples(
        st.floats(0, 5),  # seconds that pass
        st.sampled_from(["grant", "grant", "settle", "unknown", "cancel"]),
        costs,  # asked for, or used in the end
        st.integers(0, 30),  # which reservation
    ),
    max_size=60,
)
rates = st.floats(1, 1e6)


def bucket() -> TokenBucket:
    """200 tokens a second, hence a capacity of 200."""
    return TokenBucket(12_000, 0.0)


def test_a_bucket_starts_full_of_one_seconds_worth_and_never_holds_more():
    full = bucket()
    assert full.capacity == 200
    assert full.level(0.0) == 200
    assert full.level(1_000.0) == 200


def test_a_wait_is_what_is_missing_at_the_rate():
    used = bucket()
    used.take(150, 0.0)
    assert used.wait(50, 0.0) == 0.0
    assert used.wait(100, 0.0) == 0.25
    assert used.wait(100, 0.25) == 0.0


def test_an_oversized_request_waits_for_a_full_bucket_and_leaves_a_debt():
    used = bucket()
    used.take(50, 0.0)
    assert used.wait(500, 0.0) == 0.25
    used.take(500, 0.25)
    assert used.level(0.25) == -300
    assert used.wait(0, 0.25) == 1.5
    assert used.wait(100, 0.25) == 2.0


def test_settling_refunds_what_was_too_much_and_charges_what_was_too_little():
    used = bucket()
    used.take(150, 0.0)
    used.settle(150, 30, 0.0)
    assert used.level(0.0) == 170
    used.settle(30, 300, 0.0)
    assert used.level(0.0) == -100


def test_a_refund_never_fills_beyond_the_capacity():
    used = bucket()
    used.take(100, 0.0)
    used.give(100, 0.25)  # 50 came back by themselves
    assert used.level(0.25) == 200


def test_a_level_is_only_ever_lowered():
    used = bucket()
    used.lower(120, 0.0)
    used.lower(180, 0.0)
    assert used.level(0.0) == 120


def test_a_new_rate_keeps_the_debt_and_what_was_refilled_before_it():
    used = bucket()
    used.take(500, 0.0)
    used.set_rate(600, 1.0)
    assert used.level(1.0) == -100
    assert used.level(2.0) == -90
    generous = bucket()
    generous.set_rate(600, 0.0)
    assert generous.level(0.0) == 10


def test_a_clock_that_stands_still_or_steps_back_adds_nothing():
    used = TokenBucket(12_000, 10.0)
    used.take(100, 10.0)
    assert used.level(9.0) == 100
    assert used.level(10.25) == 150


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
def test_a_rate_that_is_none_is_refused_with_the_remedy(rate):
    with pytest.raises(UsageError, match="None sets no limit"):
        TokenBucket(rate, 0.0)


@given(rates, st.floats(0, 2e9), st.floats(0, 1e7), st.floats(0, 1e7))
def test_after_the_wait_it_may_go_on_any_clock(rate, now, taken, cost):
    used = TokenBucket(rate, now)
    used.take(taken, now)
    assert used.wait(cost, now + used.wait(cost, now)) == 0.0


def test_a_request_waits_for_the_slowest_of_its_limits():
    limits = TokenBuckets({"input": 12_000, "output": 1_200}, now=0.0)
    limits.reserve(Cost(200, 20), 0.0)
    assert limits.wait(Cost(100, 1), 0.0) == 0.5
    assert limits.wait(Cost(10, 20), 0.0) == 1.0


def test_without_a_limit_everything_goes():
    assert TokenBuckets().wait(Cost(1e9, 1e9), 0.0) == 0.0
    assert TokenBuckets().level("total", 0.0) is None
    assert TokenBuckets().rate("total") is None
    assert not TokenBuckets().limited
    assert TokenBuckets({"input": 600}).limited


def test_a_total_counts_both_directions():
    limits = TokenBuckets({"total": 12_000}, now=0.0)
    limits.reserve(Cost(100, 30), 0.0)
    assert limits.level("total", 0.0) == 70
    assert limits.rate("total") == pytest.approx(12_000)


def test_a_reservation_is_closed_once():
    limits = TokenBuckets({"total": 12_000}, now=0.0)
    first, second, third = (limits.reserve(Cost(50, 0), 0.0) for _ in range(3))
    for _ in range(2):
        limits.cancel(first, 0.0)
        limits.settle(second, Usage(10, 0), 0.0)
        limits.settle(third, None, 0.0)
        limits.cancel(third, 0.0)
    assert limits.level("total", 0.0) == 200 - 10 - 50


def test_of_what_the_provider_left_unsaid_the_estimate_stays_charged():
    limits = TokenBuckets({"input": 12_000, "output": 12_000}, now=0.0)
    limits.settle(limits.reserve(Cost(100, 60), 0.0), Usage(40, None), 0.0)
    assert (limits.level("input", 0.0), limits.level("output", 0.0)) == (160, 140)


def test_a_server_lowers_the_level_by_what_it_had_not_seen_too():
    limits = TokenBuckets({"total": 12_000}, now=0.0)
    first = limits.reserve(Cost(10, 0), 0.0)
    limits.reserve(Cost(25, 5), 0.0)
    limits.observed("total", 100, first, sent_at=0.0, now=0.0)
    assert limits.level("total", 0.0) == 70
    limits.observed("total", 10_000, first, sent_at=0.0, now=0.0)
    limits.observed("input", 0, first, sent_at=0.0, now=0.0)  # no such limit
    assert limits.level("total", 0.0) == 70


def test_what_was_refilled_while_the_reply_was_on_its_way_is_there():
    limits = TokenBuckets({"total": 12_000}, now=0.0)
    limits.observed("total", 100, limits.reserve(Cost(10, 0), 0.0), sent_at=0.0, now=0.1)
    assert limits.level("total", 0.1) == 120


def test_a_server_that_refuses_leaves_nothing_and_pays_no_debt():
    limits = TokenBuckets({"input": 12_000, "output": 12_000}, now=0.0)
    limits.reserve(Cost(300, 0), 0.0)
    limits.empty(0.0)
    assert (limits.level("input", 0.0), limits.level("output", 0.0)) == (-100, 0)


def test_a_limit_set_later_owes_nothing_to_what_was_reserved_before():
    limits = TokenBuckets()
    early = limits.reserve(Cost(100, 0), 0.0)
    limits.set_rate("total", 12_000, 0.0)
    limits.reserve(Cost(150, 0), 0.0)
    limits.cancel(early, 0.0)
    assert limits.level("total", 0.0) == 50
    limits.set_rate("total", None, 0.0)
    assert limits.wait(Cost(1_000, 0), 0.0) == 0.0


@given(steps, st.floats(60, 1e5))
def test_in_every_window_no_more_is_granted_than_rate_and_capacity_and_one_oversized(played, rate):
    limits, now = TokenBuckets({"total": rate}, now=0.0), 0.0
    reserved = []
    charges: list[tuple[float, float, bool]] = []  # when, how much, whether it was granted just then
    for seconds, what, cost, which in played:
        now += seconds
        if what == "grant":
            now += limits.wait(cost, now)
            reserved.append(limits.reserve(cost, now))
            charges.append((now, cost.of("total"), True))
        elif reserved:
            one = reserved[which % len(reserved)]
            before = one.cost.of("total")
            if what == "cancel":
                limits.cancel(one, now)
            else:
                limits.settle(one, Usage(int(cost.input), int(cost.output)) if what == "settle" else None, now)
            charges.append((now, one.cost.of("total") - before, False))
    capacity = rate / 60 * BURST_SECONDS
    for first, (begin, _, _) in enumerate(charges):
        net = 0.0
        for end, charge, granted in charges[first:]:
            net += charge
            if granted:
                oversized = max(0.0, charge - capacity)
                assert net <= rate / 60 * (end - begin) + capacity + oversized + 1e-3 * (1 + capacity)


@given(steps, st.floats(60, 1e5))
def test_the_level_is_whole_again_when_everything_is_cancelled(played, rate):
    limits, now = TokenBuckets({"total": rate, "input": rate / 2}, now=0.0), 0.0
    reserved = []
    for seconds, _, cost, _ in played:
        now += seconds
        reserved.append(limits.reserve(cost, now))
    for one in reversed(reserved):
        limits.cancel(one, now)
    assert limits.level("total", now) == pytest.approx(rate / 60 * BURST_SECONDS)
    assert limits.level("input", now) == pytest.approx(rate / 120 * BURST_SECONDS)
