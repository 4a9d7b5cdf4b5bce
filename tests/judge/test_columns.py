"""Columns beside an answer are found by the names that map gives."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.columns import answer_columns, comparable, confidences, is_own, numbers, read, said_or_column


def test_a_plain_map_has_plain_names():
    found = answer_columns(["text", "label", "confidence", "confidence_source", "error", "llm_meta"], "label")
    assert (found.prefix, found.error, found.confidence, found.shown) == ("", "error", "confidence", "confidence")
    assert (found.distribution, found.meta) == (None, "llm_meta")


def test_a_calibrated_run_has_its_raw_confidence_beside():
    found = answer_columns(["label", "confidence", "confidence_raw", "distribution", "error"], "label")
    assert (found.confidence, found.shown, found.distribution) == ("confidence_raw", "confidence", "distribution")


def test_a_prefix_is_known_by_the_error_column():
    names = ["text", "label", "confidence", "error", "topic_label", "topic_confidence", "topic_error", "topic_llm_meta"]
    found = answer_columns(names, "topic_label")
    assert (found.prefix, found.error, found.confidence) == ("topic_", "topic_error", "topic_confidence")
    assert found.meta == "topic_llm_meta"
    assert answer_columns(names, "label").error == "error"


def test_several_fields_have_confidences_of_their_own():
    names = ["label", "topic", "label_confidence", "topic_confidence", "topic_distribution", "error"]
    found = answer_columns(names, "topic")
    assert (found.confidence, found.distribution) == ("topic_confidence", "topic_distribution")


def test_a_schema_that_keeps_a_name_moves_ours():
    names = ["label", "error", "confidence", "llm_confidence", "llm_distribution", "llm_error"]
    found = answer_columns(names[:1] + names[2:], "label")
    assert (found.prefix, found.error, found.confidence) == ("", "llm_error", "llm_confidence")
    assert found.distribution == "llm_distribution"
    assert answer_columns(["llm_label", "llm_error"], "llm_label").prefix == "llm_"


def test_frames_without_our_columns_have_none():
    assert answer_columns(["text", "label"], "label").error is None


def test_an_absent_or_repeated_column_is_refused():
    with pytest.raises(UsageError, match="no column 'lable'; did you mean 'label'"):
        answer_columns(["label"], "lable")
    with pytest.raises(UsageError, match="2 columns 'label'"):
        answer_columns(["label", "label"], "label")


@pytest.mark.parametrize("name", ["error", "llm_error", "x_error", "confidence_raw", "a_distribution", "llm_meta"])
def test_our_names_are_known(name):
    assert is_own(name)


@pytest.mark.parametrize("name", ["label", "errors", "terror", "confidences"])
def test_other_names_are_not(name):
    assert not is_own(name)


def test_cells_are_compared_by_value():
    assert comparable([1, 1.0, math.nan, None, [1, 2], {"b": 1, "a": 2}]) == [
        1,
        1,
        None,
        None,
        "[1,2]",
        '{"a":2,"b":1}',
    ]


def test_only_numbers_are_numbers():
    assert numbers([1, 2.5, True, "3", math.nan, None]) == [1.0, 2.5, None, None, None, None]
    assert numbers([Decimal("0.25"), Decimal("NaN")]) == [0.25, None]


def test_confidences_that_are_text_are_told_from_none():
    assert confidences([None, math.nan], "sure") == [None, None]
    assert confidences(["high", 0.5], "sure") == [None, 0.5]
    with pytest.raises(UsageError, match=r"the confidences in 'sure' must be numbers in \[0, 1\], and are text"):
        confidences(["0.5", None], "sure")


def test_gold_is_a_column_or_any_sequence():
    frame = wrap(pd.DataFrame({"gold": ["p", None]}))
    assert said_or_column([frame], "gold", argument="gold") == ["p", None]
    for said in (
        ["p", None],
        ("p", None),
        pd.Series(["p", None]),
        pd.Series(["p", None], dtype="string", name="x"),
        pl.Series(["p", None]),
        pa.array(["p", None]),
        np.array(["p", None], dtype=object),
    ):
        assert said_or_column([frame], said, argument="gold") == ["p", None]


def test_no_column_reads_as_nulls():
    assert read(wrap(pd.DataFrame({"x": [1, 2]})), None) == [None, None]
