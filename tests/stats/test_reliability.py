"""Figures of confidences: by hand, and the references' where there is one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from llmframe.stats.reliability import brier, calibration_error, log_loss

ITEMS = st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans()), min_size=2, max_size=40)


@given(ITEMS)
def test_log_loss_and_brier_are_scikit_learns(items):
    confidences, right = map(list, zip(*items, strict=True))
    assert log_loss(confidences, right) == pytest.approx(metrics.log_loss(right, confidences, labels=[False, True]))
    assert brier(confidences, right) == pytest.approx(
        sum((c - h) ** 2 for c, h in zip(confidences, right, strict=True)) / len(items)
    )


def test_one_wrong_certainty_costs_a_finite_loss():
    assert log_loss([1.0], [False]) == pytest.approx(-math.log(1e-6))
    assert log_loss([0.0], [True]) == pytest.approx(-math.log(1e-6))


def test_the_calibration_error_is_the_mean_distance_of_the_bins():
    # bins of 3 and 2: |.1 + .2 + .3 - 1| = .4 and |.8 + .9 - 1| = .7; 1.1 over 5
    assert calibration_error([0.9, 0.1, 0.2, 0.8, 0.3], [True, False, True, False, False], bins=2) == pytest.approx(
        0.22
    )


def test_equal_confidences_count_as_their_mean_whatever_the_order():
    # four items of .5 with two right: every bin is as it should be
    for right in ([True, True, False, False], [True, False, True, False]):
        assert calibration_error([0.5] * 4, right, bins=2) == pytest.approx(0.0)


@given(ITEMS)
def test_a_calibration_error_lies_between_the_overall_one_and_one(items):
    confidences, right = map(list, zip(*items, strict=True))
    overall = abs(sum(confidences) - sum(right)) / len(items)
    assert overall - 1e-9 <= calibration_error(confidences, right) <= 1.0


def test_no_items_are_unknown():
    assert all(math.isnan(each([], [])) for each in (log_loss, brier, calibration_error))
