"""Cells of single values, checked against what their column can hold."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from pydantic_core import to_jsonable_python

INT64 = 2**63
PLAIN_DIGITS = 1000
"""A Decimal of more digits is written with an exponent: `1E+999999` isn't worth a megabyte of zeros."""


class Misfit(ValueError):  # noqa: N818 - it is told as a row's failure, never as a program's error
    """A valid value that its column can't hold; the text says which and why."""


def json_text(value: object) -> str | None:
    """Compact JSON text of a validated value, by field name; `None` stays `None`."""
    if value is None:
        return None
    plain = _in_order(value, to_jsonable_python(value, by_alias=False))
    try:
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise Misfit("holds a number that isn't finite") from None


def _in_order(value: Any, plain: Any) -> Any:
    """`plain`, the JSON of `value`, with what was a set sorted: its order differs from process to process."""
    if isinstance(value, (set, frozenset)) and isinstance(plain, list):
        return sorted(cast("list[object]", plain), key=json.dumps)
    if isinstance(plain, list) and isinstance(value, (list, tuple)):
        items = cast("list[object]", plain)
        return [_in_order(*pair) for pair in zip(cast("list[object]", value), items, strict=False)]
    if isinstance(plain, dict):
        members = cast("dict[str, object]", plain)
        if isinstance(value, dict):  # its keys may have become texts, their order stays
            held = list(cast("dict[object, object]", value).values())
        else:  # a model or dataclass, by field name
            held = [getattr(cast("object", value), name, None) for name in members]
        if len(held) == len(members):
            return {name: _in_order(each, members[name]) for each, name in zip(held, members, strict=True)}
    return cast("object", plain)


def text_cell(value: Any) -> str | None:
    """Text; an Enum member by its value, a Decimal in plain digits, anything else as it stands in JSON."""
    if value is None or value.__class__ is str:
        return value
    if isinstance(value, Enum):
        return text_cell(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() and abs(value.adjusted()) < PLAIN_DIGITS else str(value)
    if (secret := getattr(value, "get_secret_value", None)) is not None:  # a SecretStr serialises to stars
        return text_cell(secret())
    plain = to_jsonable_python(value, by_alias=False)
    return plain if isinstance(plain, str) else str(value)


def bool_cell(value: Any) -> bool | None:
    """A truth value."""
    return value if value is None or isinstance(value, bool) else _misfit(value, "a truth value")


def int_cell(value: Any) -> int | None:
    """An integer of 64 bits."""
    if value is None:
        return None
    if not isinstance(value, int):
        return _misfit(value, "an integer")
    if not -INT64 <= value < INT64:
        raise Misfit("is beyond 64-bit integers")
    return int(value)


def float_cell(value: Any) -> float | None:
    """A finite number."""
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        return _misfit(value, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Misfit("isn't a finite number")
    return number


def date_cell(value: Any) -> date | None:
    """A calendar date."""
    if isinstance(value, datetime):
        return value.date()
    return value if value is None or isinstance(value, date) else _misfit(value, "a date")


def naive_cell(value: Any) -> datetime | None:
    """A date and time without a zone; an aware one is told in UTC."""
    aware = utc_cell(value)
    return None if aware is None else aware.replace(tzinfo=None)


def utc_cell(value: Any) -> datetime | None:
    """A date and time in UTC."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        return _misfit(value, "a date and time")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise Misfit("is beyond the calendar in UTC") from None


def duration_cell(value: Any) -> timedelta | None:
    """A duration of at most 64-bit microseconds."""
    if value is None:
        return None
    if not isinstance(value, timedelta):
        return _misfit(value, "a duration")
    if not -INT64 <= value // timedelta(microseconds=1) < INT64:
        raise Misfit("is beyond 64-bit microseconds")
    return value


def _misfit(value: object, wanted: str) -> Any:
    raise Misfit(f"became {type(value).__name__} in a validator, not {wanted}")
