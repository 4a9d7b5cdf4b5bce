"""Rows of two frames, and the column that is compared."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.rows import check_rows, compared_columns, differing, inputs_of, rows_text

A = wrap(
    pd.DataFrame({"id": [1, 2, 3, 4], "text": list("abcd"), "label": list("ppnn"), "why": list("wxyz"), "error": None})
)
B = wrap(
    pd.DataFrame({"id": [1, 2, 3, 4], "text": list("abcd"), "label": list("pnnn"), "why": list("qrst"), "error": None})
)


def test_the_only_label_that_differs_is_what_is_compared():
    assert compared_columns(A, B, inputs=None, but=None) == ["label"]


def test_inputs_stand_before_the_compared_column():
    assert inputs_of(A, B, ["label"], None) == ["id", "text"]
    assert inputs_of(A, B, ["label"], "id") == ["text"]
    assert inputs_of(A, B, ["gone"], None) == ["id", "text", "label", "why"]


def test_runs_that_are_alike_are_compared_in_the_last_column_of_labels():
    pair = wrap(pl.DataFrame({"text": ["a", "b", "c", "d"], "label": ["p"] * 4, "error": [None] * 4}))
    assert compared_columns(pair, pair, inputs=None, but=None) == ["label"]


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (["gold", "x_label", "x_error", "label", "confidence", "confidence_source", "votes", "error"], "label"),
        (["gold", "label", "confidence", "confidence_source", "tier", "error"], "label"),
        (["gold", "p_winner", "p_consistent", "p_error"], "p_winner"),
        (["gold", "level", "score", "score_sd", "confidence", "confidence_source", "error"], "level"),
        (["score", "error"], "score"),
        (["votes", "error"], "votes"),  # a column of one's own
    ],
)
def test_of_runs_that_are_alike_the_verdict_is_compared_and_not_what_stands_beside_it(names, verdict):
    frame = wrap(pd.DataFrame({name: [1, 1] for name in names}))
    assert compared_columns(frame, frame, inputs=None, but=None) == [verdict]


@pytest.mark.parametrize(("first", "second"), [(["o_label", "o_error"], ["n_label", "n_error"]), (["label"], ["lab"])])
def test_answers_of_other_names_are_no_equal_columns_before_them(first, second):
    a, b = (wrap(pd.DataFrame({name: ["p", "p"] for name in ["gold", *names]})) for names in (first, second))
    with pytest.raises(UsageError, match=rf"behind them: \['{first[0]}'\] and \['{second[0]}'\]; .*one of \['gold'\]"):
        compared_columns(a, b, inputs=None, but=None)


def test_a_column_that_was_added_behind_a_run_does_not_matter():
    a = wrap(pd.DataFrame({"text": ["x", "y"], "label": ["p", "p"], "error": None, "right": True}))
    b = wrap(pd.DataFrame({"text": ["x", "y"], "label": ["p", "p"], "error": None}))
    assert compared_columns(a, b, inputs=None, but=None) == ["label"]


def test_said_inputs_leave_the_others():
    assert compared_columns(A, B, inputs=["id", "text", "why"], but=None) == ["label"]


def test_nothing_to_compare_is_refused():
    with pytest.raises(UsageError, match="no column with labels or numbers"):
        compared_columns(A, wrap([{"other": 1}] * 4), inputs=None, but=None)


def test_equal_rows_pass_and_others_are_named():
    check_rows(A, B, ["id", "text"])
    with pytest.raises(UsageError, match=r"'label' differs in row 1 \(counted from 0\)"):
        check_rows(A, B, ["label"])
    assert differing(A, B, "label") == [1]


def test_many_rows_are_summed_up():
    assert rows_text(range(2000)) == "rows 0, 1, 2, 3, 4 and 1,995 more (counted from 0)"
