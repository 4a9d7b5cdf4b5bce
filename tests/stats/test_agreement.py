"""Labels against gold labels: the references' numbers, their intervals, and nan with its reason."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_recall_fscore_support

from llmframe.errors import UsageError
from llmframe.stats.agreement import MOST_LABELS, nominal_agreement
from llmframe.stats.bootstrap import Resampling
from llmframe.stats.kappas import kappas
from llmframe.stats.pair_counts import count_pairs
from llmframe.stats.proportions import wilson_interval

SKEWED = [("y", "y")] * 90 + [("y", "n")] * 4 + [("n", "y")] * 5 + [("n", "n")]
THREE = [
    (i, j)
    for i, row in enumerate([[20, 10, 5], [3, 30, 15], [0, 5, 40]])
    for j, count in enumerate(row)
    for _ in range(count)
]
# "c" is never answered, "d" never right
GAPS = [("a", "a")] * 6 + [("b", "a")] * 2 + [("c", "b")] * 3 + [("a", "d")]
DATA = {"skewed": SKEWED, "three": THREE, "gaps": GAPS}


def sides(items):
    return [list(side) for side in zip(*items, strict=True)]


@pytest.mark.parametrize("name", DATA)
def test_every_number_is_scikit_learns(name):
    gold, pred = sides(DATA[name])
    found = nominal_agreement(gold, pred, draws=200)
    right = sum(one == other for one, other in DATA[name])
    ends = wilson_interval(right, len(gold))
    assert (found.accuracy.value, found.accuracy.low, found.accuracy.high) == (right / len(gold), ends.low, ends.high)
    # scikit-learn warns of answers that the gold doesn't have
    with pytest.warns(UserWarning, match="not in y_true") if name == "gaps" else contextlib.nullcontext():
        assert found.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(gold, pred))
    labels = list(found.labels)
    assert found.macro_f1.value == pytest.approx(f1_score(gold, pred, labels=labels, average="macro", zero_division=0))
    precision, recall, f1, support = precision_recall_fscore_support(gold, pred, labels=labels, zero_division=np.nan)
    for at, each in enumerate(found.classes):
        assert (each.label, each.gold) == (labels[at], support[at])
        assert each.precision.value == pytest.approx(precision[at], nan_ok=True)
        assert each.recall.value == pytest.approx(recall[at], nan_ok=True)
        assert each.f1.value == pytest.approx(f1[at], nan_ok=True)


def test_kappa_falls_with_prevalence_and_ac1_does_not():
    found = nominal_agreement(*sides(SKEWED))
    # irrCAC 0.4.4: .1346 and .8996 at an agreement of .91
    assert found.accuracy.value == pytest.approx(0.91)
    assert found.kappa.value == pytest.approx(0.1346, abs=5e-5)
    assert found.ac1.value == pytest.approx(0.8996, abs=5e-5)


def test_intervals_are_near_those_of_theory():
    # statsmodels 0.14.4, cohens_kappa(table): se of kappa .0583 by the delta method
    found = nominal_agreement(*sides(THREE))
    assert found.kappa.low == pytest.approx(0.5462 - 1.96 * 0.0583, abs=0.02)
    assert found.kappa.high == pytest.approx(0.5462 + 1.96 * 0.0583, abs=0.02)


def test_clusters_widen_and_replace_wilsons_interval():
    gold, pred = sides([pair for pair in THREE for _ in range(5)])
    alone = nominal_agreement(gold, pred)
    together = nominal_agreement(gold, pred, clusters=[at // 5 for at in range(len(gold))])
    for name in ("accuracy", "kappa", "ac1", "macro_f1"):
        narrow, wide = getattr(alone, name), getattr(together, name)
        assert wide.value == narrow.value
        assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(math.sqrt(5), rel=0.12)


def test_a_label_that_is_never_answered_has_no_precision_and_one_without_gold_no_recall():
    of = {each.label: each for each in nominal_agreement(*sides(GAPS)).classes}
    assert math.isnan(of["c"].precision.value)
    assert of["c"].precision.reason == "never answered"
    assert (of["c"].recall.value, of["c"].f1.value) == (0.0, 0.0)
    assert math.isnan(of["d"].recall.value)
    assert of["d"].recall.reason == "not in the gold"


def test_labels_that_never_come_count_for_chance_alone():
    found = nominal_agreement("aab", "aab", labels="abc")
    assert found.labels == ("a", "b", "c")
    assert found.confusion == ((2, 0, 0), (0, 1, 0), (0, 0, 0))
    assert math.isnan(found.classes[2].f1.value)
    assert found.macro_f1.value == 1.0


def test_one_label_alone_has_an_accuracy_and_no_kappa():
    found = nominal_agreement("a" * 30, "a" * 30)
    assert (found.accuracy.value, found.accuracy.high) == (1.0, 1.0)
    assert found.accuracy.low == pytest.approx(0.8865, abs=5e-5)
    assert math.isnan(found.kappa.value)
    assert found.kappa.reason == "all have one and the same label"
    assert "`labels=`" in found.ac1.reason
    assert nominal_agreement("a" * 30, "a" * 30, labels="ab").ac1.value == 1.0


def test_a_perfect_judge_of_few_items_has_a_wide_interval():
    found = nominal_agreement("ab" * 10, "ab" * 10)
    # see test_kappas: 1 - .1611 / .5
    assert (found.kappa.value, found.kappa.high) == (1.0, 1.0)
    assert found.kappa.low == found.ac1.low == pytest.approx(0.678, abs=5e-4)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_none_one_and_two_items_are_no_error(n):
    found = nominal_agreement("ab"[:n], "bb"[:n])
    assert found.n == n
    # a against b, b against b: half is right
    assert found.accuracy.value == pytest.approx([math.nan, 0.0, 0.5][n], nan_ok=True)
    assert found.accuracy.reason == ("" if n else "no item has both")
    assert found.kappa.value == pytest.approx([math.nan, 0.0, 0.0][n], nan_ok=True)
    assert math.isnan(found.kappa.low) or found.kappa.reason
    assert found.macro_f1.reason or n == 0


def test_too_many_labels_leave_the_accuracy():
    gold = list(range(MOST_LABELS + 2))
    found = nominal_agreement(gold, gold)
    assert found.accuracy.value == 1.0
    assert math.isnan(found.kappa.value)
    assert found.kappa.reason == "502 different labels are too many: sort them into fewer"
    assert found.classes == ()


def test_lengths_are_checked():
    with pytest.raises(UsageError, match="`gold` has 1 items and `pred` 2"):
        nominal_agreement("a", "ab")


def test_kappas_interval_covers_what_is_true():
    # gold: half a, half b; the judge is right with .8: kappa = (.8 - .5) / .5 = .6
    random = np.random.default_rng(3)
    hits = 0
    for number in range(200):
        gold = random.integers(0, 2, 150)
        pred = np.where(random.random(150) < 0.8, gold, 1 - gold)
        found, codes = count_pairs(gold.tolist(), pred.tolist())
        sampling = Resampling.of(150, draws=300, seed=number)
        kappa = sampling.interval(kappas(found)[0], kappas(found.redrawn(codes, sampling)))
        hits += kappa.low <= 0.6 <= kappa.high
    # 95 % nominal, error of 200 runs 1.5 points
    assert 0.9 <= hits / 200 <= 0.99


def test_balanced_accuracy_has_an_interval_though_all_of_a_rare_label_are_right():
    # recalls 1 of 5 and 94/95; their intervals by Wilson are 0.5655 to 1 and 0.94281 to 0.99814
    found = nominal_agreement(["a"] * 95 + ["b"] * 5, ["a"] * 94 + ["b"] * 6).balanced_accuracy
    assert found.value == pytest.approx((1 + 94 / 95) / 2)
    assert found.low == pytest.approx(found.value - math.hypot(1 - 0.565518, 94 / 95 - 0.942810) / 2, abs=1e-5)
    assert found.high == pytest.approx(found.value + (0.998140 - 94 / 95) / 2, abs=1e-4)


def test_the_interval_of_balanced_accuracy_covers_where_a_label_is_rare():
    random = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        gold = random.random(300) < 0.05
        pred = np.where(random.random(300) < 0.95, gold, ~gold)
        found = nominal_agreement(gold.tolist(), pred.tolist(), draws=2).balanced_accuracy
        held += found.low <= 0.95 <= found.high
    assert 0.92 <= held / 300 <= 0.98
