"""What a run took is read from its rows, else from pandas' report; nobody's word is unknown."""

from __future__ import annotations

import json

import pandas as pd

from llmframe.frames import wrap
from llmframe.judge.spending import live_seconds, question_in, spending_of

ROWS = [
    {"source": "live", "usd": 0.2, "input_tokens": 5, "output_tokens": 1, "seconds": 2.0},
    {"source": "shared", "usd": 0.0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0},
    {"source": "cache", "usd": 0.0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0},
    {"source": "batch", "usd": 0.1, "input_tokens": 5, "output_tokens": 1, "seconds": 9.0},
    {"source": "live", "usd": None, "input_tokens": None, "output_tokens": None, "seconds": 4.0},
    None,
]
FRAME = wrap([{"llm_meta": row} for row in ROWS])


def test_rows_are_told_apart_by_their_source():
    found = spending_of(FRAME, "llm_meta")
    assert (found.asked, found.cached, found.unknown) == (4, 1, 1)
    assert (round(found.usd, 9), found.input_tokens, found.output_tokens) == (0.3, 10, 2)


def test_seconds_are_those_of_live_requests():
    assert live_seconds(FRAME, "llm_meta") == [2.0, None, None, None, 4.0, None]
    assert live_seconds(FRAME, None) == [None] * 6


def test_without_prices_dollars_are_unknown_not_zero():
    assert spending_of(wrap([{"m": {"source": "live", "usd": None}}]), "m").usd is None


def test_pandas_report_stands_in():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    frame.attrs["llm"] = json.dumps({"rows": 3, "answered": 3, "cached": 1, "usd": 0.5, "input_tokens": 7})
    found = spending_of(wrap(frame), None)
    assert (found.told_by, found.asked, found.cached, found.usd, found.input_tokens) == ("report", 2, 1, 0.5, 7)


def test_a_report_of_other_rows_or_none_is_unknown():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    for text in (json.dumps({"rows": 2, "usd": 0.5}), "no json", "[1]", 5):
        frame.attrs["llm"] = text
        assert spending_of(wrap(frame), None).usd is None
    assert spending_of(wrap([{"x": 1}]), None).told_by == ""


def test_a_column_answers_its_own_question_or_the_only_one():
    assert question_in({"question": "b2"}, "label") == "b2"  # a report alone
    assert question_in({}, "label") is None
    told = {"question": "b2", "questions": {"one": "a1", "two": "b2", "said": None}}
    assert [question_in(told, name) for name in ("one", "two", "said", "made_of_them")] == ["a1", "b2", None, None]
    assert question_in({"questions": {"asked_level": "a1", "asked_error": "a1"}}, "level") == "a1"


def test_what_the_last_run_took_is_nothing_that_an_earlier_ones_answers_did():
    frame = pd.DataFrame({"one": ["a"], "two": ["b"]})
    told = {"rows": 1, "answered": 1, "usd": 0.5, "question": "b2", "questions": {"one": "a1", "two": "b2"}}
    frame.attrs["llm"] = json.dumps(told)
    assert spending_of(wrap(frame), None, column="two").usd == 0.5
    assert spending_of(wrap(frame), None, column="winner").usd == 0.5  # made of what several asks said
    assert spending_of(wrap(frame), None, column="one").usd is None
    assert spending_of(wrap(frame), None, column="one").told_by != "report"
