"""The text of a cell in a prompt: the same whatever library the value came from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Literal, cast
from uuid import UUID

from llmframe.core.outcome import Failure
from llmframe.errors import ErrorKind

OnNull = Literal["skip", "render", "raise"]
"""What a null in a used column does: fail the row unsent, stand as empty text, or raise before the first row."""

MAX_DECIMAL_DIGITS = 10_000
"""Digits before or after the point up to which a Decimal is written out; `1E+999999999` would fill the memory."""

_SECONDS_PER_MINUTE = 60
_SECONDS_PER_HOUR = 3600
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class CellError(Exception):
    """A cell has no text.

    Attributes
    ----------
    kind
        `"encoding"` (bytes, lone surrogates), `"render"` (a type that prompts don't know) or `"null"`.
    detail
        What is wrong with it, without its content.
    """

    def __init__(self, kind: ErrorKind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: ErrorKind = kind
        self.detail = detail

    def failure(self, label: str) -> Failure:
        """The row's failure, which names the column (or `column.field`) `label`."""
        if self.kind == "null":
            return Failure("null", f"missing value in {label!r}")
        return Failure(self.kind, f"{self.detail} in column {label!r}")


@dataclass(frozen=True, slots=True)
class Texts:
    """One text a row; a row in `failures` has a text without meaning."""

    texts: list[str]
    failures: dict[int, Failure]


def cell_text(value: object) -> str:
    """Text of one cell.

    Parameters
    ----------
    value
        What a frame hands out: text as it is; bool and int as Python prints them; float by its shortest round trip,
        `NaN`, `Infinity` and `-Infinity`; date, time and datetime in ISO 8601; timedelta as an ISO 8601 duration of
        days, hours, minutes and seconds (`-P1DT2H0.5S`, zero is `PT0S`); Decimal without an exponent; Enum by its
        value; UUID and paths by `str`. list, tuple and dict are compact JSON in full: what JSON can't say is a string
        of its own text, `"NaN"` and `"2024-05-01"` included, and keys are the text of their cell.

    Returns
    -------
    str
        Never parsed again as a template.

    Raises
    ------
    CellError
        Kind `"encoding"` for bytes and lone surrogates, `"render"` for other types and for what would not end
        (integers and Decimals of many thousand digits, lists that hold themselves), `"null"` for None: nulls are
        the caller's policy.
    """
    return _writer(type(value), value)(value)


def cell_texts(values: Sequence[object], label: str) -> Texts:
    """Texts of a column's cells by `cell_text`; None is an empty text, for nulls are the caller's policy.

    Parameters
    ----------
    values
        One cell a row.
    label
        The column's name as failures tell it.
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        strings = cast("list[str]", values if isinstance(values, list) else list(values))
        if all(map(str.isascii, strings)):
            return Texts(strings, {})
    texts: list[str] = []
    failures: dict[int, Failure] = {}
    for row, value in enumerate(values):
        try:
            texts.append("" if value is None else _writer(type(value), value)(value))
        except CellError as error:
            texts.append("")
            failures[row] = error.failure(label)
    return Texts(texts, failures)


def checked_text(text: str) -> str:
    """`text` as it is; raises `CellError` of kind `"encoding"` when UTF-8 can't say it."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise CellError("encoding", f"lone surrogate at character {error.start + 1}") from None
    return text


def _string_text(value: str) -> str:
    return checked_text(str.__str__(value))


def _int_text(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # Python's own bound on the digits of an int (4300 by default)
        raise CellError("render", "an integer with too many digits") from None


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return float.__repr__(value)  # numpy's float64 is a float with another repr
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124 - only NaN differs


def _decimal_text(value: Decimal) -> str:
    if abs(value.adjusted()) > MAX_DECIMAL_DIGITS:
        raise CellError("render", "a Decimal with too many digits")
    return format(value, "f")  # an infinite or NaN Decimal reads as a float does


def _duration_text(value: timedelta) -> str:
    size = abs(value)
    hours, rest = divmod(size.seconds, _SECONDS_PER_HOUR)
    minutes, seconds = divmod(rest, _SECONDS_PER_MINUTE)
    days_text = f"{size.days}D" if size.days else ""
    time_text = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or size.microseconds:
        fraction = f".{size.microseconds:06d}".rstrip("0") if size.microseconds else ""
        time_text += f"{seconds}{fraction}S"
    if not days_text and not time_text:
        return "PT0S"
    return ("-" if value < timedelta() else "") + "P" + days_text + ("T" + time_text if time_text else "")


def _json_text(value: object) -> str:
    try:
        return checked_text(_ENCODER.encode(_plain(value)))
    except RecursionError:
        raise CellError("render", "lists or structs nested too deeply") from None
    except ValueError:  # the digits of an int
        raise CellError("render", "an integer with too many digits") from None


def _plain(value: object) -> object:
    """`value` in the types that JSON has."""
    match value:
        case Enum():
            return _plain(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return float(value) if math.isfinite(value) else _float_text(value)
        case dict():
            return {cell_text(key): _plain(item) for key, item in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast("Sequence[object]", value)]
        case _:
            return cell_text(value)


def _iso(value: date | time) -> str:
    return value.isoformat()


def _enum_text(value: Enum) -> str:
    return cell_text(value.value)


def _no_bytes(value: bytes) -> str:
    raise CellError("encoding", f"{type(value).__name__} aren't text")


def _no_null(value: None) -> str:  # noqa: ARG001 - a writer as the others
    raise CellError("null", "missing value")


def _no_text(value: object) -> str:
    raise CellError("render", f"a value of type {type(value).__name__!r}")


# In the order of the look-up for subclasses: an Enum may be a str or int too, a bool is an int, a datetime a date.
_WRITERS: dict[type, Callable[[Any], str]] = {
    Enum: _enum_text,
    str: _string_text,
    bool: bool.__repr__,
    int: _int_text,
    float: _float_text,
    datetime: _iso,
    date: _iso,
    time: _iso,
    timedelta: _duration_text,
    Decimal: _decimal_text,
    list: _json_text,
    dict: _json_text,
    tuple: _json_text,
    UUID: str,
    PurePath: lambda path: checked_text(str(path)),
    bytes: _no_bytes,
    bytearray: _no_bytes,
    memoryview: _no_bytes,
    type(None): _no_null,
}


def _writer(kind: type, value: object) -> Callable[[Any], str]:
    exact = _WRITERS.get(kind)
    if exact is not None:
        return exact
    return next((writer for base, writer in _WRITERS.items() if isinstance(value, base)), _no_text)
