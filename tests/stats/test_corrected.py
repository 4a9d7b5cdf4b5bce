"""Means with their intervals, clusters averaged, ends held within what a mean can be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.stats.corrected import bounded, cluster_means, floats, mean_estimate, spread_quantile
from llmframe.stats.estimate import Estimate


def test_a_share_has_wilsons_interval():
    # Wilson of 8 in 10: (0.8 + 0.19207 ± 0.2498) / 1.38415 = 0.4902 and 0.9433
    found = mean_estimate([1] * 8 + [0] * 2)
    assert (found.value, found.n) == (0.8, 10)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=5e-5)


def test_a_mean_of_few_scores_has_students_interval():
    # 1..5: mean 3, sd sqrt(2.5), t(.975, 4) = 2.7764; half = 2.7764 * 1.5811 / sqrt(5) = 1.9632
    found = mean_estimate([1, 2, 3, 4, 5])
    assert (found.value, found.low, found.high) == pytest.approx((3, 1.0368, 4.9632), abs=5e-5)


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [([], math.nan, "there is no known answer"), ([3.5], 3.5, "no spread"), ([2.0, 2.0], 2.0, "is the same")],
    ids=["none", "one", "equal"],
)
def test_without_a_spread_the_interval_is_unknown_and_told(values: list[float], value: float, reason: str):
    found = mean_estimate(values)
    assert found.value == pytest.approx(value, nan_ok=True)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert reason in found.reason


def test_one_yes_is_a_share_with_a_wide_interval():
    # Wilson of 1 in 1: low = 1 / (1 + z²) = 1 / 4.8415
    found = mean_estimate([1])
    assert (found.low, found.high) == pytest.approx((0.20655, 1.0), abs=5e-6)


def test_the_quantile_is_students_below_a_hundred_values():
    assert spread_quantile(0.95, 98) == pytest.approx(1.98447, abs=5e-6)
    assert spread_quantile(0.95, 99) == pytest.approx(1.95996, abs=5e-6)


def test_each_cluster_counts_once():
    means, names = cluster_means(np.array([1.0, 0.0, 1.0, 5.0]), ["b", "a", "b", "a"])
    assert means.tolist() == [1.0, 2.5]
    assert names == ["b", "a"]


def test_clusters_must_be_given_for_every_row():
    with pytest.raises(UsageError, match="`clusters` has 1 entries for 2 rows"):
        cluster_means(np.array([1.0, 0.0]), ["a"])


@pytest.mark.parametrize("values", [[1.0, math.nan], [math.inf], [[1.0]]], ids=["nan", "infinite", "nested"])
def test_what_is_no_flat_sequence_of_numbers_is_refused(values: list[float]):
    with pytest.raises(UsageError, match="`gold` is a flat sequence of finite numbers"):
        floats(values, argument="gold")


def test_an_interval_ends_where_the_mean_must():
    held = bounded(Estimate(value=1.02, low=0.9, high=1.1, n=3), (0, 1))
    assert (held.value, held.low, held.high) == (1, 0.9, 1)
    assert math.isnan(bounded(Estimate(value=math.nan), (0, 1)).value)
    assert math.isnan(bounded(Estimate(value=0.5), (0, 1)).low)
