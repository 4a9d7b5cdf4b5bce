"""Paired numbers: the references' values, the interval by hand, and nan with its reason."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from llmframe.stats.paired import accuracies, paired_difference


def test_a_mean_difference_has_its_t_interval():
    # differences 1, 2, 3: mean 2, sd 1, se 1/sqrt(3); t(.975, 2) = 4.3027, so 2 -/+ 2.4841
    found = paired_difference([1.0, 1.0, 1.0], [2.0, 3.0, 4.0])
    assert (found.n, found.a, found.b, found.mean) == (3, 1.0, 3.0, 2.0)
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.4841, 4.4841), abs=1e-4)


def test_the_tests_are_scipys():
    a, b = [0.1, 0.4, 0.35, 0.8, 0.6, 0.9, 0.2], [0.2, 0.6, 0.30, 0.9, 0.75, 0.93, 0.4]
    found = paired_difference(a, b)
    assert found.t_p == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon([y - x for x, y in zip(a, b, strict=True)]).pvalue)


def test_few_equal_differences_are_tested_by_turning_their_signs():
    # ranks of 1, 1, -1, 2: 2, 2, 2, 4; positive 8 of 10; 8 of 16 sums are as far from 5; a row that stays has no rank
    found = paired_difference([0.0] * 6, [1.0, 1.0, -1.0, 2.0, 0.0, 0.0])
    assert found.wilcoxon_p == 0.5


def test_many_equal_differences_are_tested_by_the_normal_distribution():
    moves = [1.0, 2.0, 2.0, -1.0] * 5
    found = paired_difference([0.0] * 20, moves)
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(moves, method="approx").pvalue)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], [], "no row has both numbers"),
        ([1.0], [2.0], "one row has no spread"),
        ([1.0, 2.0], [1.0, 2.0], "no row differs"),
        ([1.0, 2.0], [2.0, 3.0], "all rows differ by the same, so nothing is left to chance"),
    ],
)
def test_what_has_no_spread_has_no_p_and_says_why(a, b, reason):
    found = paired_difference(a, b)
    assert found.reason == reason
    assert math.isnan(found.t_p)
    assert math.isnan(found.interval.low)


def test_accuracies_are_paired():
    # 10 rows: 4 right in both, 1 in a alone, 3 in b alone, 2 in none
    right_a = [True] * 5 + [False] * 5
    right_b = [True] * 4 + [False] + [True] * 3 + [False] * 2
    found = accuracies(right_a, right_b)
    assert (found.only_a, found.only_b) == (1, 3)
    assert (found.a, found.b, found.difference) == (0.5, 0.7, pytest.approx(0.2))
    # the binomial: 2 * (1 + 4) / 2**4
    assert found.mcnemar_p == pytest.approx(0.625)
    # 3.5 - 1.5 = 2 of 12; se = sqrt(5 - 4/12) / 12 = .180021; 1.959964 * se = .352835
    assert (found.interval.low, found.interval.high) == pytest.approx((2 / 12 - 0.352835, 2 / 12 + 0.352835), abs=1e-5)
    # both quantiles: (1.959964 + .841621) * .180021
    assert found.detectable == pytest.approx(0.504345, abs=1e-5)


def test_the_interval_stays_among_differences_and_holds_the_estimate():
    for n in (1, 5, 1000):
        found = accuracies([False] * n, [True] * n)
        assert found.interval.low < found.difference <= found.interval.high == 1.0


def test_equal_runs_have_no_p_and_say_why():
    found = accuracies([True, False], [True, False])
    assert math.isnan(found.mcnemar_p)
    assert found.reason == "no row is right in one and wrong in the other"


def test_no_gold_is_unknown():
    found = accuracies([], [])
    assert math.isnan(found.a)
    assert math.isnan(found.interval.low)
    assert found.reason == "no row with gold"
