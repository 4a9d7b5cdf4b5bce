"""Cells of Arrow columns as JSON has them."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as _untyped_compute

from llmframe.core.cells import cell_text
from llmframe.frames.files.jsonl_shape import ABSENT, AS_JSON, MARK

Convert = Callable[[Any], object]

_compute: Any = _untyped_compute
_types: Any = pa.types


def json_cells(column: Any, field: Any) -> list[object]:
    """The cells of a column as values that `json.dumps` takes.

    Dates, times, durations and Decimals are the text that prompts have; NaN and the infinities are null, for JSON has
    none of them. What was read as JSON text from JSON lines is the value it says. Numbers of 32 bits, also in lists of
    one level as vectors are, have the fewest digits that say them.
    """
    if _types.is_float32(field.type):
        column = _shortest(column)
    elif any(test(field.type) for test in _LISTS) and _types.is_float32(field.type.value_type):
        return _vectors(column)
    convert = _converter(field)
    cells = column.to_pylist()
    return cells if convert is None else [None if cell is None else convert(cell) for cell in cells]


def _vectors(column: Any) -> list[object]:
    """Lists of 32-bit floats by way of all their numbers at once."""
    present = column.drop_null()
    numbers = [
        value if value is None else _finite(value) for value in _shortest(_compute.list_flatten(present)).to_pylist()
    ]
    ends = accumulate(_compute.list_value_length(present).to_pylist(), initial=0)
    lists = (numbers[start:end] for start, end in pairwise(ends))
    return [next(lists) if there else None for there in column.is_valid().to_pylist()]


def _shortest(numbers: Any) -> Any:
    """32-bit floats as the doubles of their shortest text."""
    return numbers.cast(pa.string()).cast(pa.float64())


def is_absent(field: Any) -> bool:
    """Whether null means that the field isn't there, as it was where it came from."""
    return ABSENT in (field.metadata or {}).get(MARK, b"").split(b",")


def binary_columns(schema: Any) -> list[str]:
    """The columns that hold bytes anywhere, which are no text."""
    return [field.name for field in schema if _has_bytes(field.type)]


def _has_bytes(type_: Any) -> bool:
    if _types.is_dictionary(type_):
        return _has_bytes(type_.value_type)
    if any(test(type_) for test in _BYTES):
        return True
    return any(_has_bytes(type_.field(at).type) for at in range(type_.num_fields))


_BYTES: Final = (_types.is_binary, _types.is_large_binary, _types.is_fixed_size_binary)


def _converter(field: Any) -> Convert | None:
    """How a cell that isn't null becomes JSON; None when it is JSON as it stands."""
    type_ = field.type
    if AS_JSON in (field.metadata or {}).get(MARK, b"").split(b","):
        return json.loads
    if _types.is_dictionary(type_):
        return _converter(pa.field(field.name, type_.value_type))
    if _types.is_floating(type_):
        return _finite
    if _types.is_struct(type_):
        return _record([type_.field(at) for at in range(type_.num_fields)])
    if _types.is_map(type_):
        return _mapping(_converter(type_.item_field))
    if any(test(type_) for test in _LISTS):
        return _items(_converter(type_.value_field))
    return None if any(test(type_) for test in _PLAIN) else cast("Convert", cell_text)


_PLAIN: Final = (
    _types.is_null,
    _types.is_boolean,
    _types.is_integer,
    _types.is_string,
    _types.is_large_string,
    *([_types.is_string_view] if hasattr(_types, "is_string_view") else []),
)
_LISTS: Final = (_types.is_list, _types.is_large_list, _types.is_fixed_size_list)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _record(fields: list[Any]) -> Convert:
    parts = [(field.name, _converter(field), is_absent(field)) for field in fields]

    def convert(record: dict[str, Any]) -> dict[str, object]:
        made: dict[str, object] = {}
        for name, inner, absent in parts:
            value = record[name]
            if value is None and absent:
                continue
            made[name] = value if value is None or inner is None else inner(value)
        return made

    return convert


def _mapping(inner: Convert | None) -> Convert:
    def convert(pairs: list[tuple[object, Any]]) -> dict[str, object]:
        return {cell_text(key): value if value is None or inner is None else inner(value) for key, value in pairs}

    return convert


def _items(inner: Convert | None) -> Convert | None:
    if inner is None:
        return None

    def convert(values: list[Any]) -> list[object]:
        return [None if value is None else inner(value) for value in values]

    return convert
