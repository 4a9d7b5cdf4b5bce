"""Curves: order, sum and the identity are kept."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.stats.curves import FLOOR, interpolated, logit, moved, reweighted, sigmoid, tempered

PROBABILITY = st.floats(0.0, 1.0)
DISTRIBUTION = st.lists(st.floats(0.001, 1.0), min_size=2, max_size=6).map(
    lambda found: [x / sum(found) for x in found]
)


@given(st.floats(FLOOR, 1.0 - FLOOR))
def test_the_sigmoid_undoes_the_logit(probability):
    assert sigmoid(logit(probability)) == pytest.approx(probability, abs=1e-12)


def test_a_bare_zero_or_one_has_a_finite_logit():
    # log(1e-6 / (1 - 1e-6)) = -13.815509557963773
    assert logit(0.0) == pytest.approx(-13.8155096, abs=1e-6)
    assert logit(1.0) == pytest.approx(13.8155096, abs=1e-6)


def test_a_sigmoid_of_a_huge_value_overflows_nowhere():
    assert sigmoid(-1000.0) == 0.0
    assert sigmoid(1000.0) == 1.0


def test_a_temperature_of_two_takes_square_roots():
    # sqrt(.64) : sqrt(.36) = .8 : .6, hence 8/14 and 6/14
    assert tempered([0.64, 0.36], 2.0) == pytest.approx((8 / 14, 6 / 14))


@given(DISTRIBUTION, st.floats(0.05, 20.0))
def test_a_temperature_keeps_the_sum_and_the_order(probabilities, temperature):
    made = tempered(probabilities, temperature)
    assert sum(made) == pytest.approx(1.0)
    best = max(range(len(made)), key=probabilities.__getitem__)
    assert made[best] == max(made)


@given(DISTRIBUTION)
def test_a_temperature_of_one_changes_nothing(probabilities):
    assert tempered(probabilities, 1.0) == tuple(probabilities)


def test_new_priors_over_old_shares_move_probability():
    # odds 1:1 times weights .2/.5 and .8/.5: .4 : 1.6 = .2 : .8
    assert reweighted([0.5, 0.5], [0.4, 1.6]) == pytest.approx((0.2, 0.8))


def test_nothing_is_made_of_labels_that_a_prior_excludes():
    assert reweighted([1.0, 0.0], [0.0, 2.0]) == ()


def test_between_knots_a_curve_is_a_line_and_flat_outside():
    knots, heights = (0.2, 0.6), (0.1, 0.9)
    assert interpolated(0.0, knots, heights) == 0.1
    assert interpolated(0.2, knots, heights) == 0.1
    assert interpolated(0.4, knots, heights) == pytest.approx(0.5)
    assert interpolated(0.6, knots, heights) == 0.9
    assert interpolated(1.0, knots, heights) == 0.9
    assert interpolated(0.5, (0.3,), (0.7,)) == 0.7


def test_the_others_share_what_the_chosen_label_leaves():
    # .6 becomes .8: .3 and .1 share .2 as 3 : 1
    assert moved([0.6, 0.3, 0.1], 0, 0.8) == pytest.approx((0.8, 0.15, 0.05))
    assert moved([1.0, 0.0, 0.0], 0, 0.8) == pytest.approx((0.8, 0.1, 0.1))


@given(PROBABILITY, PROBABILITY)
def test_a_logit_never_turns_the_order_around(left, right):
    assert (logit(left) - logit(right)) * (left - right) >= 0
    assert math.isfinite(logit(left))
