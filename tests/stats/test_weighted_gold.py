"""Known answers that were picked with unequal probabilities: unbiased, and covering as they claim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.stats.ppi import ppi_mean
from llmframe.stats.weighted_gold import weighted_mean

NAN = math.nan


def test_it_is_the_mean_of_the_weighted_terms():
    # terms: 0; 1 + (1 - 1)/0.75 = 1; 1 + (0 - 1)/0.75 = -1/3; 0; their mean 1/6
    # deviations -1/6, 5/6, -1/2, -1/6: variance (1 + 25 + 9 + 1)/36/4 = 0.25; standard error 0.5/2
    found = weighted_mean([0, 1, 1, 0], [NAN, 1, 0, NAN], [0.25, 0.75, 0.75, 0.25])
    assert found.estimate.value == pytest.approx(1 / 6)
    assert found.se == pytest.approx(0.25)
    # t(.975, 1) = 12.7062
    assert found.estimate.high - found.estimate.value == pytest.approx(12.7062 / 4, rel=1e-5)
    assert (found.n, found.rest) == (2, 2)
    assert found.estimate.reason.startswith("2 known answers are few")


def test_gold_alone_is_weighted_by_how_rarely_its_rows_are_picked():
    # 1 with weight 4, 0 with weight 1: 4/5
    found = weighted_mean([1, 0, 1], [1, 0, NAN], [0.25, 1, 0.5])
    assert found.gold.value == pytest.approx(0.8)


def test_a_judge_without_errors_leaves_the_share_as_it_is_and_it_is_told():
    found = weighted_mean([1, 0, 1, 0], [1, NAN, NAN, 0], [0.5] * 4)
    assert found.estimate.value == 0.5
    assert "right in all 2 known rows" in found.estimate.reason


def test_equal_probabilities_give_ppi_with_full_trust():
    gold = np.full(300, NAN)
    said = (np.arange(300) % 3 == 0) * 1.0
    gold[:120] = (np.arange(120) % 4 == 0) * 1.0
    found = weighted_mean(said, gold, np.full(300, 0.4))
    plain = ppi_mean(gold[:120], said[:120], said[120:], lam=1)
    assert found.estimate.value == pytest.approx(plain.estimate.value)


@pytest.mark.parametrize(
    ("gold", "value", "reason"),
    [([NAN, NAN], NAN, "no known answer"), ([1, NAN], 1.5, "no interval from 1 known answer")],
    ids=["none", "one"],
)
def test_what_cannot_be_told_is_nan_with_its_reason(gold: list[float], value: float, reason: str):
    found = weighted_mean([0, 1], gold, [0.5, 0.5]).estimate
    assert found.value == pytest.approx(value, nan_ok=True)
    assert math.isnan(found.low)
    assert reason in found.reason


def test_no_row_at_all_is_nan():
    assert math.isnan(weighted_mean([], [], []).estimate.value)


def test_the_share_is_held_within_its_bounds():
    assert weighted_mean([0, 1], [1, NAN], [0.5, 0.5], bounds=(0, 1)).estimate.value == 1


def test_probabilities_of_rows_that_were_not_picked_are_never_read():
    found = weighted_mean([0, 1, 1], [NAN, 1, 0], [NAN, 0.5, 0.5])
    assert found == weighted_mean([0, 1, 1], [NAN, 1, 0], [7, 0.5, 0.5])


@pytest.mark.parametrize("chance", [0.0, 1.5, NAN], ids=["zero", "above one", "unknown"])
def test_a_known_row_needs_a_probability(chance: float):
    with pytest.raises(UsageError, match=r"1 known rows have a probability outside \(0, 1\]"):
        weighted_mean([0, 1], [1, NAN], [chance, 0.5])


def test_lengths_must_be_equal():
    with pytest.raises(UsageError, match="`judge` has 2 values, `gold` 1, `probability` 2"):
        weighted_mean([0, 1], [1], [0.5, 0.5])


def test_clusters_count_once_and_few_of_them_are_told():
    said, gold, chance = [1, 0, 0], [1, 1, NAN], [0.5, 0.5, 0.5]
    found = weighted_mean(said, gold, chance, clusters=["a", "a", "b"])
    # terms 1, 0 + 1/0.5 = 2, 0; cluster a has 1.5, b 0
    assert found.estimate.value == pytest.approx(0.75)
    assert "1 clusters are few" in found.estimate.reason
    with pytest.raises(UsageError, match="`clusters` has 1 entries for 3 rows"):
        weighted_mean(said, gold, chance, clusters=["a"])


def rows(random: np.random.Generator) -> tuple[Any, Any, Any]:
    """1,000 rows: the truth, the judge's answers, and what it is expected to be wrong in; it is wrong in that share."""
    doubt = random.choice([0.02, 0.1, 0.45], size=1000, p=[0.6, 0.2, 0.2])
    truth = random.random(1000) < np.where(doubt > 0.4, 0.7, 0.2)
    return truth, np.where(random.random(1000) < doubt, False, truth), doubt


def test_it_is_unbiased_and_covers_where_doubtful_rows_are_picked_more_often():
    """600 runs; doubtful rows are mostly yes, so that gold unweighted and the judge alone are both far off."""
    random = np.random.default_rng(5)
    misses: list[float] = []
    covered = unweighted = 0
    for _ in range(600):
        truth, said, doubt = rows(random)
        chance = np.clip(150 * doubt / doubt.sum(), 0.03, 1)
        gold = np.where(random.random(1000) < chance, truth, NAN)
        found = weighted_mean(said, gold, chance)
        # expected truth: 0.8 * 0.2 + 0.2 * 0.7
        covered += found.estimate.low <= 0.3 <= found.estimate.high
        misses.append(found.estimate.value - 0.3)
        unweighted += abs(np.nanmean(gold) - 0.3) > 0.1
    assert abs(np.mean(misses)) < 3 * np.std(misses) / math.sqrt(600)
    assert 0.93 <= covered / 600 <= 0.97
    assert unweighted > 590


def test_a_judge_that_makes_it_worse_is_told():
    random = np.random.default_rng(4)
    truth = random.random(400) < 0.5
    gold = np.where(np.arange(400) < 150, truth, NAN)
    assert "the judge is of no help" in weighted_mean(~truth, gold, [0.375] * 400).estimate.reason
    assert weighted_mean(np.where(np.arange(400) % 9 == 0, ~truth, truth), gold, [0.375] * 400).estimate.reason == ""


def test_the_judge_alone_is_of_the_same_clusters():
    # a cluster counts once: (1 + 0) / 2, not the mean of four rows
    found = weighted_mean([1, 1, 1, 0], [1, NAN, NAN, 0], [0.5] * 4, clusters=["a", "a", "a", "b"])
    assert found.naive.value == 0.5
