"""Frames of pandas: its DataFrame, its Series, and the arrays that a schema decides."""

# pyright: reportUnknownMemberType=false
# pandas is typed in part: what it leaves open is Any at this seam.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
import pandas as pd

from llmframe.core.columns import Column
from llmframe.errors import UsageError
from llmframe.frames.arrow import arrow_array
from llmframe.frames.kept import kept
from llmframe.frames.masks import mask_of, not_a_mask, not_boolean
from llmframe.frames.pandas_cells import pandas_cells, pandas_nulls, pandas_values
from llmframe.frames.placement import placement
from llmframe.frames.vectors import check_vectors, has_vectors, read_vectors

REPORT_KEY: Final = "llm"
"""Where `DataFrame.attrs` holds a run's report."""

_STRING: Final[Any] = pd.StringDtype(na_value=np.nan) if int(pd.__version__.split(".")[0]) >= 3 else pd.StringDtype()  # noqa: PLR2004
"""pandas' string default; pandas 2 has object there, which holds anything, so its own string dtype is taken."""


class PandasFrame:
    """A `pandas.DataFrame`."""

    single = False

    def __init__(self, native: Any) -> None:
        self.native = native
        self.names = [_label_text(label) for label in native.columns]
        self._arrays: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.native.index)

    def part(self, start: int, stop: int) -> PandasFrame:
        """Rows `start:stop`, a view."""
        return PandasFrame(self.native.iloc[start:stop])

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of some columns as lists of Python values; NaN, NaT, NA and None are `None`."""
        return [pandas_cells(self._values(at)[start:stop]) for at in positions]

    def null_count(self, position: int) -> int:
        """How many cells of a column are missing."""
        return pandas_nulls(self.native.iloc[:, position])

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> Any:
        """A shallow copy with `columns` at the end or in place, on the same index object."""
        source = self.native
        places = placement(self.names, columns, replace=replace)
        out = source.copy(deep=False)
        out.index = source.index  # the copy's is another object
        levels = source.columns.nlevels
        for column, place in zip(columns, places, strict=True):
            # Arrays, never a Series: it would be aligned, and on a duplicate index wrongly and in silence.
            array = pandas_array(column)
            if place is None:
                label = column.name if levels == 1 else (column.name, *[""] * (levels - 1))
                out.insert(out.shape[1], label, array)
            else:
                out.isetitem(place, array)
        _put_report(source, out, report)
        return out

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: a boolean Series on the frame's index, array, list, `pd.col` or function."""
        also = ", or a `pd.col` expression"
        found = where
        if callable(found) and not _is_col(found):
            found = cast("Callable[[Any], object]", found)(self.native)
        if _is_col(found):
            found = self._evaluated(found)
        return _mask(found, self.native.index, also=also)

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` with the rows that weren't asked filled from the existing column."""
        if column.name not in self.names:
            return column
        position = self.names.index(column.name)
        if column.type.kind == "vector":
            cells = [None if pd.api.types.is_scalar(cell) else cell for cell in self._values(position)]
        else:
            [cells] = self.cells([position], 0, len(self))
        return kept(column, asked, cells, dtype=str(self.native.dtypes.iloc[position]))

    def taken(self, rows: Sequence[int]) -> PandasFrame:
        """The rows at these positions, with their labels of the index."""
        return PandasFrame(self.native.iloc[np.array(rows, dtype="int64")])

    def picked(self, columns: Sequence[int]) -> PandasFrame:
        """The columns at these positions, on the same index object."""
        out = self.native.iloc[:, list(columns)]
        out.index = self.native.index
        return PandasFrame(out)

    def _values(self, position: int) -> Any:
        if position not in self._arrays:
            self._arrays[position] = pandas_values(self.native.iloc[:, position])
        return self._arrays[position]

    def _evaluated(self, where: Any) -> Any:
        """A `pd.col` expression over the frame: `assign` is its public way, under a name that nobody has."""
        name = "where"
        while name in self.names:
            name += "_"
        return self.native.assign(**{name: where}).iloc[:, -1]


class PandasSeries:
    """A `pandas.Series` as a frame of one column."""

    single = True

    def __init__(self, native: Any) -> None:
        self.native = native
        self.names = ["" if native.name is None else _label_text(native.name)]

    def __len__(self) -> int:
        return len(self.native.index)

    def part(self, start: int, stop: int) -> PandasSeries:
        """Rows `start:stop`, a view."""
        return PandasSeries(self.native.iloc[start:stop])

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` as lists of Python values, once for each of `positions`."""
        return [pandas_cells(pandas_values(self.native)[start:stop]) for _ in positions]

    def null_count(self, position: int) -> int:
        """How many cells are missing."""
        del position
        return pandas_nulls(self.native)

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> Any:
        """A frame of `columns` alone, on the same index object."""
        del replace  # there is nothing to replace
        placement([], columns, replace=False)
        out = pd.DataFrame({column.name: pandas_array(column) for column in columns}, index=self.native.index)
        out.index = self.native.index
        _put_report(self.native, out, report)
        return out

    def series(self, column: Column) -> Any:
        """`column` as a Series of its name, on the same index object."""
        out = pd.Series(pandas_array(column), index=self.native.index, name=column.name)
        out.index = self.native.index
        out.attrs = dict(self.native.attrs)
        return out

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: a boolean Series on the same index, array, list or function."""
        found = where
        if callable(found) and not _is_col(found):
            found = cast("Callable[[Any], object]", found)(self.native)
        return _mask(found, self.native.index)

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` itself: a Series holds no earlier answers."""
        del asked
        return column


def pandas_array(column: Column) -> Any:
    """The values of a column as an array of its dtype; nothing is inferred from them."""
    kind = column.type.kind
    if has_vectors(column.type):
        check_vectors(column.values, column.type)
        column = replace(column, values=read_vectors(column.values, column.type, _read_only))
    if kind in ("list", "struct"):
        objects = column.unshared()
        array = np.empty(len(objects), dtype=object)
        array[:] = objects
        return array
    if kind in ("date", "datetime", "duration", "decimal"):
        return pd.arrays.ArrowExtensionArray(arrow_array(column))
    values = _array(column)
    # a negative place counts from the end, in pandas' `take` too
    return values if column.rows is None else values.take(np.frombuffer(column.rows, dtype="int64"))


def _array(column: Column) -> Any:
    """The different values of a column as an array."""
    values = column.values
    match column.type.kind:
        case (
            "vector"
        ):  # object: what `pd.read_parquet` reads back; its Arrow dtype with a size can be written and not read
            array = np.empty(len(values), dtype=object)
            for row, value in enumerate(values):  # `array[:] =` makes a matrix of arrays of one length
                array[row] = value
            return array
        case "enum":
            codes: dict[object, int] = {label: code for code, label in enumerate(column.type.labels)}
            codes[None] = -1
            dtype = pd.CategoricalDtype(list(column.type.labels))
            return pd.Categorical.from_codes([codes[value] for value in values], dtype=dtype)
        case "bool":
            return pd.arrays.BooleanArray(*_masked(values, "bool"))
        case "int":
            return pd.arrays.IntegerArray(*_masked(values, "int64"))
        case "float":
            return np.array(values, dtype="float64")
        case _:
            return pd.array(values, dtype=_STRING)


def _read_only(vector: bytes) -> Any:
    """A vector as a float32 array on its own bytes: rows may share it, for none can write to it."""
    return np.frombuffer(vector, dtype="<f4").astype("float32", copy=False)


def _masked(values: Sequence[object], dtype: str) -> tuple[Any, Any]:
    """Values with 0 for null, beside the nulls: exact for every int, which a detour over float isn't."""
    filled = np.array([0 if value is None else value for value in values], dtype=dtype)
    return filled, np.array([value is None for value in values], dtype="bool")


def _put_report(source: Any, out: Any, report: str | None) -> None:
    out.attrs = dict(source.attrs) if report is None else {**source.attrs, REPORT_KEY: report}


def _label_text(label: object) -> str:
    if isinstance(label, tuple):
        return ".".join(str(part) for part in cast("tuple[object, ...]", label) if part != "")
    return str(label)


def _is_col(value: object) -> bool:
    """Whether `value` is a `pd.col` expression (pandas 3)."""
    expression = getattr(pd.api.typing, "Expression", None)
    return expression is not None and isinstance(value, expression)


def _mask(found: Any, index: Any, *, also: str = "") -> list[bool]:
    if isinstance(found, pd.DataFrame) or _is_col(found):
        raise not_a_mask(found, also=also)
    if isinstance(found, pd.Series):
        if found.index is not index and not found.index.equals(index):
            raise UsageError(
                "`where` is a Series on another index than the frame's, so its rows can't be told apart; build it from "
                "the same frame, for instance `where=lambda df: df['x'] > 0`, or pass an array to go by position"
            )
        found = found.array
    dtype = getattr(found, "dtype", None)
    if dtype is not None and dtype.kind not in "bO":
        raise not_boolean(found, str(dtype))
    return mask_of(found.to_numpy(dtype=object) if hasattr(found, "to_numpy") else found, rows=len(index))
