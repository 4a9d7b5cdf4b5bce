"""Learning calibrations: what was put into simulated data comes out, and the equations of an optimum hold."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from llmframe.errors import UsageError
from llmframe.stats.calibration import (
    HOTTEST,
    fit_distribution_temperature,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    grouped_folds,
)
from llmframe.stats.curves import interpolated, logit, sigmoid, tempered

CONFIDENCES = [0.55, 0.6, 0.65, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99]
RIGHT = [True, False, False, True, False, True, True, False, True, True]


def simulated(n: int, temperature: float, *, seed: int = 1):
    """Confidences whose true probability is that at this temperature, with as many right as it says."""
    source = random.Random(seed)
    truths = [source.uniform(0.3, 0.98) for _ in range(n)]
    return [sigmoid(logit(each) * temperature) for each in truths], [source.random() < each for each in truths]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_a_known_temperature_is_found_again(temperature):
    # 4,000 items: the standard error of T is some 4 %
    confidences, right = simulated(4000, temperature)
    assert fit_temperature(confidences, right) == pytest.approx(temperature, rel=0.1)


def test_a_known_temperature_of_distributions_is_found_again():
    source = random.Random(2)
    truths = []
    for _ in range(4000):
        powers = [source.expovariate(1.0) for _ in range(3)]
        truths.append([each / sum(powers) for each in powers])
    gold = [source.choices(range(3), truth)[0] for truth in truths]
    # too sure by 2: the answer at temperature 2 is the truth
    given_ = [tempered(truth, 0.5) for truth in truths]
    assert fit_distribution_temperature(given_, gold) == pytest.approx(2.0, rel=0.1)


def test_the_temperature_is_where_the_loss_is_flat():
    # d loss / d (1/T) = sum of logit * (sigmoid(logit / T) - right) = 0
    temperature = fit_temperature(CONFIDENCES, RIGHT)
    slope = sum(logit(c) * (sigmoid(logit(c) / temperature) - hit) for c, hit in zip(CONFIDENCES, RIGHT, strict=True))
    assert slope == pytest.approx(0.0, abs=1e-4)


def test_a_temperature_without_an_optimum_stays_within_its_bounds():
    # below about .04 the loss is 0 to the last digit
    assert 1 / HOTTEST <= fit_temperature([0.9, 0.8], [True, True]) < 0.05
    assert fit_temperature([0.9, 0.8], [False, False]) == pytest.approx(HOTTEST, rel=1e-3)


def test_platt_meets_its_targets_on_the_whole_and_along_the_logit():
    # the two equations of a logistic fit: sum(p - t) = 0 and sum((p - t) * logit) = 0; 6 right: t = 7/8, 4 wrong: 1/6
    slope, intercept = fit_platt(CONFIDENCES, RIGHT)
    rest = [
        sigmoid(slope * logit(c) + intercept) - (7 / 8 if hit else 1 / 6)
        for c, hit in zip(CONFIDENCES, RIGHT, strict=True)
    ]
    assert slope > 0
    assert sum(rest) == pytest.approx(0.0, abs=1e-4)
    assert sum(r * logit(c) for r, c in zip(rest, CONFIDENCES, strict=True)) == pytest.approx(0.0, abs=1e-4)


def test_confidences_that_run_backwards_or_never_vary_make_a_flat_curve():
    # 1 of 2 right: targets 2/3 and 1/3, mean .5
    for confidences in ([0.9, 0.6], [0.7, 0.7]):
        slope, intercept = fit_platt(confidences, [False, True])
        assert (slope, sigmoid(intercept)) == (0.0, pytest.approx(0.5))


def test_separable_items_have_a_finite_slope():
    slope, intercept = fit_platt([0.6, 0.7, 0.8, 0.9], [False, False, True, True])
    assert 0 < slope < math.inf
    assert math.isfinite(intercept)


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=30), st.floats(0.0, 1.0))
@settings(deadline=None)
def test_an_isotonic_curve_is_scikit_learns_and_stays_among_probabilities(items, probe):
    confidences, right = map(list, zip(*items, strict=True))
    knots, heights = fit_isotonic(confidences, right)
    reference = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
        confidences, [float(hit) for hit in right]
    )
    found = interpolated(probe, knots, heights)
    assert 0.0 <= found <= 1.0
    assert found == pytest.approx(float(reference.predict([probe])[0]), abs=1e-9)
    assert list(heights) == sorted(heights)


@given(st.lists(st.integers(0, 12), min_size=5, max_size=60), st.integers(0, 5))
def test_equal_prompts_share_a_fold_and_no_fold_is_empty(groups, seed):
    folds = min(5, len(set(groups)))
    found = grouped_folds(groups, folds=folds, seed=seed)
    assert set(found) == set(range(folds))
    assert len(set(zip(groups, found, strict=True))) == len(set(groups))


def test_folds_of_single_rows_are_even_and_the_seed_decides_them():
    first = grouped_folds(range(23), folds=5, seed=0)
    assert sorted(first.count(fold) for fold in range(5)) == [4, 4, 5, 5, 5]
    assert first == grouped_folds(range(23), folds=5, seed=0)
    assert first != grouped_folds(range(23), folds=5, seed=1)


@pytest.mark.parametrize("fit", [fit_temperature, fit_platt, fit_isotonic])
def test_nothing_percentages_and_unequal_lengths_are_refused(fit):
    with pytest.raises(UsageError, match="there is none"):
        fit([], [])
    with pytest.raises(UsageError, match=r"in \[0, 1\], got 95"):
        fit([95.0, 40.0], [True, False])
    with pytest.raises(UsageError, match="1 entries and `right` 2"):
        fit([0.5], [True, False])


def test_distributions_and_gold_are_of_the_same_items():
    with pytest.raises(UsageError, match="`distributions` has 1 items and `gold` 0"):
        fit_distribution_temperature([[0.5, 0.5]], [])
