"""Errors among the surest answers, by hand and against plain loops."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.proportions import wilson_interval
from llmframe.stats.risk_coverage import risk_coverage

TIED = st.lists(st.tuples(st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0]), st.booleans()), min_size=1, max_size=40)
DISTINCT = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40, unique_by=lambda pair: pair[0])


def curve_of(items):
    return risk_coverage([each for each, _ in items], [hit for _, hit in items])


def test_answers_of_equal_confidence_are_kept_together():
    curve = risk_coverage([0.9, 0.8, 0.8, 0.6], [True, True, False, False])
    assert [(step.threshold, step.kept, step.errors) for step in curve.steps] == [(0.9, 1, 0), (0.8, 3, 1), (0.6, 4, 2)]
    assert [step.coverage for step in curve.steps] == [0.25, 0.75, 1.0]
    assert [step.risk for step in curve.steps] == pytest.approx([0, 1 / 3, 1 / 2])


def test_the_area_is_the_mean_risk_at_each_answers_own_confidence():
    # 0, 1/3 twice, 1/2
    curve = risk_coverage([0.9, 0.8, 0.8, 0.6], [True, True, False, False])
    assert curve.aurc == pytest.approx((0 + 1 / 3 + 1 / 3 + 1 / 2) / 4)
    # two right ones first: 0, 0, 1/3, 2/4
    assert curve.oracle_aurc == pytest.approx((1 / 3 + 1 / 2) / 4)
    assert curve.excess == pytest.approx(1 / 12)


@given(DISTINCT)
def test_without_ties_the_area_is_the_mean_of_errors_among_the_first_k(items):
    ordered = [hit for _, hit in sorted(items, reverse=True)]
    risks = [ordered[:k].count(False) / k for k in range(1, len(items) + 1)]
    assert curve_of(items).aurc == pytest.approx(sum(risks) / len(risks))


@given(TIED)
def test_the_excess_is_never_below_zero_and_zero_in_the_best_order(items):
    assert curve_of(items).excess >= -1e-12
    best = [hit for _, hit in sorted(items, key=lambda pair: -pair[1])]
    assert curve_of([(1 - at / 100, hit) for at, hit in enumerate(best)]).excess == pytest.approx(0.0, abs=1e-12)


@given(TIED, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_is_of_no_matter(items, random):
    shuffled = random.sample(items, len(items))
    assert curve_of(shuffled) == curve_of(items)


def test_equal_confidences_everywhere_have_the_overall_risk():
    curve = risk_coverage([0.9] * 10, [True] * 7 + [False] * 3)
    assert curve.aurc == pytest.approx(0.3)
    assert len(curve.steps) == 1


@pytest.mark.parametrize(("right", "area"), [(True, 0.0), (False, 1.0)])
def test_of_one_class_the_order_costs_nothing(right, area):
    curve = risk_coverage([0.5, 0.7, 0.9], [right] * 3)
    assert (curve.aurc, curve.excess) == (pytest.approx(area), pytest.approx(0.0))


def test_accuracy_at_a_coverage_counts_all_that_are_tied_with_the_last():
    curve = risk_coverage([0.9] * 3 + [0.8] * 4 + [0.7] * 3, [True] * 3 + [True] * 3 + [False] + [False] * 3)
    # half of ten are five, the fifth is one of four at .8: seven are kept, six right
    found = curve.accuracy_at(0.5)
    interval = wilson_interval(6, 7)
    assert (found.value, found.n) == (pytest.approx(6 / 7), 7)
    assert (found.low, found.high) == (interval.low, interval.high)
    assert curve.accuracy_at(0.3).value == 1.0
    assert curve.accuracy_at(1.0, level=0.9).level == 0.9


def test_a_coverage_that_is_a_whole_number_of_answers_takes_just_those():
    # .7 · 10 is a hair above 7 in floating point, as is .1 · 3 above .3
    curve = risk_coverage([1 - at / 20 for at in range(10)], [True] * 10)
    assert [curve.at(at / 10).kept for at in range(1, 11)] == list(range(1, 11))


def test_without_answers_all_is_unknown():
    curve = risk_coverage([], [])
    assert (curve.n, curve.errors, curve.steps) == (0, 0, ())
    assert all(math.isnan(each) for each in (curve.aurc, curve.oracle_aurc, curve.excess))
    assert math.isnan(curve.accuracy_at(0.5).value)
    assert curve.accuracy_at(0.5).reason == "no answer has a confidence"
    with pytest.raises(UsageError, match="no answers with a confidence"):
        curve.at(0.5)


@pytest.mark.parametrize("coverage", [0, -0.1, 1.1, 80])
def test_a_coverage_is_a_share(coverage):
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        risk_coverage([0.5], [True]).at(coverage)


def test_two_answers_have_two_steps():
    assert [step.kept for step in risk_coverage([0.5, 0.6], [True, False]).steps] == [1, 2]
    assert risk_coverage([0.5], [False]).aurc == 1.0
