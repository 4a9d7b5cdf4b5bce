"""Shifts of single items: the formulas' references, and what they promise in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from llmframe.errors import UsageError
from llmframe.stats.paired import accuracies
from llmframe.stats.shifts import clustered, mean_shift, sign_flip_p

SETS = [
    pytest.param([1.0] * 15 + [-1.0] * 5 + [0.0] * 80, id="some-moved"),
    pytest.param([1.0] * 3 + [0.0] * 197, id="few-moved"),
    pytest.param([0.0] * 20, id="none-moved"),
    pytest.param([-1.0] * 9 + [1.0], id="most-moved"),
]


@pytest.mark.parametrize("values", SETS)
def test_shifts_of_one_have_agresti_and_mins_interval(values: list[float]):
    reference = accuracies([value < 1 for value in values], [value > -1 for value in values])
    found = mean_shift(values)
    assert found.effect.value == pytest.approx(sum(values) / len(values))
    assert (found.effect.low, found.effect.high) == pytest.approx((reference.interval.low, reference.interval.high))
    assert found.detectable == pytest.approx(reference.detectable)


@pytest.mark.parametrize(("up", "down"), [(15, 5), (3, 0), (1, 1), (40, 22), (0, 7)])
def test_shifts_of_one_have_the_mid_p_of_mcnemar(up: int, down: int):
    # Fagerland, Lydersen and Laake (2013): the exact two-sided p less the probability of what was observed
    exact = min(1.0, 2 * stats.binom.cdf(min(up, down), up + down, 0.5))
    middle = exact - stats.binom.pmf(min(up, down), up + down, 0.5) if up != down else 1.0
    assert sign_flip_p([1.0] * up + [-1.0] * down + [0.0] * 9) == pytest.approx(middle)


def test_p_of_halves_thirds_and_quarters_is_that_of_all_ways_to_turn_their_signs():
    terms = [0.5, 0.25, 1 / 3, -0.125]
    # sixteen sums; the observed 0.9583 is beaten by ±1.2083 alone (2), and equalled by itself and its negative (2)
    assert sign_flip_p(terms) == pytest.approx((2 + 2 / 2) / 16)
    assert sign_flip_p(terms, alternative="greater") == pytest.approx((1 + 1 / 2) / 16)
    assert sign_flip_p(terms, alternative="less") == pytest.approx(1 - (1 + 1 / 2) / 16)


def test_p_of_other_numbers_is_normal():
    terms = np.random.default_rng(1).normal(0.2, 1, 60)
    z = terms.sum() / math.sqrt((terms**2).sum())
    assert sign_flip_p(terms) == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert sign_flip_p(terms, alternative="less") == pytest.approx(stats.norm.cdf(z))


def test_where_nothing_moved_p_is_one_and_the_interval_is_not_empty():
    found = mean_shift([0.0] * 50)
    assert found.p == 1
    # a half on either side and one in the middle: variance (1/2 + 1/2) / 52, of a mean of 52
    assert found.se == pytest.approx(1 / 52)
    assert found.effect.low < 0 < found.effect.high


@pytest.mark.parametrize("n", [1, 2])
def test_few_items_are_told(n: int):
    found = mean_shift([1.0] * n)
    assert f"only {n} items or clusters" in found.effect.reason
    assert found.effect.high == 1


def test_no_item_is_unknown():
    found = mean_shift([])
    assert (math.isnan(found.effect.value), math.isnan(found.p), math.isnan(found.detectable)) == (True, True, True)
    assert found.effect.reason == "no item"


def test_items_that_move_together_count_once():
    alone = mean_shift([1.0, -1.0] * 20 + [1.0] * 10)
    together = mean_shift(
        [each for each in [1.0, -1.0] * 20 + [1.0] * 10 for _ in range(4)],
        clusters=[at for at in range(50) for _ in range(4)],
    )
    assert together.clusters == 50
    assert together.p == pytest.approx(alone.p)
    assert together.se == pytest.approx(alone.se, rel=0.05)


def test_clusters_are_added_up_in_the_order_they_come():
    sums, sizes = clustered([1, 2, 3], ["b", "a", "b"])
    assert (sums.tolist(), sizes.tolist()) == ([4, 2], [2, 1])


def test_what_cannot_be_is_told():
    with pytest.raises(UsageError, match=r"a shift is between -0.5 and 0.5, got 1.0"):
        mean_shift([0.25, 1.0], unit=0.5)
    with pytest.raises(UsageError, match="`clusters` has 1 entries for 2 items"):
        mean_shift([0.0, 0.0], clusters=["a"])


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5]), min_size=1, max_size=30))
def test_the_other_way_round_has_the_other_effect_and_the_same_p(values: list[float]):
    one, other = mean_shift(values, unit=0.5), mean_shift([-value for value in values], unit=0.5)
    assert one.effect.value == -other.effect.value
    assert one.p == pytest.approx(other.p)
    assert one.effect.low == pytest.approx(-other.effect.high)


def simulated(rate: float, tilt: float, *, n: int, repetitions: int, seed: int) -> list[list[float]]:
    """Shifts of a half in a part of the items, of which `tilt` go up."""
    random = np.random.default_rng(seed)
    moved = random.uniform(size=(repetitions, n)) < rate
    up = random.uniform(size=(repetitions, n)) < tilt
    return np.where(moved, np.where(up, 0.5, -0.5), 0.0).tolist()


def test_a_shift_that_is_none_is_found_in_a_twentieth_of_all_cases_at_most():
    found = [mean_shift(values, unit=0.5) for values in simulated(0.3, 0.5, n=60, repetitions=500, seed=2)]
    assert np.mean([each.p <= 0.05 for each in found]) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 500)
    assert np.mean([each.effect.low <= 0 <= each.effect.high for each in found]) >= 0.93


def test_a_shift_of_the_detectable_size_is_found_in_four_fifths_of_all_cases():
    # 0.4 of 100 items move by a half: SE 0.0316, detectable 0.0886 = 0.4 * (2 * 0.7215 - 1) / 2
    found = [mean_shift(values, unit=0.5) for values in simulated(0.4, 0.7215, n=100, repetitions=400, seed=3)]
    assert np.mean([each.detectable for each in found]) == pytest.approx(0.0886, abs=0.005)
    assert np.mean([each.p <= 0.05 for each in found]) == pytest.approx(0.8, abs=0.06)
