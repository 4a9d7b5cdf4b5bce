"""One object a kind of frame, so that a test is written once and run on every library and dtype family."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

INDEX = [7, 7, 3, 9]
"""Labels of the duplicated index, repeated as often as needed."""


@dataclass(frozen=True)
class Kind:
    """A kind of frame.

    Attributes
    ----------
    name
        For the test's id.
    library
        `"pandas"`, `"polars"`, `"pyarrow"` or `"records"`.
    make
        A frame from a dict of columns with Python values, `None` for null.
    make_series
        A Series from values and a name; `None` where the library has none.
    """

    name: str
    library: str
    make: Callable[[dict[str, list[Any]]], Any]
    make_series: Callable[[list[Any], str], Any] | None = None

    def to_dict(self, frame: Any) -> dict[str, list[Any]]:
        """Columns of a frame as Python values, `None` for every missing value, read by the library's own means."""
        if self.library == "pandas":
            return {name: self.to_list(frame[name]) for name in frame.columns}
        if self.library == "polars":
            return {name: frame[name].to_list() for name in frame.columns}
        if self.library == "pyarrow":
            return frame.to_pydict()
        keys = dict.fromkeys(key for row in frame for key in row)
        return {key: [row.get(key) for row in frame] for key in keys}

    def to_list(self, series: Any) -> list[Any]:
        """Values of a Series."""
        if self.library == "pandas":
            missing = series.isna().tolist()
            return [None if gone else value for value, gone in zip(series.tolist(), missing, strict=True)]
        return series.to_list()

    def dtypes(self, frame: Any) -> list[str]:
        """Dtypes in the library's words; none of a list of dicts."""
        if self.library == "pandas":
            return [str(dtype) for dtype in frame.dtypes]
        if self.library == "polars":
            return [str(dtype) for dtype in frame.dtypes]
        return [str(field.type) for field in frame.schema] if self.library == "pyarrow" else []

    def head(self, frame: Any, rows: int) -> Any:
        """The first rows."""
        if self.library == "pandas":
            return frame.iloc[:rows]
        return frame[:rows] if self.library == "records" else frame.slice(0, rows)

    def through_parquet(self, frame: Any) -> Any:
        """Written to parquet and read back, both by the library's plain function."""
        buffer = io.BytesIO()
        if self.library == "pandas":
            frame.to_parquet(buffer)
            buffer.seek(0)
            return pd.read_parquet(buffer)
        if self.library == "polars":
            frame.write_parquet(buffer)
            buffer.seek(0)
            return pl.read_parquet(buffer)
        if self.library == "pyarrow":
            import pyarrow.parquet as pq

            pq.write_table(frame, buffer)
            buffer.seek(0)
            return pq.read_table(buffer)
        return frame

    def through_pickle(self, frame: Any) -> Any:
        """Pickled and back."""
        return pickle.loads(pickle.dumps(frame))  # noqa: S301 - what the test wrote itself


def _nullable(data: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: _series(values, name) for name, values in data.items()}).convert_dtypes()


def _arrow_backed(data: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values)])) for name, values in data.items()}
    )


def _duplicated(data: dict[str, list[Any]]) -> pd.DataFrame:
    rows = len(next(iter(data.values()), []))
    frame = pd.DataFrame({name: _series(values, name) for name, values in data.items()})
    frame.index = pd.Index([INDEX[row % len(INDEX)] for row in range(rows)], dtype="int64", name="key")
    return frame


def _series(values: list[Any], name: str) -> pd.Series:
    """Without rows a column is still one of text, as a filtered frame's would be."""
    return pd.Series(values, name=name) if values else pd.Series(["x"], name=name).iloc[:0]


def _polars(data: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        {name: pl.Series(name, values, dtype=None if values else pl.String) for name, values in data.items()}
    )


def _records(data: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]


KINDS = [
    Kind(
        "pandas-numpy",
        "pandas",
        lambda data: pd.DataFrame({name: _series(values, name) for name, values in data.items()}),
        _series,
    ),
    Kind("pandas-nullable", "pandas", _nullable, lambda values, name: _series(values, name).convert_dtypes()),
    Kind("pandas-arrow", "pandas", _arrow_backed, lambda values, name: _arrow_backed({name: values})[name]),
    Kind("pandas-duplicated", "pandas", _duplicated, lambda values, name: _duplicated({name: values})[name]),
    Kind("polars", "polars", _polars, lambda values, name: pl.Series(name, values)),
]
"""The kinds that have the accessor."""

ALL_KINDS = [
    *KINDS,
    Kind("pyarrow", "pyarrow", lambda data: pa.table({name: pa.array(values) for name, values in data.items()})),
    Kind("records", "records", _records),
]
"""With those that only the functions take."""
