from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.polars import PolarsFrame, PolarsSeries, dtype, polars_series, struct_dtype, struct_series

LABELS = ColumnType("enum", labels=("pos", "neg"))
FIELDS = (("label", LABELS), ("score", ColumnType("float")), ("tags", ColumnType("list", item=ColumnType("string"))))


def test_every_kind_has_its_dtype():
    assert dtype(LABELS) == pl.Enum(["pos", "neg"])
    assert dtype(ColumnType("string")) == pl.String
    assert dtype(ColumnType("json")) == pl.String
    assert dtype(ColumnType("bool")) == pl.Boolean
    assert dtype(ColumnType("int")) == pl.Int64
    assert dtype(ColumnType("float")) == pl.Float64
    assert dtype(ColumnType("date")) == pl.Date
    assert dtype(ColumnType("datetime")) == pl.Datetime("us")
    assert dtype(ColumnType("datetime", utc=True)) == pl.Datetime("us", "UTC")
    assert dtype(ColumnType("duration")) == pl.Duration("us")
    assert dtype(ColumnType("decimal", scale=2)) == pl.Decimal(38, 2)
    assert dtype(ColumnType("list", item=LABELS)) == pl.List(pl.Enum(["pos", "neg"]))
    assert dtype(ColumnType("struct", fields=FIELDS)) == struct_dtype(FIELDS)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_struct_series_has_the_dtype_that_was_known_before(rows):
    columns = [Column(name, type_, [None] * rows) for name, type_ in FIELDS]
    series = struct_series("llm", columns)
    assert series.name == "llm"
    assert series.dtype == struct_dtype(FIELDS)
    assert series.len() == rows
    assert series.null_count() == 0


def test_a_struct_series_holds_each_row():
    values = [["pos", None], [0.5, 1.0], [["a"], None]]
    columns = [Column(name, type_, list(column)) for (name, type_), column in zip(FIELDS, values, strict=True)]
    assert struct_series("llm", columns).to_list() == [
        {"label": "pos", "score": 0.5, "tags": ["a"]},
        {"label": None, "score": 1.0, "tags": None},
    ]


def test_a_value_outside_its_dtype_is_never_null_in_silence():
    with pytest.raises(pl.exceptions.InvalidOperationError):
        polars_series(Column("x", LABELS, ["other"]))
    with pytest.raises(TypeError):
        polars_series(Column("x", ColumnType("int"), ["1"]))


def test_a_frame_without_columns_gets_its_own():
    out = PolarsFrame(pl.DataFrame()).attach([Column("label", LABELS, [])])
    assert out.schema == {"label": pl.Enum(["pos", "neg"])}


def test_a_mask_is_an_expression_a_series_or_a_function():
    df = pl.DataFrame({"n": [1, None, 3]})
    frame = PolarsFrame(df)
    assert frame.mask(pl.col("n") > 1) == [False, False, True]
    assert frame.mask(lambda df: pl.col("n") > 1) == [False, False, True]
    assert frame.mask(lambda df: df["n"] > 1) == [False, False, True]
    assert frame.mask(df["n"] > 1) == [False, False, True]
    assert PolarsSeries(df["n"]).mask(lambda n: n > 1) == [False, False, True]
    assert frame.mask(pl.Series([None, None, None])) == [False, False, False]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (pl.col("n"), "of Int64; compare first"),
        (pl.Series([1, 2, 3]), "of Int64; compare first"),
        ((pl.col("n") > 1).any(), "has 1 entries, the frame has 3 rows"),
        (pl.all() > 1, "an expression of 2 columns"),
        (pl.DataFrame({"x": [True] * 3}), "got a polars.DataFrame"),
        (pl.LazyFrame({"x": [True] * 3}), "got a polars.LazyFrame"),
    ],
)
def test_other_masks_are_told_by_their_name(where, told):
    with pytest.raises(UsageError, match=told):
        PolarsFrame(pl.DataFrame({"n": [1, 2, 3], "m": [1, 2, 3]})).mask(where)


def test_a_series_has_no_columns_for_an_expression():
    with pytest.raises(UsageError, match=r"got a polars.Expr"):
        PolarsSeries(pl.Series("n", [1])).mask(pl.col("n") > 1)


def test_kept_values_come_from_any_dtype_of_the_old_column():
    frame = PolarsFrame(
        pl.DataFrame(
            {
                "x": pl.Series(["pos", "neg"], dtype=pl.Categorical),
                "at": pl.Series([datetime(2024, 1, 1), None]).dt.replace_time_zone("Europe/Berlin"),  # noqa: DTZ001
            }
        )
    )
    assert frame.kept(Column("x", LABELS, [None, None]), [False, False]).values == ["pos", "neg"]
    moved = frame.kept(Column("at", ColumnType("datetime", utc=True), [None, None]), [False, False])
    assert moved.values == [datetime(2023, 12, 31, 23, tzinfo=UTC), None]
    assert polars_series(moved).dtype == pl.Datetime("us", "UTC")
    series = PolarsSeries(pl.Series("x", ["a"]))
    column = Column("x", LABELS, [None])
    assert series.kept(column, [False]) is column
