"""polars Series as lists of plain Python values."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR
from typing import Any, Final

import polars as pl

from llmframe.frames.cells import (
    Reader,
    clock,
    list_reader,
    moment,
    plain,
    read_all,
    shortest,
    span,
    struct_reader,
    zone,
)

_NANOSECONDS: Final = 1000
_NARROW: Final = frozenset({"Float32", "Float16"})  # by name: polars 1.30 has no Float16


def polars_cells(series: pl.Series) -> list[object]:
    """The values of a Series of any dtype, `None` for null; a float NaN is a value."""
    dtype = series.dtype
    if dtype == pl.Float32:  # 0.1 us a value by way of its text, 1 us by `shortest`
        return series.cast(pl.String).cast(pl.Float64).to_list()
    if _has_nanoseconds(dtype):
        whole = series.to_physical()
        if not (whole % _NANOSECONDS != 0).any():
            return (series if dtype == pl.Time else series.cast(_in_microseconds(dtype))).to_list()
    if isinstance(dtype, pl.Datetime) and dtype.time_unit != "ns":
        return _moments(series, dtype)
    reader = _reader(dtype)
    return series.to_list() if reader is None else read_all(series.cast(_wire(dtype)).to_list(), reader)


def _moments(series: pl.Series, dtype: pl.Datetime) -> list[object]:
    """Datetimes of micro- or milliseconds; text where Python doesn't have the year."""
    if series.dt.year().is_between(MINYEAR + 1, MAXYEAR - 1).all():  # a year's margin for the time zone
        return series.to_list()
    place = zone(dtype.time_zone)
    whole = series.cast(_in_microseconds(dtype)).to_physical().to_list()
    return read_all(whole, lambda microseconds: moment(microseconds * _NANOSECONDS, place))


def _has_nanoseconds(dtype: pl.DataType) -> bool:
    # By `==`: polars 1.30 hands out dtypes without parameters as classes.
    return dtype == pl.Time or (isinstance(dtype, pl.Datetime | pl.Duration) and dtype.time_unit == "ns")


def _in_microseconds(dtype: pl.DataType) -> pl.DataType:
    return pl.Datetime("us", dtype.time_zone) if isinstance(dtype, pl.Datetime) else pl.Duration("us")


def _wire(dtype: Any) -> pl.DataType:
    """`dtype` with its nanosecond leaves as Int64, which is how `_reader` takes them."""
    if _has_nanoseconds(dtype):
        return pl.Int64()
    if isinstance(dtype, pl.List):
        return pl.List(_wire(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.List(_wire(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(field.name, _wire(field.dtype)) for field in dtype.fields])
    return dtype


def _reader(dtype: Any) -> Reader | None:
    """What turns one value of `to_list` into the plain one; `None` when it is that already."""
    if isinstance(dtype, pl.List | pl.Array):
        item = _reader(dtype.inner)
        return None if item is None else list_reader(item)
    if isinstance(dtype, pl.Struct):
        readers = {field.name: _reader(field.dtype) for field in dtype.fields}
        needed = {name: reader for name, reader in readers.items() if reader is not None}
        return struct_reader(needed) if needed else None
    if dtype == pl.Object:
        return lambda value: plain(value, nan_is_null=False)
    if str(dtype) in _NARROW:
        code = "f" if dtype == pl.Float32 else "e"
        return lambda value: shortest(value, code)
    return _time_reader(dtype) if _has_nanoseconds(dtype) else None


def _time_reader(dtype: pl.DataType) -> Reader:
    if isinstance(dtype, pl.Datetime):
        place = zone(dtype.time_zone)
        return lambda value: moment(value, place)
    return span if isinstance(dtype, pl.Duration) else clock
