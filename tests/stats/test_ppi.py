"""PPI++ means: equal to the reference, honest where little is known, right as often as they claim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.ppi import ppi_difference, ppi_mean

at = np.arange


def balanced() -> tuple[Any, Any, Any]:
    """40 known, 60 % of them yes; the judge is wrong in every seventh; 400 others."""
    gold = at(40) % 5 < 3
    return gold, np.where(at(40) % 7 == 0, ~gold, gold), at(400) % 9 < 5


def skewed() -> tuple[Any, Any, Any]:
    """4 of 60 known are yes; the judge sees all of them, and three more."""
    gold = at(60) % 15 == 0
    return gold, gold | (at(60) % 20 == 7), at(500) % 12 == 0


def scores() -> tuple[Any, Any, Any]:
    """Scores from 1 to 5 with many ties; the judge's scale of the others ends at 4.6."""
    gold = 1 + (at(50) * 7) % 5
    return gold, np.clip(gold + ((at(50) % 3) - 1) * (at(50) % 4 > 1), 1, 5), 1 + (at(300) * 3) % 5 * 0.9


def opposed() -> tuple[Any, Any, Any]:
    """A judge that always says the contrary."""
    return at(30) % 2, 1 - at(30) % 2, at(90) % 2


@pytest.mark.parametrize(
    ("data", "lam", "value", "low", "high"),
    [
        (balanced, 0.6255133685357471, 0.6062551336853574, 0.4928966516826905, 0.7196136156880244),
        (skewed, 0.6573523081770213, 0.045193157932883976, -0.0009958429862939183, 0.09138215885206187),
        (scores, 0.9569081186193484, 2.8086183762761303, 2.6164612204668494, 3.0007755320854113),
        (opposed, 0.0, 0.5, 0.32108058562828434, 0.6789194143717157),
    ],
    ids=["balanced", "skewed", "scores with ties", "opposed"],
)
def test_it_equals_the_reference(data: Any, lam: float, value: float, low: float, high: float):
    """Frozen from ppi_py 0.2.3, `ppi_mean_ci(..., alpha=0.05)`."""
    found = ppi_mean(*data(), quantiles="normal")
    assert found.lam == pytest.approx(lam, abs=1e-9)
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == pytest.approx(
        (value, low, high), abs=1e-9
    )


def test_below_a_hundred_known_answers_the_interval_is_wider_and_it_is_told():
    narrow, wide = ppi_mean(*balanced(), quantiles="normal").estimate, ppi_mean(*balanced()).estimate
    # t(.975, 38) = 2.02439 against 1.95996, the known rows' part by sqrt(40/38), the others' by sqrt(400/398)
    assert wide.high - wide.low == pytest.approx((narrow.high - narrow.low) * 1.0578, rel=1e-3)
    assert wide.value == narrow.value
    assert wide.reason.startswith("40 known answers are few")


def test_from_a_hundred_on_it_is_the_normal_interval():
    data = [np.tile(each, 3) for each in balanced()]
    assert ppi_mean(*data) == ppi_mean(*data, quantiles="normal")
    assert ppi_mean(*data).estimate.reason == ""


def test_effective_n_is_how_many_known_answers_alone_would_say_as_much():
    found = ppi_mean(*balanced(), quantiles="normal")
    # variance of the known answers 0.6 * 0.4; as many of them give the same standard error
    assert math.sqrt(0.24 / found.effective_n) == pytest.approx(found.se)
    assert found.effective_n > 40


def test_gold_alone_and_the_judge_alone_stand_beside():
    found = ppi_mean(*balanced())
    # 24 of 40 known; the judge: 20 of the known (6 wrong of 40: rows 0,7,14,21,28,35) and 225 of 400
    assert (found.gold.value, found.gold.n) == (0.6, 40)
    assert found.naive.n == 440
    assert found.naive.value == pytest.approx(np.concatenate(balanced()[1:]).mean())


def test_a_judge_that_is_believed_fully_is_plain_ppi_and_one_that_is_not_is_gold_alone():
    gold, judge, rest = balanced()
    plain = ppi_mean(gold, judge, rest, lam=1).estimate.value
    assert plain == pytest.approx(gold.mean() + rest.mean() - judge.mean())
    none = ppi_mean(gold, judge, rest, lam=0, quantiles="normal")
    assert none.estimate.value == pytest.approx(gold.mean())
    assert none.effective_n == pytest.approx(40)


@pytest.mark.parametrize(
    ("gold", "judge", "rest", "value", "reason"),
    [
        ([], [], [1, 0], math.nan, "no known answer"),
        ([1], [1], [1, 0], 1.0, "no interval from 1 known answer:"),
        ([1, 0], [1, 0], [1, 0], 0.5, "no interval from 2 known answers:"),
        ([1] * 8, [1, 0] * 4, [1, 0], 1.0, "all known answers are the same"),
        ([], [], [], math.nan, "no known answer"),
    ],
    ids=["n=0", "n=1", "n=2", "one class", "nothing"],
)
def test_what_cannot_be_told_is_nan_with_its_reason(gold: Any, judge: Any, rest: Any, value: float, reason: str):
    found = ppi_mean(gold, judge, rest).estimate
    assert found.value == pytest.approx(value, nan_ok=True)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert reason in found.reason


def test_with_every_row_known_nothing_is_left_to_correct():
    found = ppi_mean([1, 0, 1, 1], [1, 1, 1, 1], [])
    assert found.estimate.value == found.gold.value == 0.75
    assert "nothing is left to correct" in found.estimate.reason


def test_a_judge_that_says_one_thing_only_is_not_believed():
    found = ppi_mean([1, 0] * 60, [1] * 120, [1] * 500)
    assert found.lam == 0
    assert found.estimate.value == 0.5


def test_rounding_of_equal_answers_is_no_spread():
    assert ppi_mean([1.8092422187634307] * 5, [1.8092422187634307] * 5, [1.8092422187634307] * 5).lam == 0


def test_errors_that_nobody_saw_are_told():
    found = ppi_mean([1, 0] * 60, [1, 0] * 60, [1, 0] * 500)
    assert "right in all 120 known rows: errors in up to 2.5%" in found.estimate.reason


def test_a_rare_class_is_told():
    assert "only 4 known answers are of the rarer class" in ppi_mean(*skewed()).estimate.reason


def test_the_interval_of_a_share_ends_at_zero():
    assert ppi_mean(*skewed(), quantiles="normal", bounds=(0, 1)).estimate.low == 0


def test_a_cluster_counts_once_whatever_its_size():
    # items a, b, c with known answers 1 (twice), 0, 1; items d and e without
    by_row = ppi_mean(
        [1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0], clusters=["a", "a", "b", "c"], rest_clusters=["d", "d", "d", "e"]
    )
    by_item = ppi_mean([1, 0, 1], [0.5, 0, 1], [1, 0])
    assert by_row.estimate.value == by_item.estimate.value
    assert by_row.se == by_item.se
    assert (by_row.n, by_row.rest) == (3, 2)
    assert "3 clusters are few" in by_row.estimate.reason


def test_other_rows_of_a_cluster_with_known_answers_are_no_part_of_the_rest():
    found = ppi_mean([1, 0], [1, 0], [1, 1, 0], clusters=["a", "b"], rest_clusters=["a", "c", "d"])
    assert found.rest == 2


def test_where_every_cluster_is_known_in_part_it_isnt_said_that_every_row_is():
    found = ppi_mean([1, 0, 1], [1, 0, 0], [1, 1], clusters=["a", "b", "c"], rest_clusters=["a", "c"])
    assert found.estimate.value == found.gold.value
    assert "every cluster has a known answer, so these stand alone" in found.estimate.reason
    assert "3 clusters are few" in found.estimate.reason


def test_a_paired_difference_is_the_mean_of_the_differences():
    gold, judge, rest = balanced()
    better = gold | (at(40) % 4 == 1)
    found = ppi_difference((gold, better), (judge, better), (rest, rest | (at(400) % 3 == 0)))
    direct = ppi_mean(
        better * 1.0 - gold, better * 1.0 - judge, (rest | (at(400) % 3 == 0)) * 1.0 - rest, quantiles="auto"
    )
    assert found == direct


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"gold": [1, 0], "judge": [1]}, "`gold` has 2 values and `judge` 1"),
        ({"lam": 2}, "`lam` is between 0 and 1"),
        ({"quantiles": "t"}, "`quantiles` is"),
        ({"clusters": ["a", "b", "c"]}, "`clusters` needs `rest_clusters` too"),
        ({"level": 95}, "`level` is between 0 and 1"),
        ({"rest": [math.nan]}, "`rest` is a flat sequence of finite numbers"),
    ],
    ids=["lengths", "lam", "quantiles", "clusters", "level", "nan"],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        ppi_mean(**{"gold": [1, 0, 1], "judge": [1, 0, 0], "rest": [0, 1], **said})


def test_two_systems_need_the_same_items():
    with pytest.raises(UsageError, match="the two systems have 2 and 1 items"):
        ppi_difference(([1, 0], [1]), ([1, 0], [1, 0]), ([1], [1]))


numbers = st.lists(st.floats(-5, 5).map(lambda each: round(each, 2)), min_size=4, max_size=12)


@given(gold=numbers, rest=numbers, shift=st.floats(-3, 3), scale=st.floats(0.1, 4))
def test_moving_and_stretching_all_numbers_moves_and_stretches_the_estimate(
    gold: list[float], rest: list[float], shift: float, scale: float
):
    known, others = np.array(gold), np.array(rest)
    said = known[::-1]
    before = ppi_mean(known, said, others, quantiles="normal")
    after = ppi_mean(known * scale + shift, said * scale + shift, others * scale + shift, quantiles="normal")
    assert after.lam == pytest.approx(before.lam, abs=1e-6)
    assert after.estimate.value == pytest.approx(before.estimate.value * scale + shift, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "n"), [(0.6, 100), (0.3, 60), (0.15, 200)], ids=["60 % of 100", "30 % of 60", "15 % of 200"]
)
def test_the_interval_covers_as_often_as_it_claims_and_is_narrower_than_gold_alone(share: float, n: int):
    """1,000 runs: the share covered is known to ±0.014 (two standard errors)."""
    random = np.random.default_rng(7)
    covered, widths, alone, naive = 0, [], [], 0
    for _ in range(1000):
        truth = random.random(n + 1000) < share
        said = np.where(truth, random.random(n + 1000) < 0.9, random.random(n + 1000) < 0.3)
        found = ppi_mean(truth[:n], said[:n], said[n:])
        covered += found.estimate.low <= share <= found.estimate.high
        naive += found.naive.low <= share <= found.naive.high
        widths.append(found.estimate.high - found.estimate.low)
        alone.append(found.gold.high - found.gold.low)
    assert 930 <= covered <= 970
    assert np.mean(widths) < 0.93 * np.mean(alone)
    assert naive < 500


def test_the_paired_difference_covers_as_often_as_it_claims():
    """Scores of two systems on the same items; the second is better by 0.3 on average."""
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(600):
        hard = random.normal(size=900)
        first, second = hard + random.normal(size=900), hard + 0.3 + random.normal(size=900)
        said = first + 0.5 * random.normal(size=900), second + 0.2 + 0.5 * random.normal(size=900)
        found = ppi_difference(
            (first[:120], second[:120]), (said[0][:120], said[1][:120]), (said[0][120:], said[1][120:])
        )
        covered += found.estimate.low <= 0.3 <= found.estimate.high
    assert 0.93 <= covered / 600 <= 0.97
