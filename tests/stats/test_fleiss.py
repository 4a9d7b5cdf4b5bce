"""Fleiss' kappa against hand arithmetic and the published example."""

from __future__ import annotations

import math

import pytest

from llmframe.errors import UsageError
from llmframe.stats.fleiss import fleiss_kappa


def test_two_ratings_are_scotts_pi():
    # observed agreement 2/3; the labels' shares are a half each, so chance agrees in 1/2: (2/3 - 1/2) / (1 - 1/2)
    assert fleiss_kappa([["a", "a"], ["a", "b"], ["b", "b"]]) == pytest.approx(1 / 3)


def test_the_worked_example_of_fourteen_raters_has_its_value():
    # counts of five labels by fourteen raters on ten items, kappa 0.210: the example of the Wikipedia article
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    ratings = [[label for label, count in enumerate(row) for _ in range(count)] for row in table]
    assert fleiss_kappa(ratings) == pytest.approx(0.210, abs=0.0005)


def test_skewed_ratings_agree_often_and_hardly_beyond_chance():
    # 18 of 20 items agree on a, two are split: observed 0.9, shares 0.95 and 0.05, chance 0.905
    assert fleiss_kappa([["a", "a"]] * 18 + [["a", "b"]] * 2) == pytest.approx((0.9 - 0.905) / 0.095)


@pytest.mark.parametrize("ratings", [[], [["a", "a"]], [["a", "a", "a"]] * 5])
def test_one_label_or_none_is_unknown(ratings: list[list[str]]):
    assert math.isnan(fleiss_kappa(ratings))


def test_items_with_different_numbers_of_ratings_are_refused():
    with pytest.raises(UsageError, match="got 1 of one and 2 of another; `krippendorff_alpha` takes any number"):
        fleiss_kappa([["a", "b"], ["b"]])
