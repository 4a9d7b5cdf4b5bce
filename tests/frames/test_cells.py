from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.frames import wrap
from llmframe.frames.cells import clock, moment, plain, shortest, span, zone

DAY = 86_400_000_000_000


class Colour(Enum):
    RED = "red"


class Pair(NamedTuple):
    x: Any
    y: Any


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(2**53 + 1), 2**53 + 1),
        (np.float64(0.1), 0.1),
        (np.float32(0.1), 0.1),
        (np.float16(0.1), 0.1),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.datetime64("NaT"), None),
        (np.timedelta64(5, "s"), timedelta(seconds=5)),
        (pd.Timestamp("2024-01-01", tz="UTC"), datetime(2024, 1, 1, tzinfo=UTC)),
        (pd.NaT, None),
        (pd.NA, None),
        (pd.Timedelta(days=-1, microseconds=3), timedelta(days=-1, microseconds=3)),
        (pa.scalar(3), 3),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (Pair(1, np.int8(2)), [1, 2]),
        ({"a": (np.float32(0.1), None), 1: {"b": pd.NaT}}, {"a": [0.1, None], 1: {"b": None}}),
        (np.array([[1, 2], [3, 4]], dtype="uint8"), [[1, 2], [3, 4]]),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[us]"), [datetime(2024, 1, 1), None]),  # noqa: DTZ001
        (np.array(7), 7),
        (pd.Series([1, 2]), [1, 2]),
        (frozenset({3}), [3]),
    ],
)
def test_foreign_values_come_as_pythons_own(value, expected):
    found = plain(value, nan_is_null=True)
    assert found == expected
    assert type(found) is type(expected)


def test_not_a_number_is_null_where_it_is_said_also_inside():
    values = [math.nan, Decimal("NaN"), Decimal("sNaN"), np.float32("nan"), [math.nan]]
    assert [plain(value, nan_is_null=True) for value in values] == [None, None, None, None, [None]]
    kept = [plain(value, nan_is_null=False) for value in values]
    assert isinstance(kept[0], float)
    assert isinstance(kept[1], Decimal)


def test_an_object_of_an_unknown_class_comes_as_it_is():
    thing = object()
    assert plain(thing, nan_is_null=True) is thing


@given(st.floats(width=32, allow_nan=False))
def test_the_shortest_single_is_the_one_that_numpy_prints(value):
    found = shortest(value, "f")
    assert struct.pack("f", found) == struct.pack("f", value)
    assert found == float(str(np.float32(value)))


def test_the_shortest_half_is_the_one_that_numpy_prints():
    halves = np.arange(2**16, dtype="uint16").view("float16")
    halves = halves[np.isfinite(halves)]
    assert [shortest(value, "e") for value in halves.tolist()] == [float(str(value)) for value in halves]


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_libraries_agree_on_the_shortest_single(values):
    expected = [shortest(value, "f") for value in values]
    array = np.array(values, dtype="float32")
    for native in (pd.Series(array), pl.Series(array), pa.table({"x": pa.array(array)})):
        assert wrap(native).cells([0], 0, len(values)) == [expected]


@pytest.mark.parametrize("exponent", range(-149, 128))
def test_powers_of_two_are_shortest_too(exponent):
    assert shortest(2.0**exponent, "f") == float(str(np.float32(2.0**exponent)))


def test_nanoseconds_are_text_with_nine_digits():
    assert moment(1_000, None) == datetime(1970, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001
    assert moment(1, None) == "1970-01-01T00:00:00.000000001"
    assert moment(-1, None) == "1969-12-31T23:59:59.999999999"
    assert moment(DAY + 1, zone("+05:30")) == "1970-01-02T05:30:00.000000001+05:30"
    assert moment(1, zone("America/New_York")) == "1969-12-31T19:00:00.000000001-05:00"


def test_spans_and_clocks_too():
    assert span(-1_000) == timedelta(microseconds=-1)
    assert span(DAY + 3_600_000_000_000 + 60_000_000_000 + 1) == "P1DT1H1M0.000000001S"
    assert span(-1) == "-PT0.000000001S"
    assert clock(3_600_000_000_000) == time(1)
    assert clock(999) == "00:00:00.000000999"


def test_a_zone_is_found_by_name_or_offset():
    assert zone(None) is None
    assert zone("-0330").utcoffset(None) == -timedelta(hours=3, minutes=30)
    assert str(zone("Europe/Berlin")) == "Europe/Berlin"
