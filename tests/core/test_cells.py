"""The text of a cell in a prompt."""

from __future__ import annotations

import json
import math
import pathlib
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.cells import CellError, cell_text, cell_texts
from llmframe.core.outcome import Failure


class Mood(Enum):
    GOOD = "good mood"


class Rank(IntEnum):
    FIRST = 1


class Named(str):
    """As numpy's `str_` is one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Named"

    __repr__ = __str__


class Wide(float):
    """As numpy's `float64` is one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Wide"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" as it is\n{x} größe 🎉", " as it is\n{x} größe 🎉"),
        ("", ""),
        (True, "True"),
        (1, "1"),
        (9007199254740993, "9007199254740993"),  # 2**53 + 1: no way over float
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e16, "1e+16"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (date(2024, 5, 1), "2024-05-01"),
        (time(9, 30), "09:30:00"),
        (datetime(2024, 5, 1, 9, 30), "2024-05-01T09:30:00"),  # noqa: DTZ001 - naive on purpose
        (datetime(2024, 5, 1, 9, 30, 0, 5, tzinfo=UTC), "2024-05-01T09:30:00.000005+00:00"),
        (time(9, tzinfo=timezone(timedelta(hours=2))), "09:00:00+02:00"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.00"), "1.00"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("NaN"), "NaN"),
        (Decimal("-Infinity"), "-Infinity"),
        (Mood.GOOD, "good mood"),
        (Rank.FIRST, "1"),
        (Named("n"), "n"),
        (Wide(0.5), "0.5"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
    ],
)
def test_a_scalar_has_one_text(value, text):
    assert cell_text(value) == text
    assert type(cell_text(value)) is str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(), "PT0S"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4), "P1DT2H3M4S"),
        (timedelta(days=400), "P400D"),
        (timedelta(hours=25), "P1DT1H"),
        (timedelta(microseconds=500_000), "PT0.5S"),
        (timedelta(microseconds=1), "PT0.000001S"),
        (timedelta(minutes=1, microseconds=10), "PT1M0.00001S"),
        (timedelta(days=-1, hours=22), "-PT2H"),
        (-timedelta(days=1, seconds=1), "-P1DT1S"),
        (timedelta.min, "-P999999999D"),
    ],
)
def test_a_duration_is_iso_8601_of_days_and_time(value, text):
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "[]"),
        ({}, "{}"),
        ({"a": 1, "b": [True, None, "ü"]}, '{"a":1,"b":[true,null,"ü"]}'),
        ((1.0, 2), "[1.0,2]"),
        ([date(2024, 5, 1), timedelta(hours=1), Decimal("1.50")], '["2024-05-01","PT1H","1.50"]'),
        ([Mood.GOOD, Rank.FIRST, Wide(0.5)], '["good mood",1,0.5]'),
        ({1: "a", False: "b", date(2024, 5, 1): "c"}, '{"1":"a","False":"b","2024-05-01":"c"}'),
        ({"when": {"at": datetime(2024, 5, 1)}}, '{"when":{"at":"2024-05-01T00:00:00"}}'),  # noqa: DTZ001
        (["a\nb", '"'], '["a\\nb","\\""]'),
    ],
)
def test_lists_and_structs_are_compact_json_in_full(value, text):
    assert cell_text(value) == text


def test_nan_in_a_list_is_told_apart_from_null():
    assert cell_text([1.0, None, math.nan, math.inf, Decimal("NaN")]) == '[1.0,null,"NaN","Infinity","NaN"]'


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"secret", "encoding"),
        (bytearray(b"secret"), "encoding"),
        (memoryview(b"secret"), "encoding"),
        ([b"secret"], "encoding"),
        ("secret \ud800", "encoding"),
        (["secret \udfff"], "encoding"),
        ({"secret \udfff": 1}, "encoding"),
        ({"secret"}, "render"),
        (object(), "render"),
        (1 + 2j, "render"),
        ([{"a": object()}], "render"),
        (10**5000, "render"),
        ([10**5000], "render"),
        (Decimal("1E+999999999"), "render"),
        (Decimal("1E-999999999"), "render"),
        (None, "null"),
    ],
    ids=lambda value: type(value).__name__,  # pytest would print the long integer
)
def test_what_has_no_text_is_an_error_without_its_content(value, kind):
    with pytest.raises(CellError) as raised:
        cell_text(value)
    assert raised.value.kind == kind
    assert "secret" not in str(raised.value)


def test_a_list_that_holds_itself_is_an_error():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(CellError, match="nested too deeply"):
        cell_text(loop)


def test_a_failed_cell_names_the_column_and_the_place():
    column = cell_texts(["a", "b\ud800", None, b"x", 1], "t")
    assert column.texts == ["a", "", "", "", "1"]
    assert column.failures == {
        1: Failure("encoding", "lone surrogate at character 2 in column 't'"),
        3: Failure("encoding", "bytes aren't text in column 't'"),
    }


def test_a_column_of_texts_is_taken_as_it_is():
    values: list[object] = ["a", "{b}"]
    assert cell_texts(values, "t").texts == ["a", "{b}"]
    assert cell_texts(("ü", "a"), "t").texts == ["ü", "a"]


CELLS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.timedeltas() | st.decimals()
)


@given(st.lists(CELLS))
def test_a_column_reads_as_its_cells_do(values):
    column = cell_texts(values, "t")
    told = [column.failures.get(row, text) for row, text in enumerate(column.texts)]
    assert told == ["" if value is None else text_or_failure(value) for value in values]


def text_or_failure(value):
    try:
        return cell_text(value)
    except CellError as error:
        return error.failure("t")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_cells_are_valid_and_complete(value):
    if isinstance(value, list | dict):
        assert json.loads(cell_text(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_survives_its_text(value):
    assert float(cell_text(value)) == value


@given(st.timedeltas(), st.timedeltas())
def test_different_durations_have_different_texts(a, b):
    assert (cell_text(a) == cell_text(b)) == (a == b)
