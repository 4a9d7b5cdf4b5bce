"""Arrow arrays as lists of plain Python values; Arrow-backed pandas columns come this way too."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from typing import Any

import pyarrow as pa

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

t: Any = pa.types


def arrow_cells(array: Any, *, nan_is_null: bool) -> list[object]:
    """The values of an Array or ChunkedArray, `None` for null.

    Parameters
    ----------
    array
        Of any Arrow type.
    nan_is_null
        Whether a float NaN is a missing value, as in pandas.
    """
    type_ = array.type
    stored = _stored(type_)
    if stored is not None:
        return arrow_cells(array.cast(stored), nan_is_null=nan_is_null)
    if t.is_float32(type_):  # 0.1 us a value by way of its text, 1 us by `shortest`
        return arrow_cells(array.cast(pa.string()).cast(pa.float64()), nan_is_null=nan_is_null)
    if _has_nanoseconds(type_) and _fits_microseconds(array):
        return arrow_cells(array.cast(_in_microseconds(type_)), nan_is_null=nan_is_null)
    if (t.is_timestamp(type_) or t.is_duration(type_)) and not _has_nanoseconds(type_):
        return _microseconds(array.cast(_in_microseconds(type_)))
    reader = _reader(type_, nan_is_null=nan_is_null)
    return array.to_pylist() if reader is None else read_all(array.cast(_wire(type_)).to_pylist(), reader)


def _stored(type_: Any) -> Any:
    """The type behind a dictionary or an extension type."""
    if t.is_dictionary(type_):
        return type_.value_type
    return type_.storage_type if isinstance(type_, pa.BaseExtensionType) else None


def _number(value: float) -> float | None:
    return None if value != value else value  # noqa: PLR0124 - NaN


def _has_nanoseconds(type_: Any) -> bool:
    return (t.is_timestamp(type_) or t.is_duration(type_) or t.is_time64(type_)) and type_.unit == "ns"


def _in_microseconds(type_: Any) -> Any:
    if t.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    return pa.duration("us") if t.is_duration(type_) else pa.time64("us")


def _fits_microseconds(array: Any) -> bool:
    """Whether no count of nanoseconds has a rest below the microsecond."""
    return not (_numpy(array.cast(pa.int64()).drop_null()) % 1000).any()


def _microseconds(array: Any) -> list[object]:
    """Moments or durations in microseconds by way of numpy, ten times as fast as `to_pylist`."""
    raw = _numpy(array)
    values: list[Any] = raw.tolist()
    if not t.is_timestamp(array.type):
        return values
    place = zone(array.type.tz)
    if place is not None or any(isinstance(value, int) for value in values):  # an int: a year that Python doesn't have
        whole = [
            None if value is None else count for value, count in zip(values, raw.view("int64").tolist(), strict=True)
        ]
        return read_all(whole, lambda microseconds: moment(microseconds * 1000, place))
    return values


def _numpy(array: Any) -> Any:
    # A ChunkedArray always copies, and takes no other wish; an Array must be allowed to, for the nulls.
    return array.to_numpy() if isinstance(array, pa.ChunkedArray) else array.to_numpy(zero_copy_only=False)


def _wire(type_: Any) -> Any:
    """`type_` with its nanosecond leaves as int64, which is how `_reader` takes them."""
    if _has_nanoseconds(type_):
        return pa.int64()
    if t.is_list(type_):
        return pa.list_(_wire(type_.value_type))
    if t.is_large_list(type_):
        return pa.large_list(_wire(type_.value_type))
    if t.is_fixed_size_list(type_):
        return pa.list_(_wire(type_.value_type), type_.list_size)
    if t.is_struct(type_):
        return pa.struct([(field.name, _wire(field.type)) for field in type_])
    return type_


def _reader(type_: Any, *, nan_is_null: bool) -> Reader | None:
    """What turns one value of `to_pylist` into the plain one; `None` when it is that already."""
    if t.is_floating(type_):
        return _float_reader(type_, nan_is_null=nan_is_null)
    if _has_nanoseconds(type_):
        return _time_reader(type_)
    if t.is_map(type_):
        return lambda pairs: [{"key": key, "value": plain(value, nan_is_null=nan_is_null)} for key, value in pairs]
    if t.is_struct(type_):
        readers = {field.name: _reader(field.type, nan_is_null=nan_is_null) for field in type_}
        return struct_reader({name: reader for name, reader in readers.items() if reader is not None})
    if t.is_nested(type_) and hasattr(type_, "value_type"):
        item = _reader(type_.value_type, nan_is_null=nan_is_null)
        return None if item is None else list_reader(item)
    return None


def _float_reader(type_: Any, *, nan_is_null: bool) -> Reader | None:
    if t.is_float64(type_):
        return _number if nan_is_null else None
    code = "f" if t.is_float32(type_) else "e"
    if not nan_is_null:
        return lambda value: shortest(value, code)
    return lambda value: _number(shortest(value, code))


def _time_reader(type_: Any) -> Reader:
    if t.is_timestamp(type_):
        place = zone(type_.tz)
        return lambda value: moment(value, place)
    return span if t.is_duration(type_) else clock
