"""Existing cells of a column as values of its new dtype, for rows that aren't asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, Final, cast

from llmframe.core.columns import Column, ColumnType
from llmframe.core.vectors import vector_of
from llmframe.errors import UsageError

_INT64: Final = range(-(2**63), 2**63)
_DECIMAL_DIGITS: Final = 38

_WANTED: Final[dict[str, str]] = {
    "enum": "one of its labels",
    "string": "text",
    "bool": "true or false",
    "int": "a whole number of 64 bits",
    "float": "a number",
    "date": "a date",
    "datetime": "a date and time in whole microseconds without a time zone",
    "duration": "a duration in whole microseconds",
    "decimal": "a decimal number that its scale can hold",
    "list": "a list of such values",
    "struct": "a record with its fields",
    "json": "JSON",
    "vector": "a list of as many numbers as the new vectors have",
}


class _MisfitError(Exception):
    """A value doesn't fit; the message says what was wanted."""


def kept(column: Column, asked: Sequence[bool], cells: Sequence[object], *, dtype: str) -> Column:
    """`column` with its rows that weren't asked filled from `cells`, converted to its dtype.

    Parameters
    ----------
    column
        New values; those of rows that weren't asked are ignored.
    asked
        One bool a row.
    cells
        The existing column's cells, as `Frame.cells` gives them; null stays null.
    dtype
        The existing dtype in its library's words, for the message.

    Raises
    ------
    UsageError
        If a cell doesn't fit; the message holds no cell.
    """
    column = _sized(column, cells)
    values = list(column.unshared())
    try:
        for row, is_asked in enumerate(asked):
            if not is_asked:
                values[row] = fitted(cells[row], column.type)
    except _MisfitError as misfit:
        raise UsageError(
            f"`overwrite` with `where` keeps the other rows of column {column.name!r} ({dtype}), but a value there "
            f"isn't {misfit}, as the schema needs; convert the column first, drop `where`, or write to other columns "
            "with `prefix=`"
        ) from None
    return replace(column, values=values, rows=None)


def _sized(column: Column, cells: Sequence[object]) -> Column:
    """A column of vectors, none of which came, with the size of those that are there."""
    if column.type.kind != "vector" or column.type.size:
        return column
    sizes = (len(cast("list[object]", cell)) for cell in cells if hasattr(cell, "__len__"))
    return replace(column, type=replace(column.type, size=next(sizes, 0)))


def fitted(value: Any, type_: ColumnType) -> object:
    """`value` as the dtype holds it; raises when nothing but a guess would make it fit."""
    if value is None:
        return None
    converted = _CONVERTERS[type_.kind](value, type_)
    if converted is None:
        aware = type_.kind == "datetime" and type_.utc
        raise _MisfitError("a date and time with a time zone" if aware else _WANTED[type_.kind])
    return converted


def _label(value: Any, type_: ColumnType) -> str | None:
    return value if value in type_.labels else None


def _text(value: Any, _: ColumnType) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: Any, _: ColumnType) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(value: Any, _: ColumnType) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        whole = int(value)
    except (ValueError, OverflowError):  # nan, inf
        return None
    return whole if whole == value and whole in _INT64 else None


def _number(value: Any, _: ColumnType) -> float | None:
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def _day(value: Any, _: ColumnType) -> date | None:
    if isinstance(value, datetime):
        return value.date() if value.tzinfo is None and value.time() == time() else None
    return value if isinstance(value, date) else None


def _moment(value: Any, type_: ColumnType) -> datetime | None:
    if not isinstance(value, datetime) or (value.tzinfo is not None) is not type_.utc:
        return None
    return value.astimezone(UTC) if type_.utc else value


def _duration(value: Any, _: ColumnType) -> timedelta | None:
    return value if isinstance(value, timedelta) else None


def _scaled(value: Any, type_: ColumnType) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    with localcontext() as context:
        context.prec = _DECIMAL_DIGITS
        try:
            scaled = number.quantize(Decimal(1).scaleb(-type_.scale))
        except InvalidOperation:  # nan, inf, more than 38 digits
            return None
    return scaled if scaled == number else None


def _items(value: Any, type_: ColumnType) -> list[object] | None:
    if not isinstance(value, list) or type_.item is None:
        return None
    return [fitted(item, type_.item) for item in cast("list[object]", value)]


def _record(value: Any, type_: ColumnType) -> dict[str, object] | None:
    fields = dict(type_.fields)
    if not isinstance(value, dict):
        return None
    entries = cast("dict[object, object]", value)
    if not entries.keys() <= fields.keys():
        return None
    return {name: fitted(entries.get(name), field) for name, field in fields.items()}


def _json(value: Any, _: ColumnType) -> str | None:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return None


def _vector(value: Any, type_: ColumnType) -> bytes | None:
    if isinstance(value, str | bytes) or not hasattr(value, "__len__") or len(value) != type_.size:
        return None
    try:
        return vector_of(value)
    except TypeError:  # null, text or a list among the numbers
        return None


_CONVERTERS: Final[dict[str, Callable[[Any, ColumnType], object]]] = {
    "enum": _label,
    "string": _text,
    "bool": _truth,
    "int": _whole,
    "float": _number,
    "date": _day,
    "datetime": _moment,
    "duration": _duration,
    "decimal": _scaled,
    "list": _items,
    "struct": _record,
    "json": _json,
    "vector": _vector,
}
"""Each gives the converted value, or `None` when it doesn't fit."""
