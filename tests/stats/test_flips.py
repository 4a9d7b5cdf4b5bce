"""Flips: the references' numbers, and nan with its reason where nothing can be told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import SquareTable

from llmframe.stats.flips import cohen_kappa, flips_between, homogeneity, mcnemar_exact, symmetry

# 3 labels, every pair of them in both directions
TABLE = [[20, 10, 5], [3, 30, 15], [0, 5, 40]]
FULL = [[20, 10, 5], [3, 30, 15], [1, 5, 40]]


def pairs(table):
    return [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


def flips_of(table):
    return flips_between(*map(list, zip(*pairs(table), strict=True)))


def test_flips_are_counted_by_pair_the_most_frequent_first():
    assert list(flips_between("aabbc", "abaac").items()) == [(("b", "a"), 2), (("a", "b"), 1)]
    assert flips_between([], []) == {}


def test_kappa_is_what_its_formula_says():
    # 4 of 6 agree; shares a: 3/6, 3/6, b: 3/6, 3/6, chance .5; (4/6 - .5) / .5 = 1/3
    assert cohen_kappa("xxxyyy", "xxyxyy") == pytest.approx(1 / 3)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=3, max_size=30))
def test_kappa_is_scikit_learns_where_there_are_two_labels(found):
    a, b = zip(*found, strict=True)
    if len({*a, *b}) > 1:
        assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(list(a), list(b)), nan_ok=True)


def test_kappa_of_one_label_or_of_nothing_is_unknown():
    assert math.isnan(cohen_kappa("aa", "aa"))
    assert math.isnan(cohen_kappa([], []))


def test_mcnemar_is_the_binomial_tail_on_both_sides():
    # 1 of 6: 2 * (1 + 6) / 2**6
    assert mcnemar_exact(1, 5) == pytest.approx(14 / 64)
    assert mcnemar_exact(5, 1) == pytest.approx(14 / 64)
    assert mcnemar_exact(3, 3) == 1.0
    assert math.isnan(mcnemar_exact(0, 0))


def test_bowker_sums_over_pairs():
    # (10-3)^2/13 + (5-1)^2/6 + (15-5)^2/20 = 3.7692 + 2.6667 + 5
    found = symmetry(flips_of(FULL))
    assert found.statistic == pytest.approx(49 / 13 + 16 / 6 + 5)
    assert (found.df, found.p) == (3, pytest.approx(SquareTable(np.array(FULL), shift_zeros=False).symmetry().pvalue))


def test_a_pair_without_flips_is_no_degree_of_freedom():
    table = [[9, 8, 0], [2, 9, 0], [0, 9, 9]]
    found = symmetry(flips_of(table))
    # by hand: (8-2)^2/10 + 9^2/9
    assert (found.statistic, found.df) == (pytest.approx(3.6 + 9.0), 2)


def test_stuart_and_maxwell_are_statsmodels():
    for table in (FULL, TABLE):
        found, reference = homogeneity(flips_of(table)), SquareTable(np.array(table), shift_zeros=False).homogeneity()
        assert found.statistic == pytest.approx(reference.statistic)
        assert found.df == 2
        assert found.p == pytest.approx(reference.pvalue)


def test_sets_of_labels_that_nothing_connects_are_added():
    # a <-> b: (6-2)^2/8 = 2; c <-> d: (5-1)^2/6; a single label without a flip changes nothing
    table = [[3, 6, 0, 0, 0], [2, 3, 0, 0, 0], [0, 0, 3, 5, 0], [0, 0, 1, 3, 0], [0, 0, 0, 0, 7]]
    found = homogeneity(flips_of(table))
    assert (found.statistic, found.df) == (pytest.approx(2 + 16 / 6), 2)


def test_two_labels_are_tested_exactly_whatever_their_number():
    # 0 of 3: 2 / 2**3
    flips = {("a", "b"): 3}
    assert symmetry(flips).p == homogeneity(flips).p == pytest.approx(0.25)
    assert symmetry(flips).df == 0


def test_few_flips_between_many_labels_are_unknown_with_the_reason():
    found = homogeneity({("a", "b"): 3, ("b", "c"): 2})
    assert math.isnan(found.p)
    assert "5 flips between 3 labels" in found.reason


def test_no_flips_are_unknown_with_the_reason():
    assert symmetry({}).reason == "no row differs"
    assert math.isnan(symmetry({}).p)
