"""What every frame promises, whichever library it comes from."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmframe.core.columns import Column, ColumnType
from llmframe.core.vectors import numbers_of, vector_of
from llmframe.errors import UsageError
from llmframe.frames import SeriesFrame, wrap
from llmframe.frames.files.arrow_sink import READS_NULL_VECTORS
from llmframe.frames.vectors import has_vectors
from tests.contracts.kinds import Kind

LABELS = ColumnType("enum", labels=("pos", "neg", "never"))
NESTED = ColumnType(
    "struct",
    fields=(
        ("name", ColumnType("string")),
        ("label", LABELS),
        ("sizes", ColumnType("list", item=ColumnType("int"))),
        ("day", ColumnType("date")),
    ),
)
TYPES: dict[str, tuple[ColumnType, list[Any]]] = {
    "enum": (LABELS, ["pos", "neg"]),
    "string": (ColumnType("string"), ["größe \U0001f600", ""]),
    "bool": (ColumnType("bool"), [True, False]),
    "int": (ColumnType("int"), [9007199254740993, -(2**63)]),
    "float": (ColumnType("float"), [0.1, -1e300]),
    "date": (ColumnType("date"), [date(2024, 2, 29), date(1, 1, 1)]),
    "datetime": (ColumnType("datetime"), [datetime(2024, 2, 29, 1, 2, 3, 4), datetime(1999, 1, 1)]),  # noqa: DTZ001
    "datetime-utc": (
        ColumnType("datetime", utc=True),
        [datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)],
    ),
    "duration": (ColumnType("duration"), [timedelta(days=-1, microseconds=1), timedelta(hours=30)]),
    "decimal": (ColumnType("decimal", scale=2), [Decimal("1.50"), Decimal("-99999999999999999999.99")]),
    "list": (ColumnType("list", item=ColumnType("string")), [["a", "b"], []]),
    "list-of-labels": (ColumnType("list", item=LABELS), [["pos", "pos"], ["neg"]]),
    "list-of-structs": (
        ColumnType("list", item=NESTED),
        [[{"name": "n", "label": "neg", "sizes": [1, 2], "day": date(2024, 1, 1)}], []],
    ),
    "struct": (
        NESTED,
        [
            {"name": "n", "label": "neg", "sizes": [1, 2], "day": date(2024, 1, 1)},
            {"name": None, "label": None, "sizes": [], "day": None},
        ],
    ),
    "json": (ColumnType("json"), ['{"a":1}', "[]"]),
    "vector": (ColumnType("vector", size=2), [vector_of([0.5, -1.0]), vector_of([3.0, 0.0])]),
    "struct-with-a-vector": (
        ColumnType("struct", fields=(("v", ColumnType("vector", size=1)), ("n", ColumnType("int")))),
        [{"v": vector_of([0.5]), "n": 1}, {"v": None, "n": None}],
    ),
}
FILLINGS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "no-rows": lambda _: [],
    "values": lambda values: [*values, None, values[0]],
    "all-null": lambda _: [None, None, None, None],
}


@pytest.fixture(params=TYPES)
def typed(request: pytest.FixtureRequest) -> tuple[ColumnType, list[Any]]:
    return TYPES[request.param]


@pytest.fixture(params=FILLINGS)
def filling(request: pytest.FixtureRequest) -> Callable[[list[Any]], list[Any]]:
    return FILLINGS[request.param]


def _plain(value: Any) -> Any:
    """What pandas' parquet reader makes of nested values, undone: arrays to lists, NaN to None; vectors as lists."""
    if isinstance(value, bytes):
        return numbers_of(value)
    if isinstance(value, np.ndarray | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.filterwarnings("error")
def test_every_dtype_attaches_for_no_rows_values_and_nulls_and_survives_parquet_and_pickle(any_kind, typed, filling):
    type_, examples = typed
    values = filling(examples)
    frame = any_kind.make({"t": ["a", None, "b", "a"][: len(values)], "n": [1, 2, 3, 4][: len(values)]})
    before = any_kind.dtypes(frame)
    out = wrap(frame).attach([Column("new", type_, values)])
    expected = {**any_kind.to_dict(frame), "new": _plain(values)}
    if any_kind.library == "records" and not values:
        expected = {}  # a list without rows has no columns
    assert _plain(any_kind.to_dict(out)) == expected
    assert any_kind.dtypes(out)[:2] == before
    assert _plain(any_kind.to_dict(any_kind.through_pickle(out))) == expected
    assert any_kind.dtypes(any_kind.through_pickle(out)) == any_kind.dtypes(out)
    if any_kind.library == "pyarrow" and has_vectors(type_) and not READS_NULL_VECTORS:
        return
    back = any_kind.through_parquet(out)
    assert _plain(any_kind.to_dict(back)) == expected


@pytest.mark.parametrize("places", [[], [0], [1, 1, -1, 0, -3], [2] * 3], ids=["none", "one", "mixed", "nulls"])
def test_rows_that_take_their_values_are_those_that_have_them(any_kind, typed, places):
    type_, examples = typed
    values = [*examples, None]
    frame = any_kind.make({"t": ["a"] * len(places)})
    taken = wrap(frame).attach([Column("new", type_, values, rows=array("q", places))])
    whole = wrap(frame).attach([Column("new", type_, [values[place] for place in places])])
    assert _plain(any_kind.to_dict(taken)) == _plain(any_kind.to_dict(whole))
    assert any_kind.dtypes(taken) == any_kind.dtypes(whole)
    if any_kind.library == "pyarrow" and has_vectors(type_) and not READS_NULL_VECTORS:
        return
    back = any_kind.through_parquet(taken)
    assert any_kind.dtypes(back) == any_kind.dtypes(any_kind.through_parquet(whole))


def test_rows_share_no_list_or_dict(any_kind):
    frame = any_kind.make({"t": ["a", "b", "a"]})
    column = Column(
        "new", NESTED, [{"name": "n", "label": None, "sizes": [1], "day": None}], rows=array("q", [0, 0, 0])
    )
    first, second, _ = any_kind.to_dict(wrap(frame).attach([column]))["new"]
    assert first == second
    assert first is not second
    assert first["sizes"] is not second["sizes"]


def test_taken_rows_can_be_kept_beside_what_was_there(any_kind):
    frame = wrap(any_kind.make({"label": ["pos", "neg", "pos"]}))
    column = frame.kept(Column("label", LABELS, ["neg", None], rows=array("q", [0, -1, 0])), [True, False, True])
    assert column == Column("label", LABELS, ["neg", "neg", "neg"])


def test_dtypes_never_depend_on_the_data(any_kind, typed):
    type_, examples = typed
    seen = set()
    for filling in FILLINGS.values():
        values = filling(examples)
        frame = any_kind.make({"t": ["a"] * len(values)})
        seen.add(tuple(any_kind.dtypes(wrap(frame).attach([Column("new", type_, values)]))[1:]))
    assert len(seen) == 1


def test_old_columns_order_and_the_input_are_left_alone(any_kind):
    frame = any_kind.make({"b": ["x", "y"], "a": [1, 2]})
    out = wrap(frame).attach(
        [Column("z", ColumnType("int"), [5, None]), Column("y", ColumnType("string"), ["s", None])]
    )
    assert list(any_kind.to_dict(out)) == ["b", "a", "z", "y"]
    assert any_kind.to_dict(frame) == {"b": ["x", "y"], "a": [1, 2]}


def test_a_replaced_column_stands_where_it_stood(any_kind):
    frame = any_kind.make({"a": ["x", "y"], "b": [1, 2], "c": [3, 4]})
    out = wrap(frame).attach([Column("b", ColumnType("string"), ["s", None])], replace=True)
    assert any_kind.to_dict(out) == {"a": ["x", "y"], "b": ["s", None], "c": [3, 4]}
    assert list(any_kind.to_dict(out)) == ["a", "b", "c"]
    assert any_kind.to_dict(frame)["b"] == [1, 2]


def test_a_name_that_exists_is_an_error_unless_it_is_to_be_replaced(any_kind):
    frame = any_kind.make({"a": ["x"]})
    with pytest.raises(UsageError, match=r"'a' exists; replace it with `overwrite=True`.*`prefix=`"):
        wrap(frame).attach([Column("a", ColumnType("int"), [1])])


def test_cells_come_in_chunks_by_position(any_kind):
    frame = wrap(any_kind.make({"a": ["x", None, "y", "z"], "b": [1, 2, 3, 4]}))
    assert len(frame) == 4
    assert frame.names == ["a", "b"]
    assert frame.cells([1, 0, 1], 1, 3) == [[2, 3], [None, "y"], [2, 3]]
    assert frame.cells([0], 3, 99) == [["z"]]
    assert frame.cells([0], 4, 4) == [[]]
    assert frame.cells([], 0, 4) == []
    assert [frame.null_count(0), frame.null_count(1)] == [1, 0]


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (3, 9), (2, 2), (4, 4)])
def test_a_part_is_a_frame_of_the_same_kind_with_its_rows_alone(any_kind, start, stop):
    data = {"a": ["x", None, "y", "z"], "b": [1, 2, 3, 4], "c": [0.5, None, None, 1.5]}
    native = any_kind.make(data)
    whole = wrap(native)
    part = whole.part(start, stop)
    assert type(part) is type(whole)
    assert type(part.native) is type(native)
    assert len(part) == len(data["a"][start:stop])
    assert part.names == ["a", "b", "c"]
    assert part.cells([0, 1, 2], 0, 9) == [values[start:stop] for values in data.values()]
    assert any_kind.dtypes(part.native) == any_kind.dtypes(native)
    out = part.attach([Column("new", ColumnType("string"), ["s"] * len(part))])
    if any_kind.library != "records" or len(part):
        rows = {name: values[start:stop] for name, values in data.items()}
        assert any_kind.to_dict(out) == {**rows, "new": ["s"] * len(part)}
    assert any_kind.to_dict(native) == data


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (1, 2), (3, 3)])
def test_a_part_of_a_series_is_one(kind, start, stop):
    series = kind.make_series(["a", None, "b"], "text")
    part = wrap(series).part(start, stop)
    assert isinstance(part, SeriesFrame)
    assert part.single
    assert part.names == ["text"]
    assert part.cells([0], 0, 3) == [["a", None, "b"][start:stop]]
    out = part.series(Column("label", LABELS, ["pos"] * len(part)))
    assert type(out) is type(series)
    assert kind.to_list(out) == ["pos"] * len(part)


def test_a_series_is_a_frame_of_one_column_and_gives_series_and_frames_back(kind):
    series = kind.make_series(["a", None, "b"], "text")
    frame = wrap(series)
    assert frame.single
    assert isinstance(frame, SeriesFrame)
    assert frame.names == ["text"]
    assert frame.cells([0], 0, 3) == [["a", None, "b"]]
    assert frame.null_count(0) == 1
    column = Column("label", LABELS, ["pos", None, "neg"])
    out = frame.series(column)
    assert type(out) is type(series)
    assert out.name == "label"
    assert kind.to_list(out) == ["pos", None, "neg"]
    table = frame.attach([column, replace(column, name="text")])
    assert kind.to_dict(table) == {"label": ["pos", None, "neg"], "text": ["pos", None, "neg"]}
    if kind.library == "pandas":
        assert out.index is series.index
        assert table.index is series.index


def test_a_frame_is_not_a_series(any_kind):
    frame = wrap(any_kind.make({"a": [1]}))
    assert not frame.single
    assert not isinstance(frame, SeriesFrame)


@pytest.mark.parametrize(
    "where",
    [
        [True, False, None],
        (True, False, None),
        np.array([True, False, False]),
        np.array([True, False, None], dtype=object),
        pd.array([True, False, None], dtype="boolean"),
        lambda _: [True, False, None],
    ],
    ids=["list", "tuple", "numpy", "objects", "nullable", "function"],
)
def test_a_mask_is_one_bool_a_row_and_null_is_no(any_kind, where):
    assert wrap(any_kind.make({"a": ["x", "y", "z"]})).mask(where) == [True, False, False]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ([True], r"`where` has 1 entries, the frame has 3 rows"),
        ([0, 1, 2], r"got a list of int; compare first"),
        (np.array([0, 2, 1]), r"of int"),
        (np.array([[True], [True], [True]]), r"got a numpy.ndarray"),
        ("a > 3", r"got a str"),
        (True, r"got a bool"),
        (lambda _: None, r"got a NoneType"),
    ],
    ids=["length", "ints", "int-array", "two-dimensional", "text", "one-bool", "function-of-nothing"],
)
def test_anything_else_is_told_by_its_name(any_kind, where, told):
    with pytest.raises(UsageError, match=told):
        wrap(any_kind.make({"a": ["x", "y", "z"]})).mask(where)


def test_rows_that_are_not_asked_keep_their_values_in_the_new_dtype(any_kind):
    frame = wrap(any_kind.make({"label": ["pos", "neg", None, "other"], "n": [1.0, 2.0, None, 4.0]}))
    asked = [False, True, False, True]
    assert frame.kept(Column("label", LABELS, [None, "neg", None, None]), asked).values == ["pos", "neg", None, None]
    assert frame.kept(Column("n", ColumnType("int"), [None] * 4), asked).values == [1, None, None, None]
    absent = Column("new", LABELS, [None, "neg", None, "pos"])
    assert frame.kept(absent, asked) == absent


def test_a_value_that_does_not_fit_is_an_error_without_its_content(any_kind):
    frame = wrap(any_kind.make({"label": ["pos", "secret words"]}))
    with pytest.raises(UsageError, match=r"column 'label' \(.*\), but a value there isn't one of its labels") as caught:
        frame.kept(Column("label", LABELS, [None, None]), [True, False])
    assert "secret" not in str(caught.value)
    assert "drop `where`" in str(caught.value)


BERLIN = "Europe/Berlin"
NOON = datetime(2024, 7, 1, 12)  # noqa: DTZ001 - naive on purpose
NANO = 1_719_835_200_000_000_001
"""Noon of 1 July 2024 (UTC) and one nanosecond, counted from 1970."""
YEAR_10000 = 253_402_300_800_000_000
"""Its first microsecond: one after the last that Python has."""

CELLS: dict[str, tuple[list[Any], list[Any]]] = {
    "text": (
        [
            pd.Series(["a", None, ""]),
            pd.Series(["a", None, ""], dtype=object),
            pl.Series(["a", None, ""]),
            pa.array(["a", None, ""]),
        ],
        ["a", None, ""],
    ),
    "text-python": ([pd.Series(["a", None], dtype=pd.StringDtype("python")), pl.Series(["a", None])], ["a", None]),
    "bools": (
        [
            pd.Series([True, None], dtype="boolean"),
            pd.Series([True, None], dtype=object),
            pl.Series([True, None]),
            pa.array([True, None]),
        ],
        [True, None],
    ),
    "numpy-bools": ([pd.Series([True, False]), pl.Series([True, False])], [True, False]),
    "large-ints": (
        [
            pd.Series([9007199254740993, None], dtype="Int64"),
            pd.Series([9007199254740993, None], dtype=object),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array([9007199254740993, None]))),
            pl.Series([9007199254740993, None]),
            pa.array([9007199254740993, None]),
        ],
        [9007199254740993, None],
    ),
    "unsigned": ([pd.Series([2**64 - 1], dtype="uint64"), pl.Series([2**64 - 1], dtype=pl.UInt64)], [2**64 - 1]),
    "small-ints": ([pd.Series([-1, 7], dtype="int8"), pl.Series([-1, 7], dtype=pl.Int8)], [-1, 7]),
    "ints-with-gaps-in-pandas": ([pd.Series([1, None]), pl.Series([1.0, None])], [1.0, None]),
    "floats": (
        [
            pd.Series([0.1, None, math.inf]),
            pd.Series([0.1, None, math.inf], dtype="Float64"),
            pd.Series([0.1, None, math.inf], dtype=object),
            pl.Series([0.1, None, math.inf]),
            pa.array([0.1, None, math.inf]),
        ],
        [0.1, None, math.inf],
    ),
    "single-precision": (
        [
            pd.Series([0.1, None, 3e38, 16777216.0], dtype="float32"),
            pd.Series([0.1, None, 3e38, 16777216.0], dtype="Float32"),
            pd.Series(list(np.array([0.1, math.nan, 3e38, 16777216.0], dtype="float32")), dtype=object),
            pl.Series([0.1, None, 3e38, 16777216.0], dtype=pl.Float32),
            pa.array([0.1, None, 3e38, 16777216.0], pa.float32()),
        ],
        [0.1, None, 3e38, 16777216.0],
    ),
    "half-precision": (
        [
            pd.Series([0.1, None], dtype="float16"),
            pa.array(np.array([0.1, 0.0], "float16"), mask=np.array([False, True])),
        ],
        [0.1, None],
    ),
    "dates": (
        [pd.Series([date(2024, 1, 1), None]), pl.Series([date(2024, 1, 1), None]), pa.array([date(2024, 1, 1), None])],
        [date(2024, 1, 1), None],
    ),
    "datetimes": (
        [
            pd.Series([NOON, None]),
            pd.Series([NOON, None]).astype("datetime64[s]"),
            pd.Series([NOON, None]).astype("datetime64[ns]"),
            pd.Series([pd.Timestamp(NOON), pd.NaT], dtype=object),
            pd.Series([np.datetime64(NOON), None], dtype=object),
            pl.Series([NOON, None]),
            pl.Series([NOON, None], dtype=pl.Datetime("ns")),
            pa.array([NOON, None], pa.timestamp("ns")),
        ],
        [NOON, None],
    ),
    "datetimes-in-a-zone": (
        [
            pd.Series([pd.Timestamp(NOON, tz=BERLIN), None]),
            pd.Series([pd.Timestamp(NOON, tz=BERLIN), None], dtype=object),
            pl.Series([NOON, None]).dt.replace_time_zone(BERLIN),
            pl.Series([NOON, None], dtype=pl.Datetime("ns")).dt.replace_time_zone(BERLIN),
            pa.array([pd.Timestamp(NOON, tz=BERLIN), None], pa.timestamp("us", BERLIN)),
        ],
        [NOON.replace(tzinfo=timezone(timedelta(hours=2))), None],
    ),
    "nanoseconds": (
        [
            pd.Series([NANO, NANO - 1]).astype("datetime64[ns]"),
            pd.Series([pd.Timestamp(NANO), pd.Timestamp(NANO - 1)], dtype=object),
            pd.Series([np.datetime64(NANO, "ns"), np.datetime64(NANO - 1, "ns")], dtype=object),
            pl.Series([NANO, NANO - 1]).cast(pl.Datetime("ns")),
            pa.array([NANO, NANO - 1], pa.timestamp("ns")),
        ],
        ["2024-07-01T12:00:00.000000001", NOON],
    ),
    "nanoseconds-in-a-zone": (
        [
            pd.Series([NANO]).astype("datetime64[ns]").dt.tz_localize("UTC").dt.tz_convert(BERLIN),
            pl.Series([NANO]).cast(pl.Datetime("ns", BERLIN)),
            pa.array([NANO], pa.timestamp("ns", BERLIN)),
            pa.array([NANO], pa.timestamp("ns", "+02:00")),
        ],
        ["2024-07-01T14:00:00.000000001+02:00"],
    ),
    "durations": (
        [
            pd.Series([timedelta(days=-1, seconds=5), None]),
            pd.Series([pd.Timedelta(days=-1, seconds=5), None], dtype=object),
            pl.Series([timedelta(days=-1, seconds=5), None]),
            pl.Series([timedelta(days=-1, seconds=5), None], dtype=pl.Duration("ns")),
            pa.array([timedelta(days=-1, seconds=5), None], pa.duration("ns")),
        ],
        [timedelta(days=-1, seconds=5), None],
    ),
    "short-durations": (
        [
            pd.Series([-1_000_000_001]).astype("timedelta64[ns]"),
            pd.Series([pd.Timedelta(-1_000_000_001)], dtype=object),
            pl.Series([-1_000_000_001]).cast(pl.Duration("ns")),
            pa.array([-1_000_000_001], pa.duration("ns")),
        ],
        ["-PT1.000000001S"],
    ),
    "times": (
        [
            pd.Series([time(1, 2, 3, 4), None]),
            pl.Series([time(1, 2, 3, 4), None]),
            pa.array([time(1, 2, 3, 4), None]),
            pa.array([time(1, 2, 3, 4), None], pa.time64("ns")),
        ],
        [time(1, 2, 3, 4), None],
    ),
    "short-times": (
        [pl.Series([1, None]).cast(pl.Time), pa.array([1, None], pa.time64("ns"))],
        ["00:00:00.000000001", None],
    ),
    "decimals": (
        [
            pd.Series([Decimal("1.50"), None]),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array([Decimal("1.50"), None]))),
            pl.Series([Decimal("1.50"), None]),
            pa.array([Decimal("1.50"), None]),
        ],
        [Decimal("1.50"), None],
    ),
    "bytes": ([pd.Series([b"a\xff", None]), pl.Series([b"a\xff", None]), pa.array([b"a\xff", None])], [b"a\xff", None]),
    "categories": (
        [
            pd.Series(["b", None, "a", "b"], dtype="category"),
            pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
            pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["a", "b", "c"])),
            pa.array(["b", None, "a", "b"]).dictionary_encode(),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["b", None, "a", "b"]).dictionary_encode())),
        ],
        ["b", None, "a", "b"],
    ),
    "number-categories": (
        [pd.Series([2, None, 1], dtype="category"), pa.array([2, None, 1]).dictionary_encode()],
        [2, None, 1],
    ),
    "lists": (
        [
            pd.Series([["a", None], None, []]),
            pd.Series([np.array(["a", None], dtype=object), None, np.array([])], dtype=object),
            pd.Series([("a", None), None, ()], dtype=object),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array([["a", None], None, []]))),
            pl.Series([["a", None], None, []]),
            pa.array([["a", None], None, []]),
        ],
        [["a", None], None, []],
    ),
    "vectors": (
        [
            pd.Series([np.array([0.1, 0.2], dtype="float32"), None], dtype=object),
            pl.Series([[0.1, 0.2], None], dtype=pl.Array(pl.Float32, 2)),
            pl.Series([[0.1, 0.2], None], dtype=pl.List(pl.Float32)),
            pa.array([[0.1, 0.2], None], pa.list_(pa.float32(), 2)),
            pa.array([[0.1, 0.2], None], pa.large_list(pa.float32())),
        ],
        [[0.1, 0.2], None],
    ),
    "matrices": (
        [
            pd.Series([np.array([[1, 2]])]),
            pl.Series([[[1, 2]]], dtype=pl.Array(pl.Int64, (1, 2))),
            pa.array([[[1, 2]]]),
        ],
        [[[1, 2]]],
    ),
    "structs": (
        [
            pd.Series([{"a": 1, "b": ["x"]}, None]),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array([{"a": 1, "b": ["x"]}, None]))),
            pl.Series([{"a": 1, "b": ["x"]}, None]),
            pa.array([{"a": 1, "b": ["x"]}, None]),
        ],
        [{"a": 1, "b": ["x"]}, None],
    ),
    "structs-of-moments": (
        [
            pd.Series([{"at": pd.Timestamp(NANO), "f": np.float32(0.1)}]),
            pl.DataFrame(
                {"at": pl.Series([NANO]).cast(pl.Datetime("ns")), "f": pl.Series([0.1], dtype=pl.Float32)}
            ).to_struct("s"),
            pa.array([{"at": NANO, "f": 0.1}], pa.struct([("at", pa.timestamp("ns")), ("f", pa.float32())])),
        ],
        [{"at": "2024-07-01T12:00:00.000000001", "f": 0.1}],
    ),
    "lists-of-moments": (
        [
            pd.Series([[pd.Timestamp(NOON), None], []]),
            pl.Series([[NOON, None], []], dtype=pl.List(pl.Datetime("ns"))),
            pa.array([[NOON, None], []], pa.list_(pa.timestamp("ns"))),
        ],
        [[NOON, None], []],
    ),
    "years-that-python-has-not": (
        [
            pd.Series([YEAR_10000, None], dtype="Int64").astype("datetime64[us]"),
            pl.Series([YEAR_10000, None]).cast(pl.Datetime("us")),
            pa.array([YEAR_10000, None], pa.timestamp("us")),
        ],
        ["10000-01-01T00:00:00.000000", None],
    ),
    "nothing": ([pd.Series([None, None]), pl.Series([None, None]), pa.array([None, None])], [None, None]),
    "no-rows": ([pd.Series([], dtype="float64"), pl.Series([], dtype=pl.Float32), pa.array([], pa.float32())], []),
}


def _as_frames(source: Any) -> list[Any]:
    """The column as a frame, and as a Series where there is one."""
    if isinstance(source, pd.Series):
        return [source.to_frame("x"), source]
    return [source.to_frame("x"), source] if isinstance(source, pl.Series) else [pa.table({"x": source})]


def _exact(value: Any) -> Any:
    """The value with its type and the text it is rendered from: 1, True and 1.0 are equal but not the same."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return (type(value), value.isoformat() if isinstance(value, datetime) else repr(value))


@pytest.mark.parametrize("name", CELLS)
def test_the_same_data_gives_the_same_cells_from_every_library(name):
    sources, expected = CELLS[name]
    for source in sources:
        for native in _as_frames(source):
            frame = wrap(native)
            [cells] = frame.cells([0], 0, len(frame))
            assert _exact(cells) == _exact(expected), getattr(source, "dtype", None) or source.type
            assert frame.null_count(0) == sum(value is None for value in expected)
            [tail] = frame.cells([0], min(1, len(frame)), len(frame))
            assert _exact(tail) == _exact(expected[1:])
    records = wrap([{"x": value} for value in expected])
    if expected:
        assert _exact(records.cells([0], 0, len(expected))[0]) == _exact(expected)


def test_not_a_number_is_missing_in_pandas_and_a_value_elsewhere():
    for source in [
        pd.Series([math.nan, 1.0]),
        pd.Series([math.nan, 1.0], dtype="float32"),
        pd.Series([Decimal("NaN"), Decimal(1)]),
        pd.Series([pd.NA, 1.0], dtype=object),
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array([math.nan, 1.0]))),
        pd.Series([math.nan, "a"], dtype="category"),
    ]:
        frame = wrap(source)
        assert frame.cells([0], 0, 1) == [[None]]
        assert frame.null_count(0) == 1
    for source in [
        pl.Series([math.nan, None]),
        pl.Series([math.nan, None], dtype=pl.Float32),
        pa.table({"x": pa.array([math.nan, None])}),
        [{"x": math.nan}, {}],
    ]:
        frame = wrap(source)
        [[nan, null]] = frame.cells([0], 0, 2)
        assert isinstance(nan, float)
        assert math.isnan(nan)
        assert null is None
        assert frame.null_count(0) == 1


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.text(st.characters(exclude_categories=["Cs"])),
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.sampled_from(LABELS.labels),
        ),
        min_size=1,
    )
)
def test_what_is_attached_is_what_is_read(any_kind: Kind, rows):
    frame = any_kind.make({"t": ["x"] * len(rows)})
    types = {"a": ColumnType("string"), "b": ColumnType("int"), "c": LABELS}
    columns = [
        Column(name, type_, list(values))
        for (name, type_), values in zip(types.items(), zip(*rows, strict=True), strict=True)
    ]
    out = wrap(wrap(frame).attach(columns))
    assert out.names == ["t", "a", "b", "c"]
    assert out.cells([1, 2, 3], 0, len(rows)) == [column.values for column in columns]
