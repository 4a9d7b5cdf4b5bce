"""Coefficients of observations: statsmodels' own where they exist, otherwise the reason why not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from llmframe.stats.slopes import linear_slope, logistic_slope

RANDOM = np.random.default_rng(7)
NUMBER = RANDOM.normal(size=200)
HELD = RANDOM.choice([0.0, 0.5, 1.0], size=200)
WON = (RANDOM.uniform(size=200) < 1 / (1 + np.exp(-(0.8 * NUMBER + 2 * HELD - 1)))).tolist()
LEVEL = (3 + 0.5 * NUMBER + HELD + RANDOM.normal(size=200)).tolist()


def test_a_logistic_slope_is_that_of_statsmodels():
    reference = sm.Logit(np.array(WON, dtype=float), np.column_stack([np.ones(200), NUMBER, HELD])).fit(
        disp=0, cov_type="HC1"
    )
    found = logistic_slope(WON, NUMBER.tolist(), [HELD.tolist()])
    assert found.effect.value == pytest.approx(reference.params[1])
    assert found.se == pytest.approx(reference.bse[1])
    assert found.p == pytest.approx(reference.pvalues[1])
    assert found.effect.low < 0.8 < found.effect.high


def test_a_linear_slope_over_clusters_is_that_of_statsmodels():
    groups = np.repeat(np.arange(50), 4)
    reference = sm.OLS(np.array(LEVEL), np.column_stack([np.ones(200), NUMBER, HELD])).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    found = linear_slope(LEVEL, NUMBER.tolist(), [HELD.tolist()], clusters=groups.tolist())
    assert (found.effect.value, found.se) == pytest.approx((reference.params[1], reference.bse[1]))
    assert found.clusters == 50


def test_a_held_number_that_does_not_vary_is_left_out():
    found = logistic_slope(WON, NUMBER.tolist(), [[1.0] * 200])
    assert found.effect.value == pytest.approx(logistic_slope(WON, NUMBER.tolist()).effect.value)


@pytest.mark.parametrize(
    ("won", "number", "reason"),
    [
        ([], [], "0 of the rarer outcome"),
        ([True] * 30, list(range(30)), "0 of the rarer outcome are fewer than 10"),
        ([True, False] * 20, [1.0] * 40, "the number doesn't vary"),
        ([False] * 20 + [True] * 20, list(range(40)), "the numbers tell the outcome without fail"),
    ],
)
def test_what_cannot_be_told_has_a_reason(won: list[bool], number: list[float], reason: str):
    found = logistic_slope(won, number)
    assert math.isnan(found.effect.value)
    assert math.isnan(found.p)
    assert reason in found.effect.reason


def test_a_level_that_is_the_gold_everywhere_leaves_nothing_for_length():
    found = linear_slope((2 * HELD).tolist(), NUMBER.tolist(), [HELD.tolist()])
    assert math.isnan(found.effect.value)
    assert "without fail" in found.effect.reason
    assert "1 items are fewer" in linear_slope([1.0], [1.0]).effect.reason


def test_few_clusters_are_no_base_for_a_slope():
    assert "2 clusters are too few" in logistic_slope(WON, NUMBER.tolist(), clusters=[0, 1] * 100).effect.reason
