"""Comparing runs: numbers by hand, and what can't be told is said."""

from __future__ import annotations

import json
import math

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.judge.compare import compare_runs

TEXTS = ["a", "b", "c", "d", "e", "f"]
GOLD = ["p", "p", "n", "n", "p", None]


def run(labels, *, errors=None, meta=None, **more):
    """An output frame as map gives it."""
    columns = {"text": TEXTS, "label": labels, **more, "error": errors or [None] * 6}
    return pd.DataFrame(columns if meta is None else columns | {"llm_meta": meta})


def meta(source="live", usd=0.001, seconds=1.0, tokens=10):
    return {"source": source, "usd": usd, "seconds": seconds, "input_tokens": tokens, "output_tokens": 1}


A = run(["p", "p", "n", "p", "n", "p"])
B = run(["p", "n", "n", "n", "p", "p"])


def test_flips_are_counted_listed_and_tested():
    column = compare_runs(A, B)["label"]
    # rows 1, 3, 4: p -> n twice, n -> p once; 3 of 6
    assert (column.both, column.flips, column.flip_rate, column.agreement) == (6, 3, 0.5, 0.5)
    assert column.rows == (1, 3, 4)
    assert [(flip.before, flip.after, flip.count) for flip in column.table] == [("p", "n", 2), ("n", "p", 1)]
    # shares: a 4/6 p, b 3/6 p: chance 1/3 + 1/6 = .5, hence kappa 0
    assert column.kappa == pytest.approx(0.0)
    # 1 of 3 one way: 2 * (1 + 3) / 8 = 1
    assert column.shift.p == column.symmetry.p == 1.0


def test_gold_decides_by_mcnemar_on_rows_that_have_it():
    column = compare_runs(A, B, gold=GOLD)["label"]
    # gold rows 0-4; a is right in 0, 1, 2, b in 0, 2, 3, 4
    assert (column.gold.n, column.gold_rows, column.gold.right_a, column.gold.right_b) == (5, 5, 3, 4)
    assert (column.gold.only_a, column.gold.only_b) == (1, 2)
    assert column.gold.mcnemar_p == 1.0
    assert "no difference can be told on 5 rows with gold: +20.0 points" in compare_runs(A, B, gold=GOLD).verdict


def test_a_better_run_is_called_by_its_name():
    # 6 pairs one way: p = 2 / 64 = .03125
    found = compare_runs(run(["n"] * 6), run(["p"] * 6), gold=["p"] * 6, runs=("old", "new"))
    assert found.verdict.startswith("label: new is better on gold: +100.0 points from old to new, 95 % interval ")
    assert found.verdict.endswith("McNemar p = 0.031")
    back = compare_runs(run(["p"] * 6), run(["n"] * 6), gold=["p"] * 6, runs=("old", "new"))
    assert "old is better on gold: -100.0 points" in back.verdict


def test_gold_may_be_a_column_of_either_frame():
    held = A.assign(truth=GOLD)[["text", "truth", "label", "error"]]
    for pair in ((held, B), (A, B.assign(truth=GOLD))):
        assert compare_runs(*pair, gold="truth")["label"].gold.n == 5


def test_failed_and_missing_rows_are_counted_beside_and_never_flips():
    failed = run(["p", None, "n", None, "p", "p"], errors=[None, "timeout: late", None, None, None, None])
    column = compare_runs(failed, B, on="label", gold=GOLD)["label"]
    assert (column.both, column.failed_a, column.missing_a, column.failed_b) == (4, 1, 1, 0)
    assert column.flips == 0
    assert (column.gold.n, column.gold_rows) == (3, 5)
    text = repr(compare_runs(failed, B, on="label", gold=GOLD))
    assert "4 by both (1 failed in a, 1 without a value in a)" in text


def test_a_value_beside_an_error_counts_as_failed():
    late = run(["p"] * 6, errors=["timeout: late"] * 6)
    assert compare_runs(late, B, on="label")["label"].both == 0
    assert compare_runs(late, B, on="label").verdict == "label: no row was answered by both runs"


def test_other_rows_are_refused_and_the_rows_named():
    with pytest.raises(UsageError, match="column 'text' differs in rows 0, 5"):
        compare_runs(A.assign(text=["x", "b", "c", "d", "e", "y"]), B, on="label")
    with pytest.raises(UsageError, match="first frame has 6 rows, the second 5"):
        compare_runs(A, B.iloc[:5])
    with pytest.raises(UsageError, match="indexes differ in rows 0, 1, 2, 3, 4 and 1 more"):
        compare_runs(A, B.set_axis(range(1, 7)))


def test_a_reason_before_the_label_is_told_apart_by_naming_the_inputs():
    reasons = [["r1"] * 6, ["r2"] * 6]
    frames = [
        pd.DataFrame({"text": TEXTS, "reason": reason, "label": frame["label"], "error": [None] * 6})
        for reason, frame in zip(reasons, (A, B), strict=True)
    ]
    with pytest.raises(UsageError, match="column 'reason' differs"):
        compare_runs(*frames, on="label")
    assert compare_runs(*frames, on="label", inputs=["text"])["label"].flips == 3


def test_several_candidates_are_listed():
    frames = [frame.assign(topic=frame["label"])[["text", "label", "topic", "error"]] for frame in (A, B)]
    with pytest.raises(UsageError, match=r"one of \['label', 'topic'\]"):
        compare_runs(*frames)
    assert [column.name for column in compare_runs(*frames, on=["label", "topic"]).columns] == ["label", "topic"]


def test_fields_with_a_confidence_of_their_own_are_what_is_compared():
    frames = [
        frame.assign(topic=frame["label"], label_confidence=0.9, topic_confidence=0.8, error=None) for frame in (A, B)
    ]
    assert [column.name for column in compare_runs(*frames).columns] == ["label", "topic"]


def test_runs_that_are_equal_have_no_flips_and_say_so():
    found = compare_runs(A, A)
    assert found["label"].flips == 0
    assert found["label"].kappa == pytest.approx(1.0)
    assert found.verdict == "label: no value differs in the 6 rows that both answered"
    assert found["label"].shift.reason == "no row differs"


def test_numbers_have_a_mean_difference():
    found = compare_runs(run([1, 2, 3, 4, 5, 5]), run([2, 3, 4, 5, 5, 5]), on="label")["label"]
    # four rise by 1, two stay: 4/6
    assert found.numbers.mean == pytest.approx(4 / 6)
    assert compare_runs(A, B)["label"].numbers is None


def test_confidences_are_paired():
    found = compare_runs(run(list("pppppp"), confidence=[0.5] * 6), run(list("pppppp"), confidence=[0.7] * 5 + [0.9]))
    assert found["label"].confidence.mean == pytest.approx((5 * 0.2 + 0.4) / 6)
    assert compare_runs(A, B)["label"].confidence is None


def test_costs_are_compared_by_the_rows_that_were_asked():
    first = run(["p"] * 6, meta=[meta(usd=0.002)] * 6)
    second = run(
        ["p"] * 6, meta=[meta(usd=0.001, seconds=3.0)] * 3 + [meta("cache", usd=0.0, seconds=0.0, tokens=0)] * 3
    )
    found = compare_runs(first, second)
    assert (found.spending_a.usd, found.spending_b.usd) == (pytest.approx(0.012), pytest.approx(0.003))
    assert (found.spending_b.asked, found.spending_b.cached) == (3, 3)
    assert found.usd_difference == pytest.approx(-0.001)
    assert (found.seconds_a, found.seconds_b, found.latency.n) == (1.0, 3.0, 3)


def test_a_run_from_the_cache_is_not_called_cheaper():
    found = compare_runs(run(["p"] * 6, meta=[meta()] * 6), run(["p"] * 6, meta=[meta("cache", usd=0.0)] * 6))
    assert found.usd_difference is None
    assert "b unknown: all 6 answers were kept from an earlier run" in repr(found)


def test_unknown_costs_are_none():
    found = compare_runs(A, B)
    assert (found.spending_a.usd, found.usd_difference, found.seconds_a) == (None, None, None)
    assert "unknown: map with `meta=True`" in repr(found)


def test_the_flipped_rows_come_as_a_frame_of_the_same_kind():
    found = compare_runs(A, B)
    assert found.flipped(A)["text"].tolist() == ["b", "d", "e"]
    assert found.flipped(pl.DataFrame({"text": TEXTS}), on="label")["text"].to_list() == ["b", "d", "e"]
    with pytest.raises(UsageError, match="5 rows"):
        found.flipped(A.iloc[:5])
    with pytest.raises(UsageError, match="isn't compared"):
        found["lable"]


def test_many_different_values_have_no_table():
    values = [str(number) for number in range(60)]
    found = compare_runs(
        pd.DataFrame({"v": values, "error": None}), pd.DataFrame({"v": values[::-1], "error": None}), on="v"
    )["v"]
    assert (found.flips, found.table) == (60, ())
    assert math.isnan(found.kappa)
    assert "60 different values" in found.notes[0]


def test_no_rows_are_unknown_everywhere():
    found = compare_runs(A.iloc[:0], B.iloc[:0], on="label", gold=[])
    assert math.isnan(found["label"].flip_rate)
    assert found.verdict == "label: no row was answered by both runs"
    json.loads(found.to_json())


def test_gold_that_is_spelt_otherwise_is_noted():
    notes = compare_runs(A, B, gold=["P"] * 6)["label"].notes
    assert any("spelt otherwise" in note for note in notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": "lable"}, "did you mean 'label'"),
        ({"on": []}, "`on` must be"),
        ({"on": ["label", "text"], "gold": ["p"] * 6}, "dict from column"),
        ({"on": "label", "gold": {"topic": ["p"] * 6}}, "isn't compared"),
        ({"on": "label", "gold": "truth"}, "names no column"),
        ({"on": "label", "gold": ["p"]}, "1 values"),
        ({"on": "label", "gold": 3}, "name of a column or a sequence"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        compare_runs(A, B, **arguments)


def test_series_are_refused():
    with pytest.raises(UsageError, match="not Series"):
        compare_runs(A["label"], B["label"])
