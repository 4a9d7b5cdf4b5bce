"""Cells as text in CSV files."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from llmframe.frames.files.text_cells import is_text, text_cells, without_formulas


def texts(values, type_):
    field = pa.field("x", type_)
    return text_cells(pa.chunked_array([pa.array(values, type_)]), field).to_pylist()


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        ([1, None, -3], pa.int64(), ["1", None, "-3"]),
        ([True, False, None], pa.bool_(), ["true", "false", None]),
        ([0.1, 1e20, None], pa.float64(), ["0.1", "1e+20", None]),
        ([Decimal("1.10")], pa.decimal128(10, 2), ["1.10"]),
        ([date(2024, 5, 1)], pa.date32(), ["2024-05-01"]),
        ([datetime.fromisoformat("2024-05-01T12:00:00")], pa.timestamp("us"), ["2024-05-01T12:00:00"]),
        ([datetime(2024, 5, 1, 12, tzinfo=UTC)], pa.timestamp("us", "UTC"), ["2024-05-01T12:00:00+00:00"]),
        ([time(1, 2, 3)], pa.time64("us"), ["01:02:03"]),
        ([timedelta(days=1, seconds=1)], pa.duration("us"), ["P1DT1S"]),
        ([["é", None], [], None], pa.list_(pa.string()), ['["é",null]', "[]", None]),
        ([{"a": 1}], pa.struct([("a", pa.int64())]), ['{"a":1}']),
        (["b", None, "a"], pa.dictionary(pa.int32(), pa.string()), ["b", None, "a"]),
        ([None], pa.null(), [None]),
    ],
)
def test_a_cell_is_text_that_says_its_value(values, type_, expected):
    assert texts(values, type_) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+cmd",
        "-cmd",
        "@SUM(A1)",
        "\t=1",
        "\rx",
        " =1",
        "\n=1",
        '"=1',
        "'=1",
        "=",
        "-",
        "\uff1d1",
        "\ufeff=1",
        "\u200b=1",
        "\x00=1",
        "-1+cmd|' /C'!A0",
    ],
)
def test_text_that_a_spreadsheet_would_take_for_a_formula_gets_an_apostrophe(cell):
    cells = pa.chunked_array([pa.array([cell], pa.large_string())])
    assert without_formulas(cells).to_pylist() == ["'" + cell]


@pytest.mark.parametrize("cell", ["-5", "+5", "-1.5e-3", "1=1", "a@b.c", "", "x\n=1", "007"])
def test_numbers_and_other_text_stay(cell):
    cells = pa.chunked_array([pa.array([cell, None], pa.large_string())])
    assert without_formulas(cells).to_pylist() == [cell, None]


def test_labels_and_lists_hold_text_and_numbers_dont():
    types = [pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.string()), pa.int64(), pa.date32()]
    assert [is_text(pa.field("x", type_)) for type_ in types] == [True, True, True, False, False]
