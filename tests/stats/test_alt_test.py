"""The alternative annotator test: by hand, by the paper's steps, and unknown with its reason."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from llmframe.errors import UsageError
from llmframe.stats.alt_test import FEWEST, alt_test


def rated(seed, spread, missing=0.1):
    """80 items, four people within a level of the truth, a judge within `spread` of it."""
    random = np.random.default_rng(seed)
    true = random.integers(1, 6, 80)

    def near(value, width):
        return int(np.clip(value + random.integers(-width, width + 1), 1, 5))

    humans = [[near(value, 1) if random.random() > missing else None for _ in range(4)] for value in true]
    return [near(value, spread) for value in true], humans


@pytest.mark.parametrize(
    ("seed", "spread", "scale", "winning", "advantage"),
    [
        # frozen from the paper's steps, written out apart: scores, ttest_1samp, the thresholds of Benjamini-Yekutieli
        (0, 0, "nominal", 1.0, 0.8831090873),
        (0, 0, "interval", 1.0, 0.9688564108),
        (1, 1, "nominal", 0.5, 0.8061373467),
        (1, 1, "interval", 0.75, 0.7822767535),
        (2, 3, "nominal", 0.0, 0.6571950705),
        (2, 3, "interval", 0.0, 0.5290096298),
    ],
)
def test_rates_are_those_of_the_papers_steps(seed, spread, scale, winning, advantage):
    found = alt_test(*rated(seed, spread), scale=scale, margin=0.15)
    assert found.winning_rate == winning
    assert found.advantage == pytest.approx(advantage, abs=1e-9)
    assert found.passed is (winning >= 0.5)


def test_wins_are_counted_by_hand():
    # the judge says "a" like person 0; person 1 differs in every fourth item, person 2 never
    n = 40
    humans = [["a", "b" if at % 4 == 0 else "a", "a"] for at in range(n)]
    found = alt_test(["a"] * n, humans)
    assert [each.n for each in found.people] == [n] * 3
    # against persons 0 and 2 both are equally near; against 1 the judge is nearer in 10 items, as near in 30
    assert [(each.judge, each.person) for each in found.people] == [(1.0, 1.0), (1.0, 0.75), (1.0, 1.0)]
    # leads 0 or -1: without spread p is 0, else the t test's
    leads = [-1.0] * 10 + [0.0] * 30
    assert [each.p for each in found.people] == [
        0.0,
        pytest.approx(ttest_1samp(leads, 0.2, alternative="less").pvalue),
        0.0,
    ]
    assert str(found) == "passed, won against 3 of 3 people, margin 0.2"


def test_a_judge_that_is_always_behind_wins_against_nobody():
    found = alt_test(["b"] * 40, [["a", "a"]] * 40)
    assert [(each.judge, each.person, each.p, each.won) for each in found.people] == [(0.0, 1.0, 1.0, False)] * 2
    assert not found.passed
    assert found.winning_rate == 0.0


def test_people_with_few_items_are_left_out():
    humans = [["a", "a", "a" if at < FEWEST - 1 else None] for at in range(60)]
    assert [each.place for each in alt_test(["a"] * 60, humans).people] == [0, 1]


@pytest.mark.parametrize("n", [0, 1, 2, 29])
def test_too_few_items_are_unknown(n):
    found = alt_test(["a"] * n, [["a", "a"]] * n)
    assert math.isnan(found.winning_rate)
    assert not found.passed
    assert str(found).startswith("unknown: nobody rated 30 items")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["winning_rate"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judge": ["a"]}, "`judge` has 1 items and `humans` 2"),
        ({"humans": [["a"], ["a"]]}, "give the ratings of two or more"),
        ({"margin": 1.0}, r"`margin` is in \[0, 1\)"),
        ({"rate": 0}, "`rate` is between 0 and 1"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(change, words):
    options = {"judge": ["a", "a"], "humans": [["a", "a"]] * 2} | change
    with pytest.raises(UsageError, match=words):
        alt_test(options.pop("judge"), options.pop("humans"), **options)
