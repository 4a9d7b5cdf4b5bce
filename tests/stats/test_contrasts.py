"""Groups, shares and spreads: their references, and how often chance is called a finding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import test_proportions_2indep as two_proportions

from llmframe.stats.contrasts import group_difference, narrowing, share_above

two_proportions.__test__ = False


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference's, about ratios that nobody asked for
@pytest.mark.parametrize("counts", [(9, 12, 2, 10), (0, 8, 0, 9), (30, 30, 20, 25)])
def test_the_difference_of_two_shares_is_agresti_and_caffos(counts: tuple[int, int, int, int]):
    hits, n, other_hits, other_n = counts
    values = [1.0] * hits + [0.0] * (n - hits) + [1.0] * other_hits + [0.0] * (other_n - other_hits)
    found = group_difference(values, [True] * n + [False] * other_n)
    reference = two_proportions(hits, n, other_hits, other_n, method="agresti-caffo", compare="diff")
    assert found.effect.value == pytest.approx(hits / n - other_hits / other_n)
    assert found.p == pytest.approx(reference.pvalue)


def test_items_of_a_cluster_in_both_groups_move_together():
    values, own = [1.0, 1.0, 0.0, 0.0] * 10, [True, False] * 20
    apart = group_difference(values, own)
    paired = group_difference(values, own, clusters=[at // 2 for at in range(40)])
    assert paired.clusters == 20
    assert paired.se < apart.se  # each pair has no difference at all


@pytest.mark.parametrize(("values", "own"), [([], []), ([1.0], [True]), ([0.0, 1.0], [False, False])])
def test_an_empty_group_is_unknown_with_the_reason(values: list[float], own: list[bool]):
    found = group_difference(values, own)
    assert math.isnan(found.effect.value)
    assert math.isnan(found.p)
    assert f"{sum(own)} items in the first group" in found.effect.reason


def test_groups_that_do_not_differ_are_found_to_in_a_twentieth_of_all_cases_at_most():
    random = np.random.default_rng(4)
    draws = (random.uniform(size=(500, 80)) < 0.3).astype(float).tolist()
    p = [group_difference(values, [True] * 30 + [False] * 50).p for values in draws]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("count", "n"), [(0, 30), (6, 30), (30, 30), (1, 2)])
def test_a_share_is_tested_by_the_binomial_tail(count: int, n: int):
    found = share_above([True] * count + [False] * (n - count), 0.1)
    assert found.p == pytest.approx(stats.binomtest(count, n, 0.1, alternative="greater").pvalue)
    assert found.effect.value == count / n
    assert found.se > 0


def test_a_share_over_clusters_is_less_sure():
    hits = [at % 10 < 3 for at in range(100)]
    alone = share_above(hits, 0.1)
    together = share_above(hits, 0.1, clusters=[hits[at] * 100 + at // 20 for at in range(100)])
    assert together.clusters == 10
    assert together.se > alone.se


def test_no_share_without_an_item():
    found = share_above([], 0.1)
    assert (math.isnan(found.effect.value), math.isnan(found.p)) == (True, True)


def test_scores_of_half_the_spread_are_told_as_such():
    gold = [1.0, 2.0, 3.0, 4.0, 5.0] * 12
    found = narrowing([3 + (each - 3) / 2 for each in gold], gold)
    assert found.effect.value == pytest.approx(-0.5)
    # halved exactly, so nothing is left to chance in the ratio
    assert (found.effect.low, found.effect.high) == pytest.approx((-0.5, -0.5))
    assert found.p < 0.001


def test_the_jackknife_leaves_each_item_out_in_turn():
    random = np.random.default_rng(5)
    gold = random.integers(1, 6, 30).astype(float)
    judged = np.clip(np.round(3 + 0.7 * (gold - 3) + random.normal(0, 0.5, 30)), 1, 5)
    logs = [np.log(np.delete(judged, at).std() / np.delete(gold, at).std()) for at in range(30)]
    spread = math.sqrt(29 / 30 * ((np.array(logs) - np.mean(logs)) ** 2).sum())
    ratio = judged.std() / gold.std()
    found = narrowing(judged.tolist(), gold.tolist())
    assert found.effect.low == pytest.approx(ratio * math.exp(-1.959964 * spread) - 1)
    assert found.se == pytest.approx(ratio * spread)


@pytest.mark.parametrize(
    ("judged", "gold", "reason"),
    [
        ([], [], "0 items have no spread"),
        ([1.0], [2.0], "1 items have no spread"),
        ([1.0, 2.0, 1.0], [3.0, 3.0, 3.0], "the known scores are all alike"),
    ],
)
def test_known_scores_without_spread_tell_nothing(judged: list[float], gold: list[float], reason: str):
    found = narrowing(judged, gold)
    assert math.isnan(found.effect.value)
    assert math.isnan(found.p)
    assert found.effect.reason == reason


def test_a_judge_of_one_score_has_no_interval_and_a_p():
    found = narrowing([3.0] * 20, [1.0, 2.0, 4.0, 5.0] * 5)
    assert found.effect.value == -1
    assert math.isnan(found.effect.low)
    assert found.effect.reason == "the judge gives one score only"
    assert found.p < 0.001


def test_a_judge_as_wide_as_the_gold_is_called_narrow_in_a_twentieth_of_all_cases_at_most():
    random = np.random.default_rng(6)
    p: list[float] = []
    for _ in range(400):
        gold = random.choice([1.0, 2.0, 3.0, 4.0, 5.0], size=60, p=[0.05, 0.1, 0.15, 0.3, 0.4])  # skewed
        judged = np.where(random.uniform(size=60) < 0.7, gold, random.permutation(gold))
        p.append(narrowing(judged.tolist(), gold.tolist()).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
