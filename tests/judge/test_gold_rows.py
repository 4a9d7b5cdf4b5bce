"""Rows with gold: which are used, which are refused, and which share a prompt."""

from __future__ import annotations

import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.gold_rows import GoldRows, check_enough, gold_rows, label_name


def frame(**changes):
    columns = {
        "text": ["a", "b", "a", "c"],
        "gold": ["p", "n", "p", None],
        "label": ["p", "p", "n", "p"],
        "confidence": [0.9, 0.6, 0.7, 0.8],
        "error": [None] * 4,
    }
    return wrap(pd.DataFrame(columns | changes))


SHARES = [{"n": 0.1, "p": 0.9}, {"n": 0.4, "p": 0.6}, {"n": 0.7, "p": 0.3}, {"n": 0.2, "p": 0.8}]


def test_rows_need_gold_an_answer_and_a_confidence():
    columns, rows = gold_rows(frame(), "gold")
    assert columns.value == "label"
    assert (rows.confidences, rows.right) == ((0.9, 0.6, 0.7), (True, False, False))
    _, rows = gold_rows(frame(confidence=[None, 0.6, 0.7, 0.8], error=[None, "timeout: late", None, None]), "gold")
    assert rows.confidences == (0.7,)


def test_equal_prompts_are_one_group():
    _, rows = gold_rows(frame(), "gold")
    assert rows.groups[0] == rows.groups[2] != rows.groups[1]
    meta = [{"fingerprint": each} for each in ("x", "y", "z", "z")]
    _, rows = gold_rows(frame(llm_meta=meta), "gold")
    assert rows.groups == ("x", "y", "z")
    _, rows = gold_rows(wrap([{"label": "p", "confidence": 0.5}] * 2), ["p", "n"], field="label")
    assert rows.groups == (0, 1)


def test_distributions_come_with_the_places_of_answer_and_gold():
    _, rows = gold_rows(frame(distribution=SHARES), "gold")
    assert (rows.labels, rows.chosen, rows.gold) == (("n", "p"), (1, 1, 0), (1, 0, 1))
    assert rows.distributions[0] == (0.1, 0.9)


def test_rows_without_a_distribution_are_left_out_and_noted():
    _, rows = gold_rows(frame(distribution=[None, *SHARES[1:]]), "gold")
    assert rows.confidences == (0.6, 0.7)
    assert rows.notes == ("1 rows without a distribution are left out",)
    _, rows = gold_rows(frame(distribution=[None] * 4), "gold")
    assert (rows.labels, len(rows.right)) == ((), 3)


def test_a_calibrated_run_is_learnt_from_by_its_raw_confidence_alone():
    _, rows = gold_rows(frame(confidence_raw=[0.5, 0.4, 0.3, 0.2], distribution=SHARES), "gold")
    assert (rows.confidences, rows.labels) == ((0.5, 0.4, 0.3), ())
    assert "calibrated run" in rows.notes[0]


def test_bools_are_named_as_json_names_them():
    assert [label_name(value) for value in ("p", True, 3, None)] == ["p", "true", "3", "null"]
    shares = [{"true": 0.8, "false": 0.2}] * 4
    _, rows = gold_rows(
        frame(gold=[True, False, True, None], label=[True, True, True, False], distribution=shares), "gold"
    )
    assert rows.gold == (0, 1, 0)


def test_whole_numbers_that_pandas_holds_as_floats_because_of_gaps_are_the_labels_they_are():
    levels = {"label": [1, 2, 2, 1], "gold": [1.0, 1.0, 2.0, None]}
    _, rows = gold_rows(frame(**levels, distribution=[{"1": 0.6, "2": 0.4}, *[{"1": 0.2, "2": 0.8}] * 3]), "gold")
    assert (rows.labels, rows.chosen, rows.gold) == (("1", "2"), (0, 1, 1), (0, 0, 1))
    assert rows.right == (True, False, True)
    assert [label_name(value) for value in (1.0, -2.0, 0.5)] == ["1", "-2", "0.5"]


def test_gold_that_no_answer_can_be_is_refused():
    with pytest.raises(UsageError, match="1 gold values are none of the labels"):
        gold_rows(frame(gold=["P", "n", "p", None], distribution=SHARES), "gold")


def test_a_frame_without_confidences_says_how_to_get_one():
    with pytest.raises(UsageError, match=r'has no value.*confidence="logprobs"'):
        gold_rows(frame(confidence=[None] * 4), "gold", field="label")
    with pytest.raises(UsageError, match="is missing"):
        gold_rows(wrap([{"label": "p"}]), ["p"], field="label")


def test_of_several_columns_the_last_before_the_confidence_holds_the_answers():
    said = {"confidence": 0.5, "confidence_source": "logprobs", "error": None, "reviewed": "p"}
    assert gold_rows(wrap([{"human": "p", "label": "p", **said}]), ["p"])[0].value == "label"


def test_in_a_frame_of_somebody_elses_people_may_stand_behind_the_answers():
    # the gold is a part of `human`, which would be right in every row
    row = {"label": "n", "human": "p", "confidence": 0.5}
    with pytest.raises(UsageError, match=r"several columns hold values of the gold: \['label', 'human'\].*field="):
        gold_rows(wrap([row, {**row, "label": "p"}]), ["p", None])
    assert gold_rows(wrap([row, {**row, "label": "p"}]), ["p", None], field="label")[1].right == (False,)


def test_a_column_of_answers_that_cannot_be_told_is_asked_for():
    row = {"label": "p", "topic": "p", "label_confidence": 0.5, "topic_confidence": 0.5, "error": None}
    with pytest.raises(UsageError, match=r"several columns.*\['label', 'topic'\].*field="):
        gold_rows(wrap([row]), ["p"])
    with pytest.raises(UsageError, match="no column with a confidence holds values of the gold"):
        gold_rows(frame(), ["x"] * 4)


def rows_of(n: int, right: int) -> GoldRows:
    return GoldRows(confidences=(0.5,) * n, right=(True,) * right + (False,) * (n - right), groups=tuple(range(n)))


def test_too_little_is_refused():
    check_enough(rows_of(30, 20), folds=5)
    with pytest.raises(UsageError, match=r"29 rows have gold.*at least 30"):
        check_enough(rows_of(29, 20), folds=5)
    with pytest.raises(UsageError, match="all 30 rows with gold are right"):
        check_enough(rows_of(30, 30), folds=5)
    with pytest.raises(UsageError, match="all 30 rows with gold are wrong"):
        check_enough(rows_of(30, 0), folds=5)
    with pytest.raises(UsageError, match="1 different prompts"):
        check_enough(GoldRows(confidences=(0.5,) * 30, right=(True, False) * 15, groups=(0,) * 30), folds=5)
