"""Agreement beyond chance: the references' numbers, in all items and in every draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from llmframe.stats.bootstrap import Resampling
from llmframe.stats.estimate import Estimate
from llmframe.stats.kappas import ac1s, kappas, perfect_end, scikit_kappa
from llmframe.stats.ordinal import distances
from llmframe.stats.pair_counts import count_pairs

# skewed prevalence, three labels, five items with ties
DATA = {
    "skewed": [("y", "y")] * 90 + [("y", "n")] * 4 + [("n", "y")] * 5 + [("n", "n")],
    "three": [
        (i, j)
        for i, row in enumerate([[20, 10, 5], [3, 30, 15], [0, 5, 40]])
        for j, count in enumerate(row)
        for _ in range(count)
    ],
    "ties": [("a", "b"), ("b", "a"), ("a", "a"), ("c", "c"), ("b", "c")],
}
# irrCAC 0.4.4, `CAC(...).gwet()` and `.conger()` with identity weights (Conger's is Cohen's for two raters)
GWET = {"skewed": 0.8995591764, "three": 0.5606837221, "ties": 0.1044776119}
COHEN = {"skewed": 0.1346153846, "three": 0.5462263271, "ties": 0.1176470588}
# its kappas with linear and quadratic weights
LINEAR = {"skewed": 0.1346153846, "three": 0.6027140176, "ties": 0.347826087}
QUADRATIC = {"skewed": 0.1346153846, "three": 0.6628900815, "ties": 0.5714285714}


@pytest.mark.parametrize("name", DATA)
def test_kappa_and_ac1_are_irrcacs(name):
    found, _ = count_pairs(*zip(*DATA[name], strict=True))
    size = len(found.labels)
    assert kappas(found)[0] == pytest.approx(COHEN[name], abs=1e-9)
    assert scikit_kappa(found) == pytest.approx(COHEN[name], abs=1e-9)
    assert ac1s(found)[0] == pytest.approx(GWET[name], abs=1e-9)
    assert kappas(found, distances(size, "linear"))[0] == pytest.approx(LINEAR[name], abs=1e-9)
    assert kappas(found, distances(size, "quadratic"))[0] == pytest.approx(QUADRATIC[name], abs=1e-9)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_scikit_learns_and_statsmodels(name, weights):
    found, _ = count_pairs(*zip(*DATA[name], strict=True))
    places = {label: place for place, label in enumerate(found.labels)}
    gold, pred = ([places[label] for label in side] for side in zip(*DATA[name], strict=True))
    value = kappas(found, None if weights is None else distances(len(found.labels), weights))[0]
    assert value == pytest.approx(cohen_kappa_score(gold, pred, weights=weights), abs=1e-10)
    table = np.array(found.table(), dtype=float)
    assert value == pytest.approx(cohens_kappa(table, wt=weights, return_results=False), abs=1e-10)
    assert scikit_kappa(found, weights) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_of_a_draw_is_that_of_its_items(weights):
    gold, pred = map(np.array, zip(*DATA["three"], strict=True))
    sampling = Resampling.of(len(gold), clusters=[at // 4 for at in range(len(gold))], draws=12)
    found, codes = count_pairs(gold.tolist(), pred.tolist())
    values = kappas(found.redrawn(codes, sampling), None if weights is None else distances(3, weights))
    [draws] = sampling.weights()
    for draw, value in zip(draws, values, strict=True):
        rows = np.repeat(np.arange(len(gold)), draw[sampling.codes].astype(int))
        assert value == pytest.approx(cohen_kappa_score(gold[rows], pred[rows], weights=weights, labels=[0, 1, 2]))


def test_one_label_alone_has_neither():
    found, _ = count_pairs("aaa", "aaa")
    assert math.isnan(kappas(found)[0])
    assert math.isnan(ac1s(found)[0])
    # with a second label to choose from chance is 0, and everything agrees
    assert ac1s(count_pairs("aaa", "aaa", labels="ab")[0])[0] == 1.0


def test_perfect_agreement_ends_where_wilson_says():
    # n = 20: Wilson's lower end is 20 / (20 + 1.96^2) = .8389; expected disagreement .5: 1 - .1611 / .5 = .678
    sampling = Resampling.of(20)
    found = perfect_end(Estimate(value=1.0, n=20), sampling=sampling, expected=0.5)
    assert found.low == pytest.approx(0.678, abs=5e-4)
    assert found.high == 1.0
    assert "Wilson" in found.reason
