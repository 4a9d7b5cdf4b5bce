"""Selecting rows: which of them the threshold is learnt from, which are counted beside it, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.judge.selecting import select
from llmframe.stats.selective import certified_threshold, fewest_gold


def judged(n: int = 200, *, wrong: int = 20, **changes) -> pd.DataFrame:
    """Rows of falling confidence whose last `wrong` answers are wrong; all have gold."""
    rows = pd.DataFrame(
        {
            "text": [f"text {at}" for at in range(n)],
            "gold": ["p"] * n,
            "label": ["p"] * (n - wrong) + ["n"] * wrong,
            "confidence": [1 - at / 1000 for at in range(n)],
            "error": [None] * n,
        }
    )
    return rows.assign(**changes)


def test_the_threshold_is_the_one_that_the_gold_rows_certify():
    frame = judged()
    found = select(frame, "gold", random=True)
    confidences, right = frame["confidence"].tolist(), (frame["label"] == frame["gold"]).tolist()
    assert found.certificate == certified_threshold(confidences, right)
    assert (found.name, found.confidence, found.error) == ("label", "confidence", "error")
    assert (found.n, found.kept, found.failed, found.missing) == (200, found.certificate.kept, 0, 0)
    # all right answers are surer than all wrong ones
    assert (found.auroc, found.curve.excess) == (1.0, pytest.approx(0.0))
    assert found.notes == ()


def test_rows_without_gold_count_for_the_coverage_alone():
    # gold in every other row: half as much to learn from, and twice as many rows that stand
    frame = judged(400, wrong=0)
    frame.loc[::2, "gold"] = None
    found = select(frame, "gold", random=True)
    assert (found.certificate.n, found.gold_rows) == (200, 200)
    assert found.certificate.kept == 200
    # the surest row has no gold and stands; the least sure one with gold is the last
    assert (found.kept, found.coverage) == (400, 1.0)


def test_failed_and_empty_rows_never_stand_and_are_counted():
    frame = judged(120, wrong=0)
    frame.loc[0, ["label", "confidence", "error"]] = [None, math.nan, "timeout: late"]
    frame.loc[1, "confidence"] = math.nan
    frame.loc[2, "label"] = None
    found = select(frame, "gold", random=True)
    assert (found.n, found.kept, found.failed, found.missing) == (120, 117, 1, 2)
    assert (found.gold_rows, found.certificate.n) == (120, 117)
    assert found.needs_review(frame)["text"].tolist() == ["text 0", "text 1", "text 2"]


def test_an_answer_with_an_error_beside_it_does_not_stand():
    frame = judged(120, wrong=0)
    frame.loc[0, "error"] = "invalid: not one of the labels"
    assert select(frame, "gold", random=True).kept == 119


def test_gold_may_be_values_and_the_columns_be_named():
    frame = judged().rename(columns={"confidence": "sure"})
    frame["answer"] = frame.pop("label")
    with pytest.raises(UsageError, match="name the one with the answers"):
        select(frame, frame["gold"], random=True)
    with pytest.raises(UsageError, match=r"the confidence of 'answer' is missing.*`confidence=\.\.\.`"):
        select(frame, frame["gold"], random=True, field="answer")
    found = select(frame, frame["gold"].tolist(), random=True, field="answer", confidence="sure")
    assert (found.name, found.confidence) == ("answer", "sure")
    assert found.threshold == select(judged(), "gold", random=True).threshold


def test_a_calibrated_confidence_is_the_one_that_is_cut_and_comes_with_a_warning():
    frame = judged()
    frame["confidence_raw"] = frame["confidence"]
    frame["confidence"] = frame["confidence"] ** 2
    found = select(frame, "gold", random=True)
    assert found.confidence == "confidence"
    assert found.threshold == pytest.approx(select(judged(), "gold", random=True).threshold ** 2)
    assert found.notes == ("the confidences are calibrated: none of these gold rows may have taught the calibration",)
    assert select(frame, "gold", random=True, confidence="confidence_raw").notes == ()


def test_gold_that_is_spelt_otherwise_is_noted():
    found = select(judged(gold="positive"), "gold", random=True, field="label")
    assert found.notes == ("no value of the gold is among the answers: is it spelt otherwise?",)
    assert math.isnan(found.threshold)
    assert (found.kept, found.coverage) == (0, 0.0)
    assert math.isnan(found.auroc)


def test_where_nothing_is_certified_all_rows_need_review():
    frame = judged(wrong=200)
    found = select(frame, "gold", random=True, field="label")
    assert found.keep(frame).empty
    assert len(found.needs_review(frame)) == 200


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "takes known answers of a random sample of all rows; say `random=True`"),
        ({"random": False}, r"a random sample of all rows \(`random=False`\)"),
        ({"random": True, "tuned": True}, "split the known rows in two before tuning"),
        ({"random": True, "target_error": 0.01}, "an error of at most 1 % takes at least 230 known answers"),
        ({"random": True, "target_error": 10}, "`target_error` is between 0 and 1, got 10; 0.05 is 5 %"),
        ({"random": True, "delta": 1.0}, "`delta` is between 0 and 1, got 1.0"),
        ({"random": True, "confidence": "confidenc"}, "'confidenc' is absent; did you mean 'confidence'"),
        ({"random": True, "field": "lable"}, "no column 'lable'; did you mean 'label'"),
    ],
    ids=["not said", "not random", "tuned on", "too little", "percent", "no delta", "no confidence", "no answer"],
)
def test_what_carries_no_promise_is_refused_with_what_to_do(said, message):
    with pytest.raises(UsageError, match=message):
        select(judged(), "gold", **said)


@pytest.mark.parametrize("known", [0, 1, 2, 44])
def test_gold_that_could_certify_nothing_is_refused_with_the_number_it_takes(known):
    assert fewest_gold(0.05, 0.1) == 45
    gold = ["p"] * known + [None] * (200 - known)
    with pytest.raises(UsageError, match=f"at least 45 known answers, there are {known}; label more"):
        select(judged(gold=gold), "gold", random=True, field="label")


def test_a_series_and_a_frame_without_a_usable_row_are_refused():
    with pytest.raises(UsageError, match="not a Series"):
        select(judged()["label"], ["p"] * 200, random=True)
    with pytest.raises(UsageError, match="no row has both an answer in 'label' and a confidence in 'confidence'"):
        select(judged(confidence=math.nan), "gold", random=True, field="label")
    with pytest.raises(UsageError, match="collect it first"):
        select(pl.from_pandas(judged()).lazy(), "gold", random=True)


def test_the_promise_holds_for_the_rows_that_have_no_gold():
    """The whole way: of the rows that stand, more than the target is wrong in at most delta of the samples."""
    random = np.random.default_rng(21)
    n, broken, kept = 2000, 0, []
    sure = random.random(n)
    right = random.random(n) < 1 / (1 + np.exp(1 - 5 * sure))
    frame = pd.DataFrame({"label": np.where(right, "p", "n"), "confidence": sure})
    for _ in range(40):
        gold = np.where(random.permutation(n) < 400, "p", None)
        found = select(frame, gold, random=True, target_error=0.1)
        stands = sure >= found.threshold
        broken += bool(stands.any()) and float(1 - right[stands].mean()) > 0.1
        kept.append(found.coverage)
        assert found.kept == stands.sum()
    # 40 draws of a chance of at most .1: 8 or more in one of 20 series
    assert broken <= 7
    assert np.mean(kept) > 0.3


def test_a_frame_without_any_gold_is_told_that_and_not_that_columns_lack():
    frame = pd.DataFrame({"label": ["p", "q"], "label_confidence": [0.9, 0.8], "gold": [None, None]})
    with pytest.raises(UsageError, match="at least 45 known answers, there are 0"):
        select(frame, "gold", random=True)


def test_a_databases_decimal_confidences_are_numbers_and_text_is_told():
    sure = [0.9] * 100 + [0.4] * 100
    frame = pd.DataFrame({"label": ["a"] * 200, "human": ["a"] * 100 + ["b"] * 100, "confidence": sure})
    given = {"field": "label", "random": True}
    decimal = frame.assign(confidence=[Decimal(str(each)) for each in sure])
    for data in (decimal, pl.DataFrame(decimal.to_dict("list"))):
        chosen = select(data, "human", **given)
        assert (chosen.threshold, chosen.kept, len(chosen.keep(data))) == (0.9, 100, 100)
    with pytest.raises(UsageError, match=r"the confidences in 'confidence' must be numbers .* and are text"):
        select(frame.assign(confidence=list(map(str, sure))), "human", **given)
