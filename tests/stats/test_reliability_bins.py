"""Bins of a reliability diagram: which items share one, and the two intervals of each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from llmframe.stats.proportions import wilson_interval
from llmframe.stats.reliability import calibration_error
from llmframe.stats.reliability_bins import ReliabilityBin, reliability_bins

ITEMS = st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 0.55, 0.7, 0.9, 1.0]), st.booleans()), max_size=60)


def counted(bins: tuple[ReliabilityBin, ...]) -> list[tuple[float, float, int, int]]:
    return [(each.low, each.high, each.n, each.right) for each in bins]


def test_bins_of_equal_mass_hold_as_many_items_the_first_ones_one_more():
    confidences = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = reliability_bins(confidences, [False, False, True, True, True], bins=2, draws=10)
    assert counted(found) == [(0.1, 0.3, 3, 1), (0.4, 0.5, 2, 2)]
    assert [each.confidence for each in found] == pytest.approx([0.2, 0.45])
    assert [each.accuracy for each in found] == pytest.approx([1 / 3, 1.0])


def test_items_of_equal_confidence_stay_in_the_bin_of_the_first():
    # the first bin of two would end after the third item, among those of .6
    found = reliability_bins([0.5, 0.6, 0.6, 0.6, 0.9, 1.0], [True] * 6, bins=2, draws=10)
    assert counted(found) == [(0.5, 0.6, 4, 4), (0.9, 1.0, 2, 2)]


def test_bins_of_equal_width_leave_out_empty_ones_and_their_upper_end():
    found = reliability_bins(
        [0.0, 0.49, 0.5, 0.7, 1.0], [False, True, True, True, True], bins=10, equal="width", draws=10
    )
    assert counted(found) == [
        (0.0, 0.0, 1, 0),
        (0.49, 0.49, 1, 1),
        (0.5, 0.5, 1, 1),
        (0.7, 0.7, 1, 1),
        (1.0, 1.0, 1, 1),
    ]
    two = reliability_bins([0.0, 0.49, 0.5, 0.7, 1.0], [True] * 5, bins=2, equal="width", draws=10)
    assert [each.n for each in two] == [2, 3]


@given(ITEMS, st.sampled_from(["mass", "width"]), st.integers(1, 12))
def test_every_item_is_in_one_bin_and_bins_rise(items, equal, bins):
    confidences, right = [each for each, _ in items], [hit for _, hit in items]
    found = reliability_bins(confidences, right, bins=bins, equal=equal, draws=5)
    assert sum(each.n for each in found) == len(items)
    assert sum(each.right for each in found) == sum(right)
    assert all(left.high < after.low for left, after in itertools.pairwise(found))
    assert len(found) <= bins


@given(ITEMS.filter(bool), st.integers(1, 12))
def test_bins_of_equal_width_make_up_the_calibration_error(items, bins):
    confidences, right = [each for each, _ in items], [hit for _, hit in items]
    found = reliability_bins(confidences, right, bins=bins, equal="width", draws=5)
    total = sum(each.n * abs(each.confidence - each.accuracy) for each in found) / len(items)
    assert calibration_error(confidences, right, bins=bins, equal="width") == pytest.approx(total)


def test_accuracy_has_wilsons_interval_of_the_level():
    [found] = reliability_bins([0.8] * 20, [True] * 17 + [False] * 3, bins=1, level=0.9)
    assert found.interval == wilson_interval(17, 20, level=0.9)


def test_the_band_of_one_confidence_is_the_binomials():
    [found] = reliability_bins([0.8] * 50, [True] * 25 + [False] * 25, bins=1, draws=4000)
    expected = stats.binom.ppf([0.025, 0.975], 50, 0.8) / 50
    assert (found.band.low, found.band.high) == pytest.approx(tuple(expected), abs=1e-9)
    assert not found.consistent


def test_the_band_of_certainty_is_certainty():
    [found] = reliability_bins([1.0, 1.0], [True, False], bins=1)
    assert (found.band.low, found.band.high) == (1.0, 1.0)
    assert not found.consistent


def test_true_confidences_are_consistent_in_most_bins():
    random = np.random.default_rng(3)
    confidences = random.random(1000)
    found = reliability_bins(confidences.tolist(), (random.random(1000) < confidences).tolist())
    assert sum(each.consistent for each in found) >= 8


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_items_make_few_bins(n):
    assert len(reliability_bins([0.5, 0.9][:n], [True] * n)) == n
