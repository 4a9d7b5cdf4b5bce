"""What a budget counts: spent, set aside, left."""

from __future__ import annotations

import copy
import math
import os
import pickle
import threading
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmframe
from llmframe.budget import Budget, Hold, budget_of, limit_line, limit_text, money
from llmframe.errors import UsageError


def test_a_budget_tells_its_limits_and_what_is_left_of_them():
    budget = Budget(5, calls=1000, seconds=600)
    assert (budget.usd, budget.tokens, budget.calls, budget.seconds) == (5, None, 1000, 600)
    budget.settle(budget.reserve(0.5, 100), usd=0.42, tokens=90)
    assert (budget.spent_usd, budget.spent_tokens, budget.spent_calls) == (0.42, 90, 1)
    assert budget.limits == {"usd": 5, "calls": 1000, "seconds": 600}
    assert budget.spent == {"usd": 0.42, "calls": 1}
    assert budget.left == {"usd": 4.58, "calls": 999}
    assert repr(budget) == "<llmframe.Budget: $0.42 of $5.00, 1 of 1,000 calls, 600 s>"


def test_what_is_in_flight_is_set_aside_until_it_is_settled():
    budget = Budget(1.0)
    hold = budget.reserve(0.75, 10)
    assert (budget.reserved_usd, budget.spent_usd, budget.left) == (0.75, 0.0, {"usd": 1.0})
    assert budget.fits(0.25, 10)
    assert not budget.fits(0.26, 10)
    budget.settle(hold, usd=0.1, tokens=5)
    assert (budget.reserved_usd, budget.spent_usd, budget.spent_tokens) == (0.0, 0.1, 5)
    assert budget.fits(0.9, 10)


def test_an_unknown_usage_keeps_what_was_set_aside():
    budget = Budget(1.0)
    budget.settle(budget.reserve(0.75, 10))
    assert (budget.reserved_usd, budget.spent_usd, budget.spent_tokens, budget.spent_calls) == (0.0, 0.75, 10, 1)


def test_what_was_not_sent_was_not_spent_and_is_no_call():
    budget = Budget(calls=1)
    hold = budget.reserve(0.75, 10)
    assert not budget.fits(0.0, 0)
    budget.release(hold)
    budget.release(hold)
    budget.settle(hold)
    assert (budget.spent_usd, budget.spent_tokens, budget.spent_calls) == (0.0, 0, 0)
    assert budget.fits(0.0, 0)


def test_a_limit_may_be_reached_exactly():
    """Ten times $0.10 are a dollar, which sums of floats are not."""
    budget = Budget(1.0)
    for _ in range(10):
        assert budget.fits(0.1, 1)
        budget.settle(budget.reserve(0.1, 1))
    assert budget.spent_usd == 1.0
    assert not budget.fits(0.0, 0)


@pytest.mark.parametrize(
    ("budget", "spent", "asked", "refusal"),
    [
        (Budget(1.0), (0.5, 0), (0.4, 0), None),
        (Budget(1.0), (0.98, 0), (0.03, 0), "$0.98 of $1.00 spent, and the next request may take $0.03; with a fresh "),
        (Budget(1.0), (1.02, 0), (0.03, 0), "$1.02 of $1.00 spent; with a fresh budget the same call goes on where it"),
        (Budget(0.02), (0, 0), (0.03, 0), "the next request may take $0.03, and the whole budget is $0.02"),
        (Budget(tokens=2000), (0, 1990), (9, 80), "1,990 of 2,000 tokens spent, and the next request may take 80 tok"),
        (Budget(tokens=20), (0, 0), (9, 80), "the next request may take 80 tokens, and the whole budget is 20 tokens"),
        (Budget(calls=1), (5, 5), (0, 0), "1 of 1 calls spent; with a fresh budget the same call goes on where it"),
    ],
)
def test_a_refusal_says_what_was_spent_of_what(
    budget: Budget, spent: tuple[float, int], asked: tuple[float, int], refusal: str | None
):
    if any(spent):
        budget.settle(budget.reserve(0.0, 0), usd=spent[0], tokens=spent[1])
    told = budget.refusal(*asked)
    assert told is None if refusal is None else str(told).startswith(refusal)


def test_while_something_is_in_flight_only_a_limit_that_is_reached_refuses():
    budget = Budget(1.0, calls=9)
    hold = budget.reserve(0.9, 1)
    assert budget.refusal(0.2, 1) is None
    budget.settle(budget.reserve(0.0, 1), usd=1.0, tokens=1)
    assert str(budget.refusal(0.2, 1)).startswith("$1.00 of $1.00 spent;")
    budget.release(hold)


def test_its_time_begins_when_it_is_first_asked_for():
    budget = Budget(seconds=60)
    assert budget.seconds_left(1000.0) == 60
    assert budget.seconds_left(1050.0) == 10
    assert budget.seconds_left(1070.0) == -10
    assert Budget(1.0).seconds_left(1000.0) is None


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (0, "`budget` must be a number of dollars above 0, got 0: say budget=1.0"),
        (-1.5, "`budget` must be a number of dollars above 0, got -1.5"),
        (math.nan, "`budget` must be a number of dollars above 0, got nan"),
        (math.inf, "`budget` must be a number of dollars above 0, got inf"),
        (True, "`budget` must be dollars, a mapping or a llmframe.Budget, got True"),
        ("5", "`budget` must be dollars, a mapping or a llmframe.Budget, got '5'"),
        ([5], "`budget` must be dollars, a mapping or a llmframe.Budget, got [5]"),
        ({}, "`budget` limits nothing: say budget=1.0 (dollars), or"),
        ({"dollars": 5}, "`budget` has no limit 'dollars'; limits: usd, tokens, calls, seconds"),
        ({"second": 5}, "`budget` has no limit 'second'; did you mean 'seconds'? limits: usd,"),
        ({1: 5}, "`budget` has no limit 1; limits: usd,"),
        ({"usd": 0}, "`budget['usd']` must be a number above 0, got 0"),
        ({"usd": None}, "`budget['usd']` must be a number above 0, got None"),
        ({"seconds": True}, "`budget['seconds']` must be a number above 0, got True"),
        ({"seconds": math.nan}, "`budget['seconds']` must be a number above 0, got nan"),
        ({"usd": 1, "calls": 2.5}, "`budget['calls']` must be a whole number of at least 1, got 2.5"),
        ({"tokens": 0.5}, "`budget['tokens']` must be a whole number of at least 1, got 0.5"),
        ({"tokens": "9k"}, "`budget['tokens']` must be a whole number of at least 1, got '9k'"),
    ],
)
def test_what_can_not_be_a_budget_is_refused(said: Any, message: str):
    with pytest.raises(UsageError) as caught:
        budget_of(said)
    assert str(caught.value).startswith(message)


def test_a_budget_is_held_to_the_same_rules_when_it_is_made():
    with pytest.raises(UsageError, match=r"`Budget\(usd=\.\.\.\)` must be a number above 0, got -1"):
        Budget(-1)
    with pytest.raises(UsageError, match="`budget` limits nothing"):
        Budget()


def test_a_plain_value_is_a_fresh_budget_and_a_budget_is_itself():
    said = {"usd": 1, "tokens": 2e6}
    first, second = budget_of(said), budget_of(said)
    assert first is not None
    assert second is not None
    assert first is not second
    assert (first.usd, first.tokens) == (1, 2_000_000)
    shared = llmframe.Budget(1)
    assert budget_of(shared) is shared
    assert budget_of(None) is None


def test_a_copy_is_refused_because_it_would_count_apart():
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(UsageError, match="counts in the process that made it"):
            make(Budget(1))


def test_threads_that_spend_at_once_lose_nothing():
    budget = Budget(1e9)

    def spend() -> None:
        for _ in range(2000):
            budget.settle(budget.reserve(0.002, 2), usd=0.001, tokens=1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.spent_usd, budget.spent_tokens, budget.spent_calls, budget.reserved_usd) == (8.0, 8000, 8000, 0.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_waits_for_nothing_that_is_in_flight_in_its_parent():
    budget = Budget(1.0)
    budget.reserve(0.9, 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if budget.fits(0.5, 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not budget.fits(0.5, 1)


AMOUNTS = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))
"""Millionths of a dollar, and tokens."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), AMOUNTS),
        st.tuples(st.sampled_from(["settle", "unknown", "release"]), AMOUNTS),
    ),
    max_size=40,
)


@given(STEPS, st.randoms(use_true_random=False))
def test_whatever_becomes_of_requests_the_sums_are_those_by_hand(steps: list[Any], chance: Any):
    """The ledger by hand: what is open at its estimate, what has ended at what it took; nothing is below 0."""
    budget = Budget(1e6, tokens=10**12, calls=10**6)
    holds: list[tuple[Hold, int, int]] = []
    closed: set[int] = set()
    usd, tokens, calls = Fraction(0), 0, 0
    for what, (millionths, count) in steps:
        if what == "reserve":
            holds.append((budget.reserve(millionths / 1e6, count), millionths, count))
        elif holds:
            number = chance.randrange(len(holds))
            hold, expected, reserved = holds[number]
            is_open = number not in closed
            closed.add(number)
            if what == "release":
                budget.release(hold)
                continue
            known = what == "settle"
            budget.settle(hold, usd=millionths / 1e6 if known else None, tokens=count if known else None)
            if is_open:
                usd += Fraction(millionths if known else expected, 10**6)
                tokens += count if known else reserved
                calls += 1
        still = [each for number, each in enumerate(holds) if number not in closed]
        assert budget.spent_usd == float(usd)
        assert (budget.spent_tokens, budget.spent_calls) == (tokens, calls)
        assert budget.reserved_usd == float(Fraction(sum(expected for _, expected, _ in still), 10**6))
        assert min(budget.spent_usd, budget.spent_tokens, budget.reserved_usd) >= 0
        asked = Fraction(1, 10**6)
        fits = usd + sum(Fraction(expected, 10**6) for _, expected, _ in still) + asked <= 10**6
        assert budget.fits(float(asked), 0) == fits


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0, "$0.00"), (0.00012345, "$0.0001234"), (0.5, "$0.5"), (0.99999, "$1.00"), (1234.5, "$1,234.50")],
)
def test_money_is_told_with_four_figures_below_a_dollar_and_cents_above(usd: float, text: str):
    assert money(usd) == text


def test_limits_are_told_with_their_units():
    assert limit_text("usd", 1) == "$1.00"
    assert limit_text("tokens", 2_000_000) == "2,000,000 tokens"
    assert limit_text("seconds", 600) == "600 s"
    assert limit_line("usd", 0.42, 1) == "$0.42 of $1.00"
    assert limit_line("calls", 120, 1000) == "120 of 1,000 calls"
