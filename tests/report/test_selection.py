"""A selection as text, HTML and JSON, and the rows that it splits."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.report.selection import Selection
from llmframe.stats.reliability import auroc
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.selective import certified_threshold

CONFIDENCES = [1 - at / 1000 for at in range(200)]
RIGHT = [True] * 150 + [at % 2 == 0 for at in range(50)]


def selection(right: list[bool] = RIGHT, **changes: object) -> Selection:
    certificate = certified_threshold(CONFIDENCES, right)
    found = Selection(
        name="label",
        confidence="confidence",
        error="error",
        n=1000,
        kept=610,
        failed=3,
        missing=2,
        gold_rows=204,
        certificate=certificate,
        curve=risk_coverage(CONFIDENCES, right),
        auroc=auroc(CONFIDENCES, right),
        notes=("a note",),
    )
    return replace(found, **changes)


def test_the_repr_tells_rows_promise_gold_and_what_more_takes():
    found = selection()
    lines = repr(found).splitlines()
    assert lines[0] == "llmframe selection · label · 1,000 rows"
    assert lines[1] == (
        "  rows      610 of 1,000 rows (61 %) stand, 390 need review, 3 of them failed, 2 without answer or confidence"
    )
    assert lines[2] == f"  promise   {found.certificate.sentence}"
    assert lines[3] == "  gold      200 rows with gold, an answer and a confidence; 4 more have gold alone"
    assert lines[4] == f"  more      {found.certificate.advice}"
    assert lines[5].startswith("  right     1.00 (0.96 to 1.00) of the surest 50 %, 0.97")
    assert lines[6].startswith("  order     AUROC 0.9")
    assert lines[7] == "  note      a note"


def test_where_all_are_right_the_order_is_unknown_and_nothing_is_advised():
    text = repr(selection([True] * 200, failed=0, missing=0, gold_rows=200, notes=()))
    assert "AUROC unknown: all gold rows are right, or all are wrong" in text
    assert "  more " not in text
    assert "failed" not in text
    assert "gold alone" not in text


def test_html_escapes_names():
    html = selection(name="<label>")._repr_html_()
    assert "&lt;label&gt;" in html
    assert "<label>" not in html


def test_json_has_null_for_what_is_unknown():
    found = json.loads(selection().to_json())
    assert (found["coverage"], found["needs_review"], found["kept"]) == (0.61, 390, 610)
    assert found["threshold"] == found["certificate"]["threshold"] == selection().threshold
    assert found["accuracy"]["0.5"]["n"] == 100
    nothing = json.loads(selection([False] * 200, n=0, kept=0).to_json())
    assert (nothing["threshold"], nothing["coverage"], nothing["auroc"]) == (None, None, None)
    assert nothing["certificate"]["bound"] is None


def test_a_selection_of_no_rows_has_no_coverage():
    assert math.isnan(selection(n=0, kept=0).coverage)


def test_other_rows_are_split_by_the_same_threshold():
    cut = selection().threshold
    rows = pd.DataFrame(
        {
            "label": ["p", "p", "p", None, "p"],
            "confidence": [cut, cut - 1e-9, None, 1.0, 1.0],
            "error": [None, None, None, None, "timeout: late"],
        },
        index=[4, 4, 7, 1, 2],
    )
    found = selection()
    assert found.keep(rows).index.tolist() == [4]
    assert found.needs_review(rows).index.tolist() == [4, 7, 1, 2]
    assert list(found.keep(rows).columns) == ["label", "confidence", "error"]
    # an error column that is gone isn't missed: failed rows have no answer
    assert len(found.keep(rows.drop(columns="error"))) == 2


def test_a_lazy_query_stays_lazy():
    rows = pl.LazyFrame({"label": ["p", "p"], "confidence": [1.0, 0.1], "error": [None, None]})
    kept = selection().keep(rows)
    assert isinstance(kept, pl.LazyFrame)
    assert kept.collect()["confidence"].to_list() == [1.0]
    assert selection().needs_review(rows).collect()["confidence"].to_list() == [0.1]


def test_tables_and_lists_of_dicts_are_split_too():
    rows = [{"label": "p", "confidence": sure, "error": None} for sure in (1.0, 0.1)]
    assert selection().keep(rows) == rows[:1]
    assert selection().needs_review(rows) == rows[1:]
    assert selection().keep(pa.Table.from_pylist(rows)).to_pylist() == rows[:1]


def test_rows_without_the_columns_are_refused():
    with pytest.raises(UsageError, match="column 'confidence' is absent"):
        selection().keep(pd.DataFrame({"label": ["p"]}))


def test_a_threshold_that_is_unknown_keeps_no_row():
    rows = pd.DataFrame({"label": ["p"], "confidence": [1.0], "error": [None]})
    found = selection([False] * 200)
    assert math.isnan(found.threshold)
    assert len(found.keep(rows)) == 0
    assert len(found.needs_review(rows)) == 1
