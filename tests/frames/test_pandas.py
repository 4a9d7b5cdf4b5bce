from __future__ import annotations

import json
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.pandas import PandasFrame, PandasSeries, pandas_array

STRING = ColumnType("string")
NEW = Column("label", STRING, ["a", "b", "c"])
HAS_COL = hasattr(pd, "col")
NOT_A_TIME = pd.DatetimeIndex(["2024-01-01", None, "2024-01-01"])


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, "z"], dtype=object, name="key"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["x", "y"]),
        NOT_A_TIME,
        pd.CategoricalIndex(["q", "q", "r"]),
        pd.RangeIndex(10, 4, -2),
        pd.IntervalIndex.from_breaks([0, 1, 2, 3]),
    ],
    ids=["duplicates", "levels", "NaT", "categories", "range", "intervals"],
)
def test_values_go_by_position_and_the_index_stays_the_object_it_was(index):
    df = pd.DataFrame({"t": ["1", "2", "3"]}, index=index)
    out = PandasFrame(df).attach([NEW])
    assert out.index is df.index
    assert out["label"].tolist() == ["a", "b", "c"]
    assert list(df.columns) == ["t"]
    series = PandasSeries(df["t"])
    assert series.series(NEW).index is series.native.index
    assert series.attach([NEW])["label"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, "z"], dtype=object, name="key"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["x", "y"]),
        NOT_A_TIME,
        pd.RangeIndex(10, 4, -2),
    ],
    ids=["duplicates", "levels", "NaT", "range"],
)
def test_a_part_has_its_rows_of_the_index_and_the_attributes_and_shares_the_cells(index):
    df = pd.DataFrame({"t": [1, 2, 3]}, index=index)
    df.attrs["origin"] = "here"
    part = PandasFrame(df).part(1, 3)
    assert part.native.index.equals(index[1:3])
    assert part.native.index.names == index.names
    assert part.native.attrs == {"origin": "here"}
    assert np.shares_memory(part.native["t"].to_numpy(), df["t"].to_numpy())
    series = PandasSeries(df["t"]).part(1, 3).native
    assert series.index.equals(index[1:3])
    assert series.attrs == {"origin": "here"}
    out = PandasFrame(df).part(0, 2).attach([Column("label", STRING, ["a", "b"])])
    assert out["label"].tolist() == ["a", "b"]
    assert list(df.columns) == ["t"]


def test_a_reordered_selection_of_a_duplicated_index_keeps_its_rows():
    df = pd.DataFrame({"t": list("abcd")}, index=[7, 7, 3, "z"]).iloc[[3, 1, 0]]
    frame = PandasFrame(df)
    assert frame.cells([0], 0, 3) == [["d", "b", "a"]]
    out = frame.attach([NEW])
    assert list(out.itertuples(name=None)) == [("z", "d", "a"), (7, "b", "b"), (7, "a", "c")]


def test_duplicate_column_names_survive_and_only_their_replacement_is_refused():
    df = pd.DataFrame([["x", 1, "y"]] * 3, columns=["t", "n", "t"])
    frame = PandasFrame(df)
    assert frame.names == ["t", "n", "t"]
    assert frame.cells([2, 0], 0, 1) == [["y"], ["x"]]
    out = frame.attach([NEW, Column("n", STRING, ["p", "q", "r"])], replace=True)
    assert list(out.columns) == ["t", "n", "t", "label"]
    assert out["n"].tolist() == ["p", "q", "r"]
    with pytest.raises(UsageError, match="which of the 2 columns named 't'"):
        frame.attach([Column("t", STRING, ["p", "q", "r"])], replace=True)


def test_under_column_levels_a_new_name_is_a_full_tuple():
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "")], names=["p", "q"])
    df = pd.DataFrame([[1, 2, 3]] * 3, columns=columns)
    frame = PandasFrame(df)
    assert frame.names == ["a.x", "a.y", "b"]
    out = frame.attach([NEW, Column("b", STRING, ["p", "q", "r"])], replace=True)
    assert list(out.columns) == [("a", "x"), ("a", "y"), ("b", ""), ("label", "")]
    assert out.columns.names == ["p", "q"]
    assert out[("b", "")].tolist() == ["p", "q", "r"]


def test_labels_that_are_not_text_are_named_by_their_text():
    stamp = pd.Timestamp("2024-01-01")
    df = pd.DataFrame([["x"] * 4] * 3, columns=pd.Index([0, None, stamp, "a.b"], dtype=object))
    frame = PandasFrame(df)
    assert frame.names == ["0", "None", "2024-01-01 00:00:00", "a.b"]
    out = frame.attach([NEW, Column("0", STRING, ["p", "q", "r"])], replace=True)
    assert list(out.columns) == [0, None, stamp, "a.b", "label"]
    assert out[0].tolist() == ["p", "q", "r"]


@pytest.mark.parametrize(
    "columns",
    [pd.RangeIndex(1), pd.CategoricalIndex(["a"], name="n"), pd.DatetimeIndex(["2024-01-01"], name="n")],
    ids=["range", "categories", "dates"],
)
def test_new_columns_stand_beside_labels_of_any_kind(columns):
    out = PandasFrame(pd.DataFrame([["x"]] * 3, columns=columns)).attach([NEW])
    assert list(out.columns) == [*columns, "label"]
    assert out.columns.name == columns.name


@pytest.mark.parametrize("df", [pd.DataFrame(), pd.DataFrame(index=[7, 7, 3]), pd.DataFrame({"t": []})])
def test_frames_without_columns_or_rows_get_theirs(df):
    rows = len(df)
    out = PandasFrame(df).attach([Column("n", ColumnType("int"), [1] * rows)])
    assert out.index is df.index
    assert out["n"].tolist() == [1] * rows
    assert out.dtypes["n"] == "Int64"


def test_the_report_stands_in_the_attributes_of_the_result_alone():
    df = pd.DataFrame({"t": list("abc")})
    df.attrs["source"] = {"file": "x"}
    df.attrs["llm"] = "old"
    out = PandasFrame(df).attach([NEW], report=json.dumps({"rows": 3}))
    assert out.attrs == {"source": {"file": "x"}, "llm": '{"rows": 3}'}
    assert df.attrs == {"source": {"file": "x"}, "llm": "old"}
    assert PandasFrame(df).attach([NEW]).attrs == df.attrs
    assert PandasSeries(df["t"]).attach([NEW], report="{}").attrs["llm"] == "{}"


def test_a_subclass_stays_one():
    class Mine(pd.DataFrame):
        @property
        def _constructor(self):
            return Mine

    out = PandasFrame(Mine({"t": list("abc")})).attach([NEW])
    assert type(out) is Mine


def test_old_columns_are_shared_and_a_later_write_stays_apart():
    df = pd.DataFrame({"n": [1, 2, 3]})
    out = PandasFrame(df).attach([NEW])
    assert np.shares_memory(df["n"].to_numpy(), out["n"].to_numpy())
    out["n"] = [9, 9, 9]
    assert df["n"].tolist() == [1, 2, 3]


def test_dtypes_are_those_that_pandas_reads_back():
    cases = {
        "enum": (ColumnType("enum", labels=("b", "a")), pd.CategoricalDtype(["b", "a"])),
        "bool": (ColumnType("bool"), pd.BooleanDtype()),
        "int": (ColumnType("int"), pd.Int64Dtype()),
        "float": (ColumnType("float"), np.dtype("float64")),
        "date": (ColumnType("date"), pd.ArrowDtype(pa.date32())),
        "utc": (ColumnType("datetime", utc=True), pd.ArrowDtype(pa.timestamp("us", "UTC"))),
        "duration": (ColumnType("duration"), pd.ArrowDtype(pa.duration("us"))),
        "decimal": (ColumnType("decimal", scale=3), pd.ArrowDtype(pa.decimal128(38, 3))),
        "list": (ColumnType("list", item=STRING), np.dtype(object)),
        "json": (ColumnType("json"), pandas_array(Column("x", STRING, [])).dtype),
    }
    for name, (type_, dtype) in cases.items():
        assert pandas_array(Column(name, type_, [None])).dtype == dtype, name
    assert not pandas_array(Column("x", cases["enum"][0], ["a"])).ordered
    if int(pd.__version__.split(".")[0]) >= 3:
        assert pandas_array(Column("x", STRING, ["a"])).dtype == pd.Series(["a"]).dtype


def test_a_value_outside_the_labels_never_becomes_null_in_silence():
    with pytest.raises(KeyError):
        pandas_array(Column("x", ColumnType("enum", labels=("a",)), ["b"]))


def test_every_kind_of_missing_value_is_none():
    df = pd.DataFrame({"t": ["ok", None, float("nan"), pd.NA, pd.NaT, "", " "]}, dtype=object)
    frame = PandasFrame(df)
    assert frame.cells([0], 0, 7) == [["ok", None, None, None, None, "", " "]]
    assert frame.null_count(0) == 4


def test_a_name_is_kept_as_text():
    assert PandasSeries(pd.Series([1])).names == [""]
    assert PandasSeries(pd.Series([1], name=("a", "b"))).names == ["a.b"]


def test_a_mask_series_must_carry_the_frames_own_index():
    df = pd.DataFrame({"n": [1, 2, 3]}, index=[7, 7, 3])
    frame = PandasFrame(df)
    assert frame.mask(df["n"] > 1) == [False, True, True]
    assert frame.mask(lambda df: df["n"] > 1) == [False, True, True]
    assert frame.mask(pd.Series([True, None, False], index=[7, 7, 3], dtype="boolean")) == [True, False, False]
    assert frame.mask(pd.Series([True, None, np.nan], index=[7, 7, 3], dtype=object)) == [True, False, False]
    arrow = pd.Series([True, None, False], index=df.index, dtype="bool[pyarrow]")
    assert frame.mask(arrow) == [True, False, False]
    assert PandasSeries(df["n"]).mask(df["n"] > 1) == [False, True, True]
    with pytest.raises(UsageError, match="another index than the frame's"):
        frame.mask((df["n"] > 1).reset_index(drop=True))
    with pytest.raises(UsageError, match=r"got a pandas.Series of int64|of int64"):
        frame.mask(df["n"])
    with pytest.raises(UsageError, match=r"got a pandas.DataFrame"):
        frame.mask(df[["n"]])
    with pytest.raises(UsageError, match=r"got a polars.Expr"):
        frame.mask(pl.col("n") > 1)


@pytest.mark.skipif(not HAS_COL, reason="pd.col came with pandas 3")
def test_a_pd_col_expression_is_evaluated_on_the_frame():
    df = pd.DataFrame({"n": [1, 2, 3], "where": [0, 0, 0]}, index=[7, 7, 3])
    frame = PandasFrame(df)
    assert frame.mask(pd.col("n") > 1) == [False, True, True]
    assert frame.mask(lambda _: pd.col("n") > 1) == [False, True, True]
    with pytest.raises(UsageError, match="of int64"):
        frame.mask(pd.col("n"))
    with pytest.raises(UsageError, match="got a pandas"):
        PandasSeries(df["n"]).mask(pd.col("n") > 1)


def test_kept_values_come_from_any_dtype_of_the_old_column():
    asked = [True, False, False]
    labels = ColumnType("enum", labels=("a", "b"))
    old = pd.DataFrame({"x": pd.Categorical(["a", "b", None]), "n": [1.0, 2.0, np.nan]})
    frame = PandasFrame(old)
    assert frame.kept(Column("x", labels, ["a", None, None]), asked).values == ["a", "b", None]
    assert frame.kept(Column("n", ColumnType("int"), [7, None, None]), asked).values == [7, 2, None]
    day = PandasFrame(pd.DataFrame({"d": pd.to_datetime(["2024-01-01"] * 3)}))
    assert day.kept(Column("d", ColumnType("date"), [None] * 3), asked).values[1] == date(2024, 1, 1)
