"""Frames of polars: its DataFrame, its Series, and the dtypes that a schema decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import polars as pl

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.kept import kept
from llmframe.frames.masks import mask_of, not_a_mask, not_boolean
from llmframe.frames.placement import placement
from llmframe.frames.polars_cells import polars_cells
from llmframe.frames.polars_values import typed_series

_FIXED: Final[dict[str, pl.DataType]] = {
    "string": pl.String(),
    "json": pl.String(),
    "bool": pl.Boolean(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "date": pl.Date(),
    "duration": pl.Duration("us"),
}
"""Dtypes without parameters."""


class PolarsFrame:
    """A `polars.DataFrame`."""

    single = False

    def __init__(self, native: pl.DataFrame) -> None:
        self.native = native
        self.names = native.columns

    def __len__(self) -> int:
        return self.native.height

    def part(self, start: int, stop: int) -> PolarsFrame:
        """Rows `start:stop`, a view."""
        return PolarsFrame(self.native.slice(start, stop - start))

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of some columns as lists of Python values; a float NaN is a value."""
        return [polars_cells(self.native.to_series(at).slice(start, stop - start)) for at in positions]

    def null_count(self, position: int) -> int:
        """How many cells of a column are null; NaN is a value."""
        return self.native.to_series(position).null_count()

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> pl.DataFrame:
        """A frame with `columns` at the end or in place."""
        del report  # polars keeps nothing beside the data
        placement(self.names, columns, replace=replace)
        return self.native.with_columns(*map(polars_series, columns))

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: an expression, a boolean Series or list, or a function of the frame."""
        found = cast("Callable[[pl.DataFrame], object]", where)(self.native) if callable(where) else where
        if isinstance(found, pl.Expr):
            found = self._evaluated(found)
        return _mask(found, rows=len(self), also=", or a polars expression")

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` with the rows that weren't asked filled from the existing column."""
        if column.name not in self.names:
            return column
        existing = self.native[column.name]
        cells = existing.to_list() if column.type.kind == "vector" else polars_cells(existing)
        return kept(column, asked, cells, dtype=str(existing.dtype))

    def taken(self, rows: Sequence[int]) -> PolarsFrame:
        """The rows at these positions."""
        return PolarsFrame(self.native[pl.Series(rows, dtype=pl.Int64)])

    def picked(self, columns: Sequence[int]) -> PolarsFrame:
        """The columns at these positions."""
        return PolarsFrame(self.native.select([self.names[at] for at in columns]))

    def _evaluated(self, where: pl.Expr) -> pl.Series:
        result = self.native.select(where)
        if result.width != 1:
            raise UsageError(f"`where` is an expression of {result.width} columns; combine them into one boolean")
        return result.to_series()


class PolarsSeries:
    """A `polars.Series` as a frame of one column."""

    single = True

    def __init__(self, native: pl.Series) -> None:
        self.native = native
        self.names = [native.name]

    def __len__(self) -> int:
        return self.native.len()

    def part(self, start: int, stop: int) -> PolarsSeries:
        """Rows `start:stop`, a view."""
        return PolarsSeries(self.native.slice(start, stop - start))

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` as lists of Python values, once for each of `positions`."""
        return [polars_cells(self.native.slice(start, stop - start)) for _ in positions]

    def null_count(self, position: int) -> int:
        """How many cells are null; NaN is a value."""
        del position
        return self.native.null_count()

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> pl.DataFrame:
        """A frame of `columns` alone."""
        del report
        placement([], columns, replace=replace)
        return pl.DataFrame([polars_series(column) for column in columns])

    def series(self, column: Column) -> pl.Series:
        """`column` as a Series of its name."""
        return polars_series(column)

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: a boolean Series or list, or a function of the Series that returns one."""
        found = cast("Callable[[pl.Series], object]", where)(self.native) if callable(where) else where
        return _mask(found, rows=len(self))

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` itself: a Series holds no earlier answers."""
        del asked
        return column


def dtype(type_: ColumnType) -> pl.DataType:
    """The polars dtype of a column."""
    match type_.kind:
        case "enum":
            return pl.Enum(type_.labels)
        case "datetime":
            return pl.Datetime("us", "UTC" if type_.utc else None)
        case "decimal":
            return pl.Decimal(38, type_.scale)
        case "list":
            return pl.List(dtype(type_.item or ColumnType("json")))
        case "struct":
            return struct_dtype(type_.fields)
        case "vector":
            return pl.Array(pl.Float32(), type_.size) if type_.size else pl.List(pl.Float32())
        case kind:
            return _FIXED[kind]


def struct_dtype(columns: Sequence[tuple[str, ColumnType]]) -> pl.Struct:
    """The Struct dtype of named columns: known from the schema, before any call."""
    return pl.Struct([pl.Field(name, dtype(type_)) for name, type_ in columns])


def struct_series(name: str, columns: Sequence[Column]) -> pl.Series:
    """A Struct Series with `columns` as its fields, of `struct_dtype`'s dtype; rows are never null themselves."""
    return pl.DataFrame([polars_series(column) for column in columns]).to_struct(name)


def polars_series(column: Column) -> pl.Series:
    """A column as a Series of its dtype; nothing is inferred from the values."""
    if column.type.kind == "vector":  # polars takes rows of a matrix slower than bytes are joined
        return typed_series(column.name, column.spread(), dtype(column.type))
    values = typed_series(column.name, column.values, dtype(column.type))
    return values if column.rows is None else values.gather(pl.Series(column.rows, dtype=pl.Int64))


def _mask(found: Any, *, rows: int, also: str = "") -> list[bool]:
    if isinstance(found, pl.Series):
        if found.dtype != pl.Boolean and found.dtype != pl.Null:  # noqa: PLR1714 - a dtype equals its class
            raise not_boolean(found, str(found.dtype))
        found = found.to_list()
    elif isinstance(found, pl.Expr | pl.DataFrame | pl.LazyFrame):
        raise not_a_mask(found, also=also)
    return mask_of(found, rows=rows)
