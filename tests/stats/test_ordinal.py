"""Levels against gold levels: the references' numbers, in all items and in every draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import Resampling
from llmframe.stats.ordinal import distances, levels_of, ordinal_agreement, spearmans, taus
from llmframe.stats.pair_counts import count_pairs

RANDOM = np.random.default_rng(7)
TRUE = RANDOM.integers(1, 6, 120)
# a near judge; a harsh one; one that likes 5, on gold that is mostly 5
DATA = {
    "near": (TRUE.tolist(), np.clip(TRUE + RANDOM.integers(-1, 2, 120), 1, 5).tolist()),
    "harsh": (TRUE.tolist(), np.maximum(TRUE - 1, 1).tolist()),
    "skewed": ([5] * 100 + [1, 2, 3, 4] * 5, [5] * 95 + [4] * 10 + [1, 2, 3, 4, 5] * 3),
}


@pytest.mark.parametrize("name", DATA)
def test_every_number_is_the_references(name):
    gold, pred = DATA[name]
    found = ordinal_agreement(gold, pred, draws=200)
    for weights in ("linear", "quadratic"):
        value = getattr(found, f"kappa_{weights}").value
        assert value == pytest.approx(cohen_kappa_score(gold, pred, weights=weights, labels=[1, 2, 3, 4, 5]))
    assert found.spearman.value == pytest.approx(spearmanr(gold, pred).statistic)
    assert found.tau_b.value == pytest.approx(kendalltau(gold, pred).statistic)
    moves = np.array(pred) - np.array(gold)
    assert found.mae.value == pytest.approx(abs(moves).mean())
    assert found.bias.value == pytest.approx(moves.mean())
    for each in (found.kappa_linear, found.kappa_quadratic, found.spearman, found.tau_b, found.mae, found.bias):
        assert each.low < each.value < each.high


@pytest.mark.parametrize("name", DATA)
def test_rank_correlations_of_a_draw_are_scipys_of_its_items(name):
    gold, pred = map(np.array, DATA[name])
    sampling = Resampling.of(len(gold), clusters=[at // 4 for at in range(len(gold))], draws=8)
    found, codes = count_pairs(gold.tolist(), pred.tolist())
    redrawn = found.redrawn(codes, sampling)
    [draws] = sampling.weights()
    for draw, rank, tau in zip(draws, spearmans(redrawn), taus(redrawn), strict=True):
        rows = np.repeat(np.arange(len(gold)), draw[sampling.codes].astype(int))
        assert rank == pytest.approx(spearmanr(gold[rows], pred[rows]).statistic)
        assert tau == pytest.approx(kendalltau(gold[rows], pred[rows]).statistic)


def test_a_harsh_judge_correlates_and_has_a_bias():
    gold = [2, 3, 4, 5] * 10
    found = ordinal_agreement(gold, [level - 1 for level in gold])
    assert [found.spearman.value, found.tau_b.value] == pytest.approx([1.0, 1.0])
    assert (found.bias.value, found.mae.value) == (-1.0, 1.0)
    # by hand: levels 1-5, mean square 1 against 1 + 2 * 1.25 by chance: 1 - 1 / 3.5
    assert found.kappa_quadratic.value == pytest.approx(1 - 1 / 3.5)


def test_a_level_that_nobody_gave_keeps_its_distance():
    # 3 and 5 are two levels apart though no 4 comes
    assert ordinal_agreement([3, 3, 5, 5], [3, 5, 3, 5]).labels == (3, 4, 5)
    # tens are levels next to each other
    assert ordinal_agreement([0, 50, 100], [50, 50, 100]).labels == (0, 50, 100)


def test_parts_of_numbers_are_no_levels_unless_they_are_named():
    with pytest.raises(UsageError, match=r'0\.5 is between two levels: .*`scale="interval"`'):
        ordinal_agreement([0.0, 0.5], [0.5, 0.5])
    assert ordinal_agreement([0.0, 0.5], [0.5, 0.5], labels=[0.0, 0.5, 1.0]).mae.value == 0.25


def test_texts_have_the_order_they_are_given():
    order = ["low", "mid", "high"]
    found = ordinal_agreement(["low", "mid", "high", "high"], ["mid", "mid", "high", "low"], labels=order)
    # moves in levels: +1, 0, 0, -2
    assert (found.bias.value, found.mae.value) == (-0.25, 0.75)
    assert found.labels == tuple(order)
    with pytest.raises(UsageError, match="texts have no order of their own"):
        levels_of(["low"], ["mid"])


def test_disagreements_weigh_by_their_part_of_the_range():
    assert distances(3, "linear").tolist() == [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert distances(3, "quadratic")[0].tolist() == [0, 0.25, 1]


def test_where_a_side_is_constant_there_is_no_correlation():
    found = ordinal_agreement([1, 2, 3] * 10, [2] * 30)
    for each in (found.spearman, found.tau_b):
        assert math.isnan(each.value)
        assert each.reason == "the gold or the answers have one and the same value only"
    # a constant answer is worth nothing
    assert found.kappa_quadratic.value == pytest.approx(0.0)
    same = ordinal_agreement([2] * 30, [2] * 30)
    assert math.isnan(same.kappa_linear.value)
    assert same.mae.value == 0.0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_none_one_and_two_items_are_no_error(n):
    found = ordinal_agreement([1, 2][:n], [2, 2][:n])
    assert found.n == n
    assert found.bias.value == pytest.approx([math.nan, 1.0, 0.5][n], nan_ok=True)
    assert math.isnan(found.spearman.value)
    assert found.spearman.reason
    assert found.bias.reason


def test_perfect_levels_end_where_wilson_says():
    found = ordinal_agreement([1, 2] * 10, [1, 2] * 10)
    assert found.kappa_quadratic.low == found.kappa_linear.low == pytest.approx(0.678, abs=5e-4)


def test_more_levels_than_a_scale_has_are_numbers():
    with pytest.raises(UsageError, match='`scale="interval"`'):
        ordinal_agreement(list(range(0, 200, 2)), list(range(0, 200, 2)))
