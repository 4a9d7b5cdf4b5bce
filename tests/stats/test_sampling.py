"""Samples of the size that was asked for, whose rows have the probabilities that are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.sampling import pick_by_stratum, pick_by_weight, pick_evenly


def test_a_plain_sample_is_of_the_size_asked_for_without_repeats():
    found = pick_evenly(50, 20)
    assert len(set(found.rows)) == 20
    assert set(found.rows) <= set(range(50))
    assert set(found.probabilities) == {0.4}


def test_the_seed_decides_which_rows():
    assert pick_evenly(50, 20, seed=1) == pick_evenly(50, 20, seed=1)
    assert pick_evenly(50, 20, seed=1).rows != pick_evenly(50, 20, seed=2).rows


def test_every_stratum_has_as_many_rows_as_it_can():
    # 12 rows in three strata: c has two rows and gives both, a and b have five each
    strata = ["a"] * 80 + ["b"] * 20 + ["c"] * 2
    found = pick_by_stratum(strata, 12)
    picked = [strata[row] for row in found.rows]
    assert [picked.count(name) for name in "abc"] == [5, 5, 2]
    assert [found.probabilities[at] for at in (0, 80, 100)] == [5 / 80, 5 / 20, 1.0]
    assert len(set(found.rows)) == 12


def test_a_budget_below_the_strata_is_refused():
    with pytest.raises(UsageError, match="less than a row for each of 3 strata"):
        pick_by_stratum(["a", "b", "c"], 2)


def test_probabilities_are_in_proportion_to_weights_between_floor_and_one():
    # weights 1, 1, 2, 4 of 4 rows, budget 2, floor 0.2 * 2/4 = 0.1: 2 * w/8 gives 0.25, 0.25, 0.5, 1
    assert pick_by_weight([1, 1, 2, 4], 2).probabilities == pytest.approx([0.25, 0.25, 0.5, 1])
    # weights 0, 1, 1: the first has 0.2 * 1/3, the others share what is left of 1
    assert pick_by_weight([0, 1, 1], 1).probabilities == pytest.approx([1 / 15, 7 / 15, 7 / 15])
    # a weight above all others is 1 at most
    assert pick_by_weight([1, 1, 98], 2).probabilities == pytest.approx([0.5, 0.5, 1])


@pytest.mark.parametrize("weights", [[0, 0, 0, 0], [3, 3, 3, 3]], ids=["nothing known", "equal"])
def test_equal_weights_are_a_plain_sample(weights: list[float]):
    assert pick_by_weight(weights, 2).probabilities == pytest.approx([0.5] * 4)


def test_a_floor_of_one_is_a_plain_sample():
    assert pick_by_weight([1, 2, 3, 4], 2, floor=1).probabilities == pytest.approx([0.5] * 4)


@given(
    weights=st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]), min_size=1, max_size=40),
    part=st.floats(0.01, 1),
    floor=st.sampled_from([0.05, 0.2, 1.0]),
    seed=st.integers(0, 50),
)
def test_the_budget_is_spent_and_probabilities_sum_to_it(weights: list[float], part: float, floor: float, seed: int):
    budget = max(1, int(part * len(weights)))
    found = pick_by_weight(weights, budget, floor=floor, seed=seed)
    assert len(set(found.rows)) == len(found.rows) == budget
    assert sum(found.probabilities) == pytest.approx(budget)
    assert min(found.probabilities) >= floor * budget / len(weights) - 1e-9
    assert max(found.probabilities) <= 1


def test_rows_are_picked_as_often_as_their_probabilities_say():
    """1,000 samples: a share is known to ±0.047 (three standard errors)."""
    weights = [0.0, 0.1, 0.2, 0.4, 0.8, 0.8, 0.1, 0.3]
    counts = np.zeros(8)
    for seed in range(1000):
        counts[list(pick_by_weight(weights, 3, seed=seed).rows)] += 1
    assert counts / 1000 == pytest.approx(np.array(pick_by_weight(weights, 3).probabilities), abs=0.047)


def test_the_order_of_picked_rows_tells_nothing_of_their_weight():
    weights = np.linspace(0.1, 1, 200)
    first = [weights[pick_by_weight(weights, 40, seed=seed).rows[0]] for seed in range(150)]
    last = [weights[pick_by_weight(weights, 40, seed=seed).rows[-1]] for seed in range(150)]
    assert abs(np.mean(first) - np.mean(last)) < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pick_evenly(5, 6), "`budget` is 6, and there are 5 rows"),
        (lambda: pick_evenly(5, 0), "a whole number from 1 on, got 0"),
        (lambda: pick_evenly(5, 2.5), "a whole number from 1 on, got 2.5"),
        (lambda: pick_by_weight([1, -1], 1), "numbers from 0 on"),
        (lambda: pick_by_weight([1, 2], 1, floor=0), "`floor` is above 0"),
        (lambda: pick_by_weight([], 1), "there are 0 rows"),
    ],
    ids=["too many", "none", "a half", "negative", "no floor", "no rows"],
)
def test_what_cannot_be_meant_is_refused(call: Any, message: str):
    with pytest.raises(UsageError, match=message):
        call()
