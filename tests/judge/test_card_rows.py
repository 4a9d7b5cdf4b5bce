"""Which rows a card is of, and what became of the others."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.card_rows import card_rows, counts_of, models_of, report_of, spending_of_rows
from llmframe.report import RunReport

COLUMNS = {
    "text": ["a", "b", "c", "d", "e"],
    "human": ["yes", "no", None, "no", "yes"],
    "label": ["yes", "yes", "no", None, None],
    "confidence": [0.9, 0.6, 0.8, None, None],
    "error": [None, None, None, "timeout: no answer in 60 s", "somebody else's words"],
}


def rows_of(frame, **options):
    wrapped = wrap(frame)
    return wrapped, card_rows(wrapped, "label", "human", **{"confidence": None, "group": None, **options})


def counted(wrapped, rows, run=None):
    return counts_of(rows, rows.truth("nominal", None), report_of(wrapped, run))


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).to_arrow(), pl.DataFrame(COLUMNS).to_dicts()],
    ids=["pandas", "polars", "arrow", "dicts"],
)
def test_rows_are_counted_by_what_became_of_them(frame):
    wrapped, rows = rows_of(frame)
    found = counted(wrapped, rows)
    assert (found.rows, found.answered, found.missing) == (5, 3, 0)
    assert found.failed == {"timeout": 1, "other": 1}
    assert (found.gold, found.judged, found.failed_gold) == (4, 2, 2)
    assert (found.unique, found.cached, found.shared) == (None, None, None)
    assert rows.sure == [0.9, 0.6, 0.8, None, None]
    assert rows.rated.answers == ["yes", "yes", "no", None, None]


def test_meta_tells_calls_models_and_which_rows_belong_together():
    cells = [
        {"model": "m", "source": "live", "fingerprint": "1"},
        {"model": "m", "source": "shared", "fingerprint": "1"},
        {"model": "n", "source": "cache", "fingerprint": "2"},
        None,
        None,
    ]
    wrapped, rows = rows_of(pl.DataFrame({**COLUMNS, "llm_meta": cells}))
    found = counted(wrapped, rows)
    assert (found.unique, found.cached, found.shared) == (2, 1, 1)
    assert models_of(rows, report_of(wrapped, None)) == ["m", "n"]
    clusters = rows.rated.clusters
    assert clusters[0] == clusters[1] != clusters[2]


def test_without_meta_pandas_report_tells_calls_and_model():
    frame = pd.DataFrame(COLUMNS)
    frame.attrs["llm"] = json.dumps({"rows": 5, "answered": 3, "cached": 1, "shared": 1, "model": "m"})
    wrapped, rows = rows_of(frame)
    found = counted(wrapped, rows)
    assert (found.unique, found.cached, found.shared) == (2, 1, 1)
    assert models_of(rows, report_of(wrapped, None)) == ["m"]


def test_a_report_of_other_rows_tells_nothing():
    frame = pd.DataFrame(COLUMNS)
    frame.attrs["llm"] = json.dumps({"rows": 99, "answered": 90, "cached": 1, "shared": 1})
    wrapped, rows = rows_of(frame)
    assert counted(wrapped, rows).unique is None


def test_a_run_tells_what_the_frame_does_not():
    wrapped, rows = rows_of(pl.DataFrame(COLUMNS))
    run = RunReport(model="m", rows=5, answered=3, shared=1, usd=0.5, input_tokens=9, output_tokens=3)
    assert counted(wrapped, rows, run).unique == 2
    assert models_of(rows, report_of(wrapped, run)) == ["m"]
    spent = spending_of_rows(wrapped, rows, report_of(wrapped, run))
    assert (spent.usd, spent.asked, spent.told_by) == (0.5, 3, "report")
    other = RunReport(model="m", rows=99, answered=99, usd=0.5)
    assert counted(wrapped, rows, other).unique is None
    assert spending_of_rows(wrapped, rows, report_of(wrapped, other)).usd is None


def test_several_people_have_a_consensus():
    frame = pd.DataFrame({"label": ["a", "b"], "h1": ["a", "a"], "h2": ["a", "b"], "h3": ["b", None]})
    rows = card_rows(wrap(frame), "label", ["h1", "h2", "h3"], confidence=None, group=None)
    # two of three said a; one said a and one b
    assert rows.truth("nominal", None) == ["a", None]


def test_a_confidence_is_a_share():
    with pytest.raises(UsageError, match=r"the confidences in 'confidence' must be in \[0, 1\], one is 90"):
        rows_of(pd.DataFrame({**COLUMNS, "confidence": [90, 60, 80, None, None]}))


def test_a_named_column_of_confidences_has_to_be_there():
    with pytest.raises(UsageError, match="did you mean 'confidence'"):
        rows_of(pd.DataFrame(COLUMNS), confidence="confidense")


def test_of_answers_of_an_earlier_run_the_last_ones_report_tells_only_whose_question_they_answer():
    frame = pd.DataFrame({"one": ["a", "b"], "two": ["a", "b"], "human": ["a", "b"]})
    questions = {"one": "a1", "two": "b2"}
    frame.attrs["llm"] = json.dumps({"rows": 2, "model": "m", "usd": 0.5, "question": "b2", "questions": questions})
    wrapped = wrap(frame)
    assert report_of(wrapped, None, pred="two")["model"] == "m"
    assert report_of(wrapped, None, pred="one") == {"questions": questions}
    rows = card_rows(wrapped, "one", "human", confidence=None, group=None)
    assert spending_of_rows(wrapped, rows, report_of(wrapped, None, pred="one")).usd is None
