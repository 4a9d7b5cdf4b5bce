"""Figures of confidences: by hand, and the references' where there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from llmframe.errors import UsageError
from llmframe.stats.reliability import auroc, brier, calibration_error, debiased_error, log_loss, null_band

ITEMS = st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans()), min_size=2, max_size=40)


def sixty() -> tuple[list[float], list[bool]]:
    """Well calibrated items of all confidences."""
    random = np.random.default_rng(7)
    confidences = random.random(60)
    return confidences.tolist(), (random.random(60) < confidences).tolist()


def skewed() -> tuple[list[float], list[bool]]:
    """Confident items that are nearly all right, whatever their confidence."""
    random = np.random.default_rng(8)
    confidences = 0.9 + 0.1 * random.random(200)
    return confidences.tolist(), (random.random(200) < 0.93).tolist()


def votes() -> tuple[list[float], list[bool]]:
    """Three confidences: 13 of 25, 20 of 30 and 40 of 45 items are right."""
    confidences = [0.6] * 25 + [0.75] * 30 + [1.0] * 45
    return confidences, [at % 2 == 0 for at in range(25)] + [at % 3 > 0 for at in range(30)] + [
        at % 9 > 0 for at in range(45)
    ]


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


@pytest.mark.parametrize("figure", [brier, log_loss, auroc, calibration_error])
def test_percentages_nan_and_unequal_lengths_are_refused_by_every_figure(figure):
    for confidences in ([95.0, 0.5], [-0.1, 0.5], [math.nan, 0.5]):
        with pytest.raises(UsageError, match=r"`confidences` are in \[0, 1\], got"):
            figure(confidences, [True, False])
    with pytest.raises(UsageError, match="`confidences` has 1 entries and `right` 2"):
        figure([0.5], [True, False])


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


# netcal 1.4.0: ECE(10), ECE(10, equal_intervals=False); it has no bins of equal mass over ties
@pytest.mark.parametrize(
    ("items", "equal", "expected"),
    [
        (sixty, "width", 0.10011509074223002),
        (sixty, "mass", 0.08503274619508144),
        (skewed, "width", 0.02171259457037955),
        (skewed, "mass", 0.0381473115743389),
        (votes, "width", 0.095),
        # by hand: |15 - 13| + |22.5 - 20| + |45 - 40| over 100, for no bin holds errors of both signs
        (votes, "mass", 0.095),
    ],
    ids=["sixty width", "sixty mass", "skewed width", "skewed mass", "votes width", "votes mass"],
)
def test_the_calibration_error_is_netcals(items, equal, expected):
    assert calibration_error(*items(), equal=equal) == pytest.approx(expected, abs=1e-10)


# uncertainty-calibration 0.1.4: unbiased_square_ce over get_equal_bins and get_equal_prob_bins
@pytest.mark.parametrize(
    ("items", "equal", "expected"),
    [
        (sixty, "mass", -0.01925763398146916),
        (sixty, "width", -0.016557892309246293),
        (skewed, "mass", 0.0002612018242039163),
        (skewed, "width", 0.00032520560719879544),
        (votes, "mass", 0.0033299373040752405),
        (votes, "width", 0.0033299373040752405),
    ],
    ids=["sixty mass", "sixty width", "skewed mass", "skewed width", "votes mass", "votes width"],
)
def test_the_debiased_error_is_that_of_kumars_package(items, equal, expected):
    assert debiased_error(*items(), equal=equal) == pytest.approx(expected, abs=1e-12)


def test_the_debiased_error_by_hand():
    # one bin, 3 of 4 right at .5: (.75 - .5)² - .75 · .25 / 3 = .0625 - .0625
    assert debiased_error([0.5] * 4, [True, True, True, False], bins=1) == pytest.approx(0.0)
    # the single item at .9 has no variance to be told and is left out
    assert debiased_error([0.5] * 4 + [0.9], [True] * 5, bins=2) == pytest.approx(0.25)


def test_the_debiased_error_is_around_zero_where_all_is_well():
    random = np.random.default_rng(0)
    found = []
    for _ in range(200):
        confidences = random.random(100)
        found.append(debiased_error(confidences.tolist(), (random.random(100) < confidences).tolist()))
    # its standard deviation is about .006, that of the mean .0005; the plain squared error would be .017
    assert np.mean(found) == pytest.approx(0.0, abs=0.0015)


def test_a_well_calibrated_error_lies_within_its_null_band_as_often_as_promised():
    random = np.random.default_rng(1)
    confidences = (0.5 + 0.5 * random.random(150)).tolist()
    band = null_band(confidences, draws=500)
    found = [calibration_error(confidences, (random.random(150) < confidences).tolist()) for _ in range(400)]
    assert np.mean([band.low <= each <= band.high for each in found]) == pytest.approx(0.95, abs=0.035)
    assert np.mean(found) == pytest.approx(band.mean, abs=0.003)


def test_the_null_band_of_one_confidence_is_the_binomials():
    # |k - 2| / 4 of Binomial(4, 1/2): 0 in 6 of 16, 1/4 in 8, 1/2 in 2
    band = null_band([0.5] * 4, bins=2, draws=4000, level=0.5)
    assert band.mean == pytest.approx((8 / 4 + 2 / 2) / 16, abs=0.01)
    assert (band.low, band.high) == (0.0, 0.25)


def test_a_null_band_is_the_same_again_and_another_by_another_seed():
    confidences, _ = sixty()
    assert null_band(confidences) == null_band(confidences)
    assert null_band(confidences) != null_band(confidences, seed=1)


@given(ITEMS)
def test_the_auroc_is_the_share_of_pairs_that_are_in_order(items):
    confidences, right = map(list, zip(*items, strict=True))
    hits = [c for c, hit in items if hit]
    misses = [c for c, hit in items if not hit]
    pairs = [(a > b) + (a == b) / 2 for a in hits for b in misses]
    found = auroc(confidences, right)
    assert math.isnan(found) if not pairs else found == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize("items", [sixty, skewed, votes], ids=["sixty", "skewed", "votes"])
def test_the_auroc_is_scikit_learns(items):
    confidences, right = items()
    assert auroc(confidences, right) == metrics.roc_auc_score(right, confidences)


def test_no_items_are_unknown():
    figures = (log_loss, brier, calibration_error, debiased_error, auroc)
    assert all(math.isnan(each([], [])) for each in figures)
    band = null_band([])
    assert math.isnan(band.mean)
    assert math.isnan(band.low)
    assert math.isnan(band.high)


def test_one_item_has_a_calibration_error_and_nothing_that_takes_two():
    assert calibration_error([0.8], [True]) == pytest.approx(0.2)
    assert math.isnan(debiased_error([0.8], [True]))
    assert math.isnan(auroc([0.8], [True]))
    assert auroc([0.8, 0.6], [True, False]) == 1.0


@pytest.mark.parametrize("right", [True, False])
def test_of_one_class_the_auroc_is_unknown(right):
    assert math.isnan(auroc([0.2, 0.8, 0.9], [right] * 3))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda: calibration_error([0.5], []), "1 entries and `right` 0"),
        (lambda: calibration_error([1.5], [True]), "in \\[0, 1\\], got 1.5"),
        (lambda: auroc([math.nan], [True]), "got nan; leave out items without a confidence"),
        (lambda: calibration_error([0.5], [True], bins=0), "`bins` is a whole number from 1 on, got 0"),
        (
            lambda: debiased_error([0.5], [True], equal="with"),
            "\"mass\" or \"width\", got 'with'; did you mean 'width'",
        ),
        (lambda: null_band([0.5], draws=0), "`draws` is a whole number from 1 on, got 0"),
        (lambda: null_band([0.5], level=95), "`level` is between 0 and 1, got 95"),
    ],
    ids=["lengths", "above one", "nan", "no bins", "another equal", "no draws", "percent"],
)
def test_what_cannot_be_used_is_refused(said, message):
    with pytest.raises(UsageError, match=message):
        said()
