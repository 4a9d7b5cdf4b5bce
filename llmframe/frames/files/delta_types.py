"""What Arrow types become in a Delta table."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

_arrow: Any = pa
_types: Any = pa.types

_WIDER: Final = (
    (pa.uint8(), pa.int16()),
    (pa.uint16(), pa.int32()),
    (pa.uint32(), pa.int64()),
    (pa.uint64(), pa.decimal128(20, 0)),
    (pa.float16(), pa.float32()),
)
"""Delta has no unsigned integers: the next type that holds all their values, for deltalake takes the signed one of the
same size and fails at a large value, once everything is paid for."""

_INSTANT: Final = pa.timestamp("us", "UTC")
_CLOCK: Final = pa.timestamp("us")


def delta_type(type_: Any) -> Any:
    """The type under which Delta keeps a column; types that it can't keep come back as they are.

    Labels become text; lists of a fixed size are lists of any, for Delta's have none; integers and floats become the
    next wider type that Delta has; instants are kept in UTC, all times in microseconds.
    """
    if _types.is_dictionary(type_):
        return delta_type(type_.value_type)
    if _types.is_timestamp(type_):
        return _CLOCK if type_.tz is None else _INSTANT
    if _types.is_struct(type_):
        return pa.struct([delta_field(type_.field(at)) for at in range(type_.num_fields)])
    if _types.is_map(type_):
        return pa.map_(delta_type(type_.key_type), delta_type(type_.item_type))
    if _types.is_large_list(type_):
        return pa.large_list(delta_field(type_.value_field))
    if _types.is_list(type_) or _types.is_fixed_size_list(type_):
        return pa.list_(delta_field(type_.value_field))
    return next((wider for narrow, wider in _WIDER if type_ == narrow), type_)


def delta_field(field: Any) -> Any:
    """A field with its type as Delta keeps it."""
    return field.with_type(delta_type(field.type))


def delta_schema(schema: Any) -> Any:
    """A schema with the types that Delta keeps."""
    return _arrow.schema([delta_field(field) for field in schema], metadata=schema.metadata)
