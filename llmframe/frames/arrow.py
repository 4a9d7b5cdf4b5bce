"""Frames of pyarrow."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as _untyped_compute

from llmframe.core.columns import Column, ColumnType
from llmframe.frames.arrow_cells import arrow_cells
from llmframe.frames.kept import kept
from llmframe.frames.masks import mask_of
from llmframe.frames.placement import placement
from llmframe.frames.vectors import has_vectors, matrix

_compute: Any = _untyped_compute

_FIXED: Final[dict[str, Any]] = {
    "string": pa.string(),
    "json": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "date": pa.date32(),
    "duration": pa.duration("us"),
}
"""Types without parameters."""


class ArrowFrame:
    """A `pyarrow.Table`."""

    single = False

    def __init__(self, native: Any) -> None:
        self.native = native
        self.names: list[str] = list(native.column_names)

    def __len__(self) -> int:
        return self.native.num_rows

    def part(self, start: int, stop: int) -> ArrowFrame:
        """Rows `start:stop`, a view."""
        return ArrowFrame(self.native.slice(start, stop - start))

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of some columns as lists of Python values."""
        table = self.native
        return [arrow_cells(table.column(at).slice(start, stop - start), nan_is_null=False) for at in positions]

    def null_count(self, position: int) -> int:
        """How many cells of a column are null; NaN is a value."""
        return self.native.column(position).null_count

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> Any:
        """A table with `columns` at the end or in place; metadata of the schema and of other fields stays."""
        del report  # a table's metadata describes the data to other programs, it is no place for a run's figures
        table = self.native
        for column, place in zip(columns, placement(self.names, columns, replace=replace), strict=True):
            field = pa.field(column.name, arrow_type(column.type))
            array = arrow_array(column)
            table = table.append_column(field, array) if place is None else table.set_column(place, field, array)
        return table

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: a list or array of booleans, a function of the table, or a polars expression."""
        if type(where).__module__.partition(".")[0] == "polars":
            import polars as pl  # noqa: PLC0415 - whoever holds an expression has it

            from llmframe.frames.polars import PolarsFrame  # noqa: PLC0415 - as above

            return PolarsFrame(pl.DataFrame(self.native)).mask(where)
        return mask_of(where(self.native) if callable(where) else where, rows=len(self))

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` with the rows that weren't asked filled from the existing column."""
        if column.name not in self.names:
            return column
        position = self.names.index(column.name)
        if column.type.kind == "vector":
            cells = self.native.column(position).to_pylist()
        else:
            [cells] = self.cells([position], 0, len(self))
        return kept(column, asked, cells, dtype=str(self.native.schema.field(position).type))

    def taken(self, rows: Sequence[int]) -> ArrowFrame:
        """The rows at these positions."""
        return ArrowFrame(self.native.take(pa.array(rows, pa.int64())))

    def picked(self, columns: Sequence[int]) -> ArrowFrame:
        """The columns at these positions."""
        return ArrowFrame(self.native.select(list(columns)))


def arrow_type(type_: ColumnType, *, nested: bool = False) -> Any:
    """The Arrow type of a column; labels inside lists and structs are plain strings, which every reader takes."""
    match type_.kind:
        case "enum":
            return pa.string() if nested else pa.dictionary(pa.int32(), pa.string())
        case "datetime":
            return pa.timestamp("us", "UTC" if type_.utc else None)
        case "decimal":
            return pa.decimal128(38, type_.scale)
        case "list":
            return pa.list_(arrow_type(type_.item or ColumnType("json"), nested=True))
        case "struct":
            return pa.struct([(name, arrow_type(field, nested=True)) for name, field in type_.fields])
        case "vector":
            return pa.list_(pa.float32(), type_.size) if type_.size else pa.list_(pa.float32())
        case kind:
            return _FIXED[kind]


def arrow_array(column: Column) -> Any:
    """The values of a column as an Arrow array of its type; labels in their declared order."""
    if has_vectors(column.type):
        return _with_vectors(column.spread(), column.type)
    match column.type.kind:
        case "list" | "struct" | "string" | "json":
            # text taken by rows may be more than the 2 GB of one array, which `pa.array` cuts into several
            return pa.array(column.spread(), arrow_type(column.type))
        case "enum":
            codes: dict[object, int | None] = {label: code for code, label in enumerate(column.type.labels)}
            codes[None] = None
            indices = _taken(pa.array([codes[value] for value in column.values], pa.int32()), column)
            return pa.DictionaryArray.from_arrays(indices, pa.array(column.type.labels, pa.string()))
        case _:
            return _taken(pa.array(column.values, arrow_type(column.type)), column)


def _with_vectors(values: Sequence[Any], type_: ColumnType) -> Any:
    """Vectors, or structs with vectors in them."""
    wanted = arrow_type(type_, nested=True)
    if not has_vectors(type_) or (type_.kind == "vector" and not type_.size):
        return pa.array(values, wanted)
    present = pa.array([value is not None for value in values], pa.bool_())
    if type_.kind == "vector":
        numbers = pa.array(matrix(values, size=type_.size).reshape(-1))
        return pa.Array.from_buffers(wanted, len(values), [present.buffers()[1]], children=[numbers])
    fields = [
        _with_vectors([None if value is None else value[name] for value in values], field)
        for name, field in type_.fields
    ]
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=_compute.invert(present))


def _taken(values: Any, column: Column) -> Any:
    """The column's rows of its different values."""
    if column.rows is None:
        return values
    places = pa.Array.from_buffers(pa.int64(), len(column.rows), [None, pa.py_buffer(column.rows)])
    return values.take(_compute.if_else(_compute.less(places, 0), _compute.add(places, len(values)), places))
