"""How many rows a question takes: by the published formulas, and so that it is answered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.sizes import (
    detectable_difference,
    rows_for_difference,
    rows_for_mcnemar,
    rows_for_mean,
    rows_for_share,
    with_judge,
)


def test_a_share_within_five_points_takes_385_rows():
    # 1.95996² * 0.25 / 0.0025 = 384.15
    assert rows_for_share(0.05) == 385
    # 3.84146 * 0.1 * 0.9 / 0.0004 = 864.3
    assert rows_for_share(0.02, share=0.1) == 865


def test_a_mean_takes_rows_by_the_square_of_its_spread():
    # (1.95996 * 1.2 / 0.2)² = 138.3
    assert rows_for_mean(0.2, sd=1.2) == 139
    assert rows_for_mean(100, sd=1.2) == 1


def test_a_difference_of_half_a_deviation_takes_32_pairs():
    # ((1.95996 + 0.84162) / 0.5)² = 31.4
    assert rows_for_difference(0.5, sd=1) == rows_for_difference(-0.5, sd=1) == 32


def test_mcnemar_takes_what_connor_tells():
    # d = 0.3, e = 0.1: (1.95996 √0.3 + 0.84162 √0.29)² / 0.01 = (1.07351 + 0.45323)² / 0.01 = 233.1
    assert rows_for_mcnemar(0.1, 0.2) == rows_for_mcnemar(0.2, 0.1) == 234


def test_the_detectable_difference_is_the_inverse():
    n = rows_for_difference(0.2, sd=0.9)
    assert detectable_difference(n, sd=0.9) <= 0.2 < detectable_difference(n - 1, sd=0.9)
    assert math.isnan(detectable_difference(1, sd=0.9))


def test_a_judge_saves_known_answers():
    # 385 * 0.51 / (1 - 385 * 0.49 / 10,000) = 200.1
    assert with_judge(385, correlation=0.7, judged=10_000) == 201
    # a judge of a million rows: 385 * 0.51 = 196.4
    assert with_judge(385, correlation=0.7, judged=1_000_000) == 197


@pytest.mark.parametrize("said", [{"correlation": 0}, {"correlation": -0.8}, {"judged": 385}, {"judged": 0}], ids=str)
def test_a_judge_without_use_saves_none(said: dict[str, Any]):
    assert with_judge(385, **{"correlation": 0.7, "judged": 10_000, **said}) == 385


@given(rows=st.integers(1, 2000), correlation=st.floats(0.05, 1), judged=st.integers(2001, 100_000))
def test_with_a_judge_the_promised_variance_is_met(rows: int, correlation: float, judged: int):
    n = with_judge(rows, correlation=correlation, judged=judged)
    assert 1 <= n <= rows
    assert (1 - correlation**2 * (judged - n) / judged) / n <= 1 / rows + 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rows_for_share(5), "`half_width` is above 0 and below 0.5, got 5"),
        (lambda: rows_for_share(0.05, share=1), "`share` is above 0 and below 1"),
        (lambda: rows_for_share(0.05, level=95), "`level` is between 0 and 1"),
        (lambda: rows_for_mean(0, sd=1), "`half_width` is above 0, got 0"),
        (lambda: rows_for_mean(1, sd=math.nan), "`sd` is above 0, got nan"),
        (lambda: rows_for_difference(0, sd=1), "`difference` is above 0"),
        (lambda: rows_for_difference(1, sd=1, power=0.4), "`power` is above 0.5 and below 1"),
        (lambda: rows_for_mcnemar(0.1, 0.1), "not equal"),
        (lambda: rows_for_mcnemar(0.6, 0.5), "a sum of at most 1"),
        (lambda: rows_for_mcnemar(-0.1, 0.5), "shares of items"),
        (lambda: with_judge(10, correlation=2, judged=100), "`correlation` is between -1 and 1"),
        (lambda: with_judge(-1, correlation=0.2, judged=100), "are counts"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_cannot_be_meant_is_refused(call: Any, message: str):
    with pytest.raises(UsageError, match=message):
        call()


def test_the_told_number_of_pairs_has_the_told_power():
    """2,000 runs: the share of McNemar tests below 0.05 is known to ±0.02."""
    random = np.random.default_rng(2)
    n = rows_for_mcnemar(0.1, 0.2)
    counts = random.multinomial(n, [0.1, 0.2, 0.7], size=2000)
    b, c = counts[:, 0], counts[:, 1]
    found = ((b - c) ** 2 / (b + c) > 3.8415).mean()
    assert 0.77 <= found <= 0.84
