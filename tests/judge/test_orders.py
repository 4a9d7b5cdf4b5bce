"""Two verdicts on a pair, one in each order, as one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.judge.orders import TIE, Said, Settled, settled

AB, BA = "(a, b)", "(b, a)"


def both(first: str | None, second: str | None, **said: Any) -> Settled:
    """`said` holds pairs, one value an order."""
    orders = [{name: pair[place] for name, pair in said.items()} for place in (0, 1)]
    return settled(
        Said(order=AB, verdict=first, **{"error": None, **orders[0]}),
        Said(order=BA, verdict=second, **{"error": None, **orders[1]}),
    )


@pytest.mark.parametrize(
    ("first", "second", "winner", "consistent"),
    [
        ("a", "a", "a", True),
        ("b", "b", "b", True),
        (TIE, TIE, TIE, True),
        ("a", "b", TIE, False),
        ("a", TIE, TIE, False),
        (TIE, "b", TIE, False),
    ],
)
def test_a_side_wins_in_both_orders_only(first: str, second: str, winner: str, *, consistent: bool):
    assert both(first, second) == Settled(winner=winner, consistent=consistent)


def test_probabilities_are_the_mean_of_both_orders():
    # of a the mean of 0.75 and 0.25, of b of 0 and 0.25, of the tie of 0.25 and 0.5
    shares = ({"a": 0.75, "b": 0.0, TIE: 0.25}, {"b": 0.25, "a": 0.25, TIE: 0.5})
    told = both("a", TIE, shares=shares, confidence=(0.75, 0.5), source=("logprobs", "logprobs"))
    assert told == Settled(
        winner=TIE,
        consistent=False,
        confidence=0.375,
        source="logprobs",
        shares={"a": 0.5, "b": 0.125, TIE: 0.375},
    )


def test_a_tie_that_no_judge_could_say_has_no_confidence():
    shares = ({"a": 0.75, "b": 0.25}, {"b": 0.5, "a": 0.5})
    told = both("a", "b", shares=shares, confidence=(0.75, 0.5), source=("logprobs", "logprobs"))
    assert (told.winner, told.confidence, told.source) == (TIE, None, "tie")
    assert told.shares == {"a": 0.625, "b": 0.375}


def test_where_one_order_has_votes_only_the_source_is_votes():
    shares = ({"a": 0.75, "b": 0.25}, {"b": 0.0, "a": 1.0})
    told = both("a", "a", shares=shares, confidence=(0.75, 1.0), source=("logprobs", "votes"))
    assert (told.confidence, told.source) == (0.875, "votes")


def test_of_stated_confidences_it_is_the_mean_and_none_where_orders_disagree():
    said: dict[str, Any] = {"confidence": (0.75, 0.25), "source": ("stated", "stated")}
    assert (both("a", "a", **said).confidence, both("a", "a", **said).source) == (0.5, "stated")
    assert (both("a", "b", **said).confidence, both("a", "b", **said).source) == (None, "tie")


def test_where_one_order_has_no_confidence_its_reason_is_told():
    shares = (None, {"b": 0.0, "a": 1.0})
    told = both("a", "a", shares=shares, confidence=(None, 1.0), source=("low_label_mass", "logprobs"))
    assert told == Settled(winner="a", consistent=True, source="low_label_mass")


def test_votes_that_are_tied_in_one_order_leave_no_winner():
    told = both("a", None, confidence=(0.8, None), source=("votes", "tie"))
    assert told == Settled(source="tie")


def test_a_failure_in_one_order_is_told_with_the_order():
    told = both("a", None, error=(None, "timeout: no answer in 60 s"))
    assert told == Settled(error="timeout: in the order (b, a): no answer in 60 s")
    assert both(None, "a", error=("empty", None)).error == "empty: in the order (a, b)"
    assert both(None, None, error=("server: 500", "timeout: x")).error == "server: in the order (a, b): 500"


def test_the_same_failure_in_both_orders_is_told_as_it_is():
    error = "null: missing value in 'a'"
    assert both(None, None, error=(error, error)) == Settled(error=error)


def test_a_row_that_was_not_asked_has_nothing():
    assert both(None, None) == Settled()


@given(st.sampled_from(["a", "b", TIE, None]), st.sampled_from(["a", "b", TIE, None]))
def test_which_order_is_first_decides_nothing(first: str | None, second: str | None):
    assert both(first, second) == both(second, first)
