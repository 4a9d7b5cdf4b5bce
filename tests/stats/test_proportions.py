"""Intervals of proportions."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from llmframe.errors import UsageError
from llmframe.stats.proportions import quantile, wilson_interval


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (1, 7), (7, 7), (45, 60), (1, 1)])
def test_the_interval_is_statsmodels_wilson(successes, n):
    low, high = proportion_confint(successes, n, method="wilson")
    found = wilson_interval(successes, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_no_data_has_no_interval():
    assert math.isnan(wilson_interval(0, 0).low)
    assert math.isnan(wilson_interval(0, 0).high)


def test_more_successes_than_trials_are_refused():
    with pytest.raises(UsageError, match="successes=3"):
        wilson_interval(3, 2)
    with pytest.raises(UsageError, match="level"):
        quantile(1.0)


def test_ninety_five_percent_lie_within_1_96_deviations():
    assert quantile(0.95) == pytest.approx(1.959964, abs=1e-6)
