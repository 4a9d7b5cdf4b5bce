"""Krippendorff's alpha: his own figures, in all items and in every draw."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest

from llmframe import datasets
from llmframe.errors import UsageError
from llmframe.stats.alpha import (
    alpha,
    interval_alphas,
    interval_features,
    nominal_alphas,
    nominal_features,
    ordinal_alphas,
    ordinal_features,
)
from llmframe.stats.bootstrap import Resampling
from llmframe.stats.panels import krippendorff_alpha

_ = None
# Krippendorff (2011), example D: 4 observers, 12 units, some missing
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
UNITS = [list(unit) for unit in zip(*OBSERVERS, strict=True)]
LEVELS = [1, 2, 3, 4, 5]

RANDOM = np.random.default_rng(4)
# skewed: 9 of 10 are 1; ties: two raters that often differ
SKEWED = [[int(RANDOM.random() < 0.1) * 2 + 1 for _ in range(3)] for _ in range(60)]
TIED = [
    [int(first), int(first) if RANDOM.random() < 0.3 else int(RANDOM.integers(1, 6))]
    for first in RANDOM.integers(1, 6, 60)
]
DATA = {"units": UNITS, "skewed": SKEWED, "tied": TIED}


def own(ratings, scale):
    kept = [item for item in ratings if sum(each is not None for each in item) > 1]
    features, alphas = {
        "nominal": (lambda: nominal_features(kept, LEVELS), nominal_alphas),
        "ordinal": (lambda: ordinal_features(kept, LEVELS), ordinal_alphas),
        "interval": (lambda: interval_features(kept), interval_alphas),
    }[scale]
    return features(), alphas


def package(ratings, scale):
    data = [[math.nan if item[at] is None else float(item[at]) for item in ratings] for at in range(len(ratings[0]))]
    return krippendorff.alpha(reliability_data=data, level_of_measurement=scale, value_domain=[1.0, 2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize(("scale", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_krippendorffs_own(scale, value):
    found = alpha(UNITS, scale=scale)
    assert found.value == pytest.approx(value, abs=5e-4)
    # the last unit has one rating
    assert found.n == 11
    assert found.low < found.value <= found.high


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_sums_give_the_packages_alpha(name, scale):
    features, alphas = own(DATA[name], scale)
    assert alphas(features.sum(axis=0, keepdims=True))[0] == pytest.approx(package(DATA[name], scale), abs=1e-10)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_of_a_draw_is_that_of_its_items(scale):
    features, alphas = own(TIED, scale)
    sampling = Resampling.of(len(TIED), clusters=[at // 2 for at in range(len(TIED))], draws=8)
    values = alphas(sampling.resums(features))
    [draws] = sampling.weights()
    for draw, value in zip(draws, values, strict=True):
        rows = np.repeat(np.arange(len(TIED)), draw[sampling.codes].astype(int))
        assert value == pytest.approx(package([TIED[at] for at in rows], scale), abs=1e-10)


@pytest.mark.parametrize(("name", "value"), [("amazon", 0.820), ("tweets", 0.783)])
def test_the_shipped_ratings_have_their_known_alpha(name, value):
    rated = datasets.ratings(name)["ratings"]
    found = alpha(rated, scale="interval", draws=100)
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.low < found.value < found.high < found.low + 0.04
    assert krippendorff_alpha(rated, level="interval") == found.value


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_where_the_packages_arrays_have_no_room_the_same_is_told(monkeypatch, scale):
    by_package = alpha(UNITS, scale=scale, draws=50)
    monkeypatch.setattr("llmframe.stats.alpha.MOST_CELLS", 0)
    monkeypatch.setattr("llmframe.stats.alpha.krippendorff_alpha", None)
    assert alpha(UNITS, scale=scale, draws=50).value == pytest.approx(by_package.value, abs=1e-12)


def test_one_label_no_pair_and_nothing_are_unknown():
    for ratings, reason in (
        ([["a", "a"], ["a", "a"]], "all ratings are one and the same"),
        ([["a", None], [None, "b"]], "no item has two ratings"),
        ([], "no item has two ratings"),
    ):
        found = alpha(ratings)
        assert math.isnan(found.value)
        assert found.reason == reason
    # one item with two labels: it is worse than chance by its nature, and can't be drawn from
    one = alpha([["a", "b"]])
    assert (one.value, one.n) == (pytest.approx(0.0), 1)
    assert math.isnan(one.low)


def test_texts_on_an_ordinal_scale_need_their_order():
    ratings = [["low", "mid"], ["high", "high"], ["low", "low"], ["mid", "high"]]
    with pytest.raises(UsageError, match="texts have no order of their own"):
        alpha(ratings, scale="ordinal")
    places = {"low": 0, "mid": 1, "high": 2}
    numbers = [[places[each] for each in item] for item in ratings]
    found = alpha(ratings, scale="ordinal", labels=["low", "mid", "high"])
    assert found.value == pytest.approx(alpha(numbers, scale="ordinal").value)
    with pytest.raises(UsageError, match="'high' is none of the labels"):
        alpha(ratings, scale="ordinal", labels=["low", "mid"])


def test_more_levels_than_a_scale_has_are_numbers():
    with pytest.raises(UsageError, match='`scale="interval"`'):
        alpha([[at, at + 1] for at in range(60)], scale="ordinal")


@pytest.mark.parametrize(
    ("ratings", "scale", "expected"),
    [
        # of 40 ratings 20 are of each label: 2 * 20 * 20 / (40 * 39)
        ([("a", "a"), ("b", "b")] * 10, "nominal", 800 / 1560),
        ([(1, 1), (2, 2)] * 10, "interval", 800 / 1560),
        # three levels of 10, 20, 10 ratings: middles 5, 20, 35; squares 225 between neighbours, 900 between the ends,
        # so 0.25 and 1: 2 * (2 * 10 * 20 * 0.25 + 10 * 10 * 1) / (40 * 39) = 400 / 1560
        ([(1, 1)] * 5 + [(2, 2)] * 10 + [(3, 3)] * 5, "ordinal", 400 / 1560),
        ([(1, 1)] * 5 + [(2, 2)] * 10 + [(3, 3)] * 5, "interval", 400 / 1560),
    ],
)
def test_raters_who_always_agree_end_where_wilson_says(ratings, scale, expected):
    # Wilson's lower end of 20 of 20 is 1 / (1 + z^2 / 20) = 0.8389
    low = 1 - (1 - 1 / (1 + 1.959963984540054**2 / 20)) / expected
    found = alpha(ratings, scale=scale)
    assert (found.value, found.low, found.high) == (pytest.approx(1.0), pytest.approx(low), 1.0)
    assert "no item disagrees" in found.reason
