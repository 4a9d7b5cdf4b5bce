"""Shares corrected by a judge's error rates: equal to the published formulas, refused where the judge is a coin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.stats.rogan_gladen import lang_reiczigel, rogan_gladen


@pytest.mark.parametrize(
    ("said", "low", "high", "error"),
    [
        ((0.66, 0.7, 0.9, 2000, 40, 60), 0.46721725962497646, 0.7296017744094025, 0.06693605516583),
        ((0.05, 0.96, 0.75, 500, 50, 8), -0.11974925354907609, 0.0881686061220584, 0.05304124496959231),
        ((0.9, 0.6, 0.95, 100, 10, 190), 0.7291597504831491, 1.0117078172132712, 0.07207991293687674),
        ((0.5, 1.0, 1.0, 1000, 30, 30), 0.44382213970516077, 0.5561778602948393, 0.028662700303660194),
    ],
    ids=["balanced", "rare", "few of one class", "no error seen"],
)
def test_the_interval_equals_the_published_one(said: tuple[Any, ...], low: float, high: float, error: float):
    """Frozen from the code of arXiv 2511.21140, before its ends are held in [0, 1]."""
    share, specificity, sensitivity, n, negative, positive = said
    found = lang_reiczigel(share, specificity, sensitivity, n=n, negative=negative, positive=positive)
    assert found == pytest.approx((low, high, error), abs=1e-9)


def test_the_share_is_moved_by_the_error_rates():
    # q1 = 45/50, q0 = 40/50, p = 0.5: (0.5 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.3 / 0.7
    found = rogan_gladen([True] * 50 + [False] * 50, [True] * 45 + [False] * 45 + [True] * 10, [True, False] * 500)
    assert (found.specificity, found.sensitivity) == (0.8, 0.9)
    assert found.estimate.value == pytest.approx(3 / 7)
    assert (found.gold.value, found.naive.value, found.n, found.rest) == (0.5, 0.5, 100, 1000)
    assert found.estimate.reason == ""


def test_the_share_and_its_interval_end_at_zero():
    known = [True] * 8 + [False] * 50
    found = rogan_gladen(known, [True] * 6 + [False] * 50 + [True] * 2, [True] + [False] * 99)
    # p = 0.01 is below the false positives of 2/50: a share below 0 is 0
    assert found.estimate.value == found.estimate.low == 0
    assert 0 < found.estimate.high < 0.2
    assert "58 known answers are few" in found.estimate.reason


def test_gold_of_one_class_tells_no_error_rate():
    with pytest.raises(UsageError, match="two classes or more, all of these are True"):
        rogan_gladen([True] * 5, [True] * 5, [True])


def test_a_judge_like_a_coin_is_refused():
    with pytest.raises(UsageError, match=r"specificity 0.50 and sensitivity 0.60 sum to 1.10"):
        rogan_gladen([True] * 10 + [False] * 10, [True] * 6 + [False] * 4 + [True, False] * 5, [True, False])


@pytest.mark.parametrize(("known", "rest", "why"), [([], [True], "no known answer"), ([True, False], [], "no row")])
def test_without_rows_it_is_nan(known: list[bool], rest: list[bool], why: str):
    found = rogan_gladen(known, known, rest)
    assert math.isnan(found.estimate.value)
    assert why in found.estimate.reason


def test_two_known_answers_give_an_interval_that_says_nothing():
    # smoothed: q0 = q1 = 2/3 of 3 rows each, so that the standard error is about 0.8
    found = rogan_gladen([True, False], [True, False], [True, False] * 50)
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (0.5, 0.0, 1.0)


def test_known_answers_that_smoothing_makes_a_coin_give_no_interval():
    # q1 = 2/8 of 8 and q0 = 1/1: smoothed 3/10 + 2/3 < 1
    found = rogan_gladen([True] * 8 + [False], [True] * 2 + [False] * 7, [False] * 20)
    assert math.isnan(found.estimate.low)
    assert "label more of it" in found.estimate.reason


def test_one_answer_of_the_judge_must_stand_by_each_of_the_gold():
    with pytest.raises(UsageError, match="`gold` has 2 values and `judge` 1"):
        rogan_gladen([True, False], [True], [True])


@pytest.mark.parametrize("picked", [(75, 75), (120, 30)], ids=["by class", "few of the other class"])
def test_it_covers_where_gold_was_picked_by_class(picked: tuple[int, int]):
    """600 runs with a share of 0.3, which gold picked by class doesn't show."""
    random = np.random.default_rng(3)
    covered = gold = 0
    known = np.array([True] * picked[0] + [False] * picked[1])
    for _ in range(600):
        said = np.where(known, random.random(len(known)) < 0.85, random.random(len(known)) < 0.2)
        rest = random.random(1500) < 0.3 * 0.85 + 0.7 * 0.2
        found = rogan_gladen(known.tolist(), said.tolist(), rest.tolist())
        covered += found.estimate.low <= 0.3 <= found.estimate.high
        gold += found.gold.low <= 0.3 <= found.gold.high
    assert 0.93 <= covered / 600 <= 0.975
    assert gold == 0
