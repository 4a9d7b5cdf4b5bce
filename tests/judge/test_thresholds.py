"""Thresholds that keep their target, and rows that go on."""

from __future__ import annotations

import math
import random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import ERROR_KINDS, LlmframeWarning, UsageError
from llmframe.frames import wrap
from llmframe.judge.columns import AnswerColumns
from llmframe.judge.thresholds import STAYS, UNASKED, Decision, Gold, checked_gold, decided, goes_on, warn_of_none
from llmframe.judge.tiers import Cascade

COLUMNS = AnswerColumns(value="label", error="error", confidence="confidence", shown="confidence")


def judged(seed: int, rows: int) -> pd.DataFrame:
    """Confidences spread evenly from 0.5 to 1, right as often as they say."""
    draw = random.Random(seed)
    sure = [0.5 + draw.random() / 2 for _ in range(rows)]
    return pd.DataFrame(
        {
            "label": ["a"] * rows,
            "confidence": sure,
            "error": pd.Series([None] * rows, dtype=object),
            "gold": ["a" if draw.random() < each else "b" for each in sure],
        }
    )


def decision(frame: pd.DataFrame, *, tier: int = 0, tiers: int = 1, **said: Any) -> Decision:
    wrapped = wrap(frame)
    gold = Gold.of(wrapped, "gold", tiers=tiers)
    return decided(wrapped, COLUMNS, gold, Cascade(["x", "y"], **said), tier=tier, tiers=tiers)


def test_the_target_is_broken_in_at_most_delta_of_the_runs():
    # above a threshold t of these confidences (1 - t) / 2 of all answers are wrong
    found = [decision(judged(seed, 300), target_error=0.12, delta=0.1).threshold for seed in range(150)]
    broken = sum((1 - threshold) / 2 > 0.12 for threshold in found if math.isfinite(threshold))
    # 15 of 150 are allowed
    assert broken <= 15
    assert sum(map(math.isfinite, found)) > 80  # a threshold is found in most runs, so the bound is no empty one


def test_failed_rows_and_those_without_gold_or_confidence_teach_nothing():
    frame = judged(1, 200)
    frame.loc[0:19, "gold"] = None
    frame.loc[20:29, "confidence"] = math.nan
    frame.loc[30:34, "error"] = "timeout: after 60 s"
    assert decision(frame, target_error=0.2).certificate.n == 200 - 35


def test_each_of_several_tiers_has_gold_of_its_own_and_a_part_of_delta():
    frame = judged(2, 301)
    frame.loc[0, "gold"] = None
    first, second = (decision(frame, tier=tier, tiers=2, target_error=0.2).certificate for tier in (0, 1))
    assert (first.n, second.n) == (150, 150)
    assert (first.delta, second.delta) == (0.05, 0.05)
    parts = Gold.of(wrap(frame), "gold", tiers=2).parts
    assert parts == Gold.of(wrap(frame), "gold", tiers=2).parts
    assert parts[1:151].count(0) not in (0, 75, 150)  # by chance, not by place


def test_without_a_certificate_all_rows_go_on_and_it_is_said():
    frame = judged(3, 100)
    frame["gold"] = "b"
    found = decision(frame)
    assert found.threshold == math.inf
    with pytest.warns(
        LlmframeWarning, match="all rows of 'x' go on to 'y'. No threshold is certified .* take a better"
    ):
        warn_of_none("x", "y", found.certificate)


@pytest.mark.parametrize(
    ("row", "goes"),
    [
        (("a", 0.8, "logprobs", None), False),
        (("a", 0.79, "logprobs", None), True),
        (("a", None, "low_label_mass", None), True),
        (("a", math.nan, "no_logprobs", None), True),
        ((None, None, "tie", None), True),
        ((None, 0.9, "logprobs", None), False),  # a null that is an answer
        ((None, None, None, None), False),  # wasn't asked
        ((None, None, None, "invalid: no label"), True),
        ((None, None, None, "null: missing value in 't'"), False),
        ((None, None, None, "budget: 1 dollar is spent"), False),
    ],
)
def test_a_row_goes_on_when_the_model_is_unsure_or_fails(row: tuple[Any, ...], *, goes: bool):
    assert goes_on(*row, threshold=0.8) is goes


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_sends_on_more(sure: float, one: float, other: float):
    low, high = sorted((one, other))
    assert goes_on("a", sure, "votes", None, threshold=low) <= goes_on("a", sure, "votes", None, threshold=high)


def test_infinity_sends_everything_on():
    assert goes_on("a", 1.0, "votes", None, threshold=math.inf)


def test_errors_that_end_a_row_are_known_kinds():
    assert set(ERROR_KINDS) > STAYS > UNASKED


GOOD = pd.DataFrame({"t": ["x"] * 120, "gold": ["a"] * 100 + [None] * 20, "few": ["a"] * 40 + [None] * 80})


def check(gold: object, *, frame: Any = GOOD, tiers: int = 1, labels: Any = ("a", "b"), **said: Any) -> None:
    checked_gold(frame, list(frame.columns), gold, Cascade(["x", "y"], **said), labels=labels, tiers=tiers)


def test_gold_that_carries_a_certificate_passes():
    check("gold")
    check(None, threshold=0.9)
    check("few", threshold=0.9)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"gold": None}, "name their column, `gold=...`, null where unknown, or say a threshold by hand"),
        ({"gold": "glod"}, "`gold` is the name of a column with known answers, got 'glod'; did you mean 'gold'"),
        ({"gold": ["a"] * 120}, "`gold` is the name of a column with known answers"),
        ({"gold": "gold", "labels": ("A", "B")}, "100 of 100 known answers in 'gold' are none of 'A', 'B'; spell them"),
        ({"gold": "gold", "random": False}, "known answers of a random sample of all rows .*otherwise draw rows"),
        ({"gold": "gold", "tuned": True}, "known answers that nothing was tuned on"),
        # 45 rows without an error certify 5 % at 0.1: 1 - 0.1 ** (1 / 45) is 0.0499
        ({"gold": "few"}, "takes at least 45 known answers, there are 40; label more rows"),
        ({"gold": "gold", "tiers": 2}, "takes at least 59 known answers, there are 50"),
    ],
    ids=["none", "typo", "values", "labels", "not random", "tuned", "few", "few for two"],
)
def test_gold_that_can_t_is_refused_before_anything_is_sent(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        check(**said)
