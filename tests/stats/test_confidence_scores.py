"""Scores of confidences: the plain statistics with intervals, unknown where nothing can be told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import bootstrap
from llmframe.stats.confidence_scores import confidence_scores
from llmframe.stats.reliability import auroc, brier, calibration_error, debiased_error, log_loss, null_band


def simulated(n: int = 200, *, honest: bool = True, ties: bool = False) -> tuple[list[float], list[bool]]:
    random = np.random.default_rng(4)
    sure = random.uniform(0.4, 1.0, n)
    sure = np.round(sure, 1) if ties else sure
    return sure.tolist(), (random.random(n) < (sure if honest else 0.5)).tolist()


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_the_plain_statistics(ties):
    sure, right = simulated(ties=ties)
    found = confidence_scores(sure, right, draws=20)
    assert (found.ece, found.chance) == (calibration_error(sure, right), null_band(sure))
    assert found.debiased == debiased_error(sure, right)
    told = (found.brier.value, found.log_loss.value, found.auroc.value)
    assert told == (brier(sure, right), log_loss(sure, right), auroc(sure, right))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("clusters", [None, [at // 3 for at in range(60)]], ids=["rows", "clusters"])
def test_intervals_are_those_of_the_bootstrap_by_the_same_draws(ties, clusters: list[int] | None):
    sure, right = simulated(60, ties=ties)
    found = confidence_scores(sure, right, clusters=clusters, draws=40, seed=3)
    for estimate, statistic in ((found.auroc, auroc), (found.brier, brier), (found.log_loss, log_loss)):
        plain = bootstrap(
            lambda a, b, statistic=statistic: statistic(a.tolist(), b.tolist()),
            [sure, right],
            clusters=clusters,
            draws=40,
            seed=3,
        )
        assert (estimate.low, estimate.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_a_calibration_error_is_held_against_chance():
    assert confidence_scores(*simulated(600), draws=5).by_chance
    assert not confidence_scores(*simulated(600, honest=False), draws=5).by_chance


def test_without_items_everything_is_unknown():
    found = confidence_scores([], [])
    numbers = (found.ece, found.chance.high, found.debiased, found.brier.value, found.auroc.value)
    assert all(map(math.isnan, numbers))
    assert found.auroc.reason


@pytest.mark.parametrize("right", [[True], [True, True], [False] * 20], ids=["one", "two", "all wrong"])
def test_where_all_are_alike_the_auroc_is_unknown_and_says_why(right: list[bool]):
    found = confidence_scores([0.6] * len(right), right, draws=10)
    assert math.isnan(found.auroc.value)
    assert found.auroc.reason == f"all answers are {'right' if right[0] else 'wrong'}"
    assert found.brier.known


def test_a_confidence_outside_of_its_range_is_refused():
    with pytest.raises(UsageError, match=r"in \[0, 1\]"):
        confidence_scores([60.0], [True])


@pytest.mark.parametrize(("wrong", "told"), [(3, True), (9, True), (10, False)])
def test_the_interval_of_an_auroc_says_where_few_answers_are_wrong(wrong, told):
    sure = np.linspace(0.5, 1.0, 60).tolist()
    right = [at % 6 != 0 or at // 6 >= wrong for at in range(60)]
    found = confidence_scores(sure, right, draws=50).auroc
    assert not math.isnan(found.low)
    assert found.reason.startswith(f"only {wrong} of the answers are wrong: the interval is likely too narrow") == told
