"""Numbers against gold numbers: the references' numbers, in all items and in every draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import Resampling
from llmframe.stats.numeric import cccs, iccs, limits, moments, numeric_agreement, pearsons

RANDOM = np.random.default_rng(11)
TRUE = RANDOM.normal(size=90)
# an honest judge; one that is harsh and compressed, far from 0; ties on a skewed gold
DATA = {
    "honest": (TRUE, TRUE + RANDOM.normal(size=90)),
    "compressed": (1e6 + TRUE, 1e6 - 1 + (TRUE + RANDOM.normal(size=90)) / 3),
    "ties": (np.round(np.exp(TRUE)), np.round(np.exp(TRUE + RANDOM.normal(size=90) / 2))),
}
# Shrout and Fleiss (1979), table 2: 6 targets, 4 judges, ICC(2,1) = .29
SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


def two_way(ratings):
    """ICC(2,1) from the mean squares of a two-way analysis of variance, items × judges."""
    n, k = ratings.shape
    rows, columns, all_ = ratings.mean(axis=1), ratings.mean(axis=0), ratings.mean()
    between = k * ((rows - all_) ** 2).sum() / (n - 1)
    judges = n * ((columns - all_) ** 2).sum() / (k - 1)
    error = ((ratings - rows[:, None] - columns + all_) ** 2).sum() / (n - 1) / (k - 1)
    return (between - error) / (between + (k - 1) * error + k * (judges - error) / n)


def lin(x, y):
    return 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)


def test_the_reference_is_shrout_and_fleiss():
    assert two_way(SHROUT) == pytest.approx(0.29, abs=5e-3)


@pytest.mark.parametrize("name", DATA)
def test_every_number_is_the_references(name):
    gold, pred = DATA[name]
    found = numeric_agreement(gold, pred, draws=200)
    assert found.pearson.value == pytest.approx(pearsonr(gold, pred).statistic)
    assert found.spearman.value == pytest.approx(spearmanr(gold, pred).statistic)
    assert found.ccc.value == pytest.approx(lin(gold, pred))
    assert found.icc.value == pytest.approx(two_way(np.stack([gold, pred], axis=1)))
    moves = pred - gold
    assert found.mae.value == pytest.approx(abs(moves).mean())
    assert found.bias.value == pytest.approx(moves.mean())
    assert found.lower_limit.value == pytest.approx(moves.mean() - 1.959964 * moves.std(ddof=1))
    assert found.upper_limit.value == pytest.approx(moves.mean() + 1.959964 * moves.std(ddof=1))


@pytest.mark.parametrize("judge", [1, 2, 3])
def test_icc_of_two_judges_is_the_analysis_of_variances(judge):
    found = numeric_agreement(SHROUT[:, 0], SHROUT[:, judge], draws=50)
    assert found.icc.value == pytest.approx(two_way(SHROUT[:, [0, judge]]))


@pytest.mark.parametrize("name", DATA)
def test_numbers_of_a_draw_are_those_of_its_items(name):
    gold, pred = DATA[name]
    sampling = Resampling.of(len(gold), clusters=[at // 3 for at in range(len(gold))], draws=6)
    sums = sampling.resums(moments(gold, pred))
    [draws] = sampling.weights()
    for at, draw in enumerate(draws):
        rows = np.repeat(np.arange(len(gold)), draw[sampling.codes].astype(int))
        x, y = gold[rows], pred[rows]
        assert pearsons(sums)[at] == pytest.approx(pearsonr(x, y).statistic)
        assert cccs(sums)[at] == pytest.approx(lin(x, y))
        assert iccs(sums)[at] == pytest.approx(two_way(np.stack([x, y], axis=1)))
        assert limits(sums)[1][at] == pytest.approx((y - x).mean() + 1.959964 * (y - x).std(ddof=1), abs=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_spearmans_interval_is_that_of_drawing_items_by_hand(name):
    gold, pred = DATA[name]
    clusters = [at // 3 for at in range(len(gold))]
    found = numeric_agreement(gold, pred, clusters=clusters, draws=40).spearman
    sampling = Resampling.of(len(gold), clusters=clusters, draws=40)
    [draws] = sampling.weights()
    samples = (np.repeat(np.arange(len(gold)), draw[sampling.codes].astype(int)) for draw in draws)
    values = [spearmanr(gold[rows], pred[rows]).statistic for rows in samples]
    assert [found.low, found.high] == pytest.approx(np.quantile(values, [0.025, 0.975]))


def test_a_harsh_judge_correlates_and_does_not_agree():
    # by hand: variances 2/3, covariance 2/3, means 1 apart: 2 * 2/3 / (4/3 + 1) = 4/7
    found = numeric_agreement([2, 3, 4], [1, 2, 3])
    assert found.pearson.value == pytest.approx(1.0)
    assert found.ccc.value == pytest.approx(4 / 7)
    assert found.bias.value == -1.0
    # every difference is -1: no spread about it
    assert (found.lower_limit.value, found.upper_limit.value) == (-1.0, -1.0)


def test_a_constant_judge_has_no_correlation_and_no_concordance():
    found = numeric_agreement([1.0, 2.0, 3.0] * 10, [2.0] * 30)
    assert math.isnan(found.pearson.value)
    assert found.pearson.reason == "the gold or the answers have one and the same value only"
    assert found.ccc.value == 0.0
    same = numeric_agreement([0.1] * 30, [0.1] * 30)
    assert math.isnan(same.ccc.value)
    assert same.icc.reason == "all numbers are the same"
    assert same.mae.value == 0.0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_none_one_and_two_items_are_no_error(n):
    found = numeric_agreement([1.0, 2.0][:n], [2.0, 4.0][:n])
    assert found.n == n
    assert found.bias.value == pytest.approx([math.nan, 1.0, 1.5][n], nan_ok=True)
    assert found.pearson.value == pytest.approx([math.nan, math.nan, 1.0][n], nan_ok=True)
    assert math.isnan(found.upper_limit.value) == (n < 2)
    assert found.icc.reason


def test_numbers_must_be_finite_and_of_one_length():
    with pytest.raises(UsageError, match="`pred` has numbers that aren't finite"):
        numeric_agreement([1.0], [math.nan])
    with pytest.raises(UsageError, match="`gold` has 1 items and `pred` 2"):
        numeric_agreement([1.0], [1.0, 2.0])


def test_intervals_of_the_bias_cover_it():
    random = np.random.default_rng(2)
    hits = 0
    for number in range(200):
        gold = random.normal(size=80)
        moved = gold - 0.5 + random.normal(size=80)
        sampling = Resampling.of(80, draws=300, seed=number)
        drawn = sampling.resums((moved - gold)[:, None])[:, 0] / 80
        found = sampling.interval((moved - gold).mean(), drawn)
        hits += found.low <= -0.5 <= found.high
    # 95 % nominal, error of 200 runs 1.5 points
    assert 0.9 <= hits / 200 <= 0.99


def test_one_item_has_no_concordance():
    found = numeric_agreement([0.0], [1.0])
    assert math.isnan(found.ccc.value)
    assert found.ccc.reason == found.icc.reason == "one item has no spread"


def test_an_icc_whose_variances_cancel_out_is_unknown_and_says_why():
    # items 0 and 1 answered by 1 and 0: between items 0, error 1, between raters 0, so 0 + 1 + 2 (0 - 1) / 2 = 0
    found = numeric_agreement([0.0, 1.0], [1.0, 0.0])
    assert math.isnan(found.icc.value)
    assert "cancel out" in found.icc.reason
