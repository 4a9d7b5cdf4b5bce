"""One foreign value as a plain Python value, the same whichever library it came from.

No dataframe library is imported: numpy and pandas scalars are known by their attributes, so that an object column of
any frame and a list of dicts read alike.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import ROUND_UP, Context, Decimal
from enum import Enum
from typing import Any, Final, Literal, cast
from zoneinfo import ZoneInfo

Reader = Callable[[Any], object]
"""From one value as a library hands it out to the plain one; gets no nulls."""

_AS_IT_IS: Final = frozenset({str, int, bool, bytes, date, datetime, time, timedelta, type(None)})
_NULL_NAMES: Final = frozenset({"NAType", "NaTType"})
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is put on afterwards
_MICROSECOND: Final = timedelta(microseconds=1)
_CYCLE: Final = 146_097 * 86_400_000_000
"""Microseconds of 400 years."""
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)")
_SURE_DIGITS: Final = {"e": 3, "f": 6}
"""Decimal digits that every normal half or single precision number keeps; three more tell it from its neighbours."""
_SMALLEST_NORMAL: Final = {"e": 2.0**-14, "f": 2.0**-126}


def plain(value: Any, *, nan_is_null: bool) -> object:
    """`value` in Python's own types, inside lists and dicts as well.

    Parameters
    ----------
    value
        Anything that a cell of an object column holds; an object of an unknown class comes back as it is.
    nan_is_null
        Whether a float NaN is a missing value, as in pandas.
    """
    kind = value.__class__
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return None if nan_is_null and value != value else value  # noqa: PLR0124 - the fastest test for NaN
    if kind is list or kind is tuple:
        return [plain(item, nan_is_null=nan_is_null) for item in value]
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value).items()
        return {key: plain(item, nan_is_null=nan_is_null) for key, item in entries}
    return _scalar(value, nan_is_null=nan_is_null)


def _scalar(value: Any, *, nan_is_null: bool) -> object:
    """Scalars of pandas, Decimals, Enums; the rest may hold others."""
    name = type(value).__name__
    missing = name in _NULL_NAMES or (nan_is_null and isinstance(value, Decimal) and value.is_nan())
    if missing:
        return None
    if isinstance(value, Decimal):
        return value
    if hasattr(value, "to_pydatetime"):
        return with_nanoseconds(value.to_pydatetime(warn=False), value.nanosecond)
    if hasattr(value, "to_pytimedelta"):
        whole = timedelta(days=value.days, seconds=value.seconds, microseconds=value.microseconds)
        return span(whole // _MICROSECOND * 1000 + value.nanoseconds)
    return str(value) if name in {"Period", "Interval"} else _wrapped(value, nan_is_null=nan_is_null)


def _wrapped(value: Any, *, nan_is_null: bool) -> object:
    """What has a plain value or several inside: arrays, Enums, Arrow scalars, subclasses of Python's own types."""
    inner: Any = value
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return _array(value, nan_is_null=nan_is_null)
    if isinstance(value, Enum):
        inner = value.value
    elif hasattr(value, "as_py"):
        inner = value.as_py()
    elif isinstance(value, bytearray | memoryview):
        inner = bytes(cast("bytearray", value))
    elif isinstance(value, set | frozenset | tuple | list) or hasattr(value, "to_list"):
        inner = list(cast("list[object]", value))
    elif (base := next((base for base in (str, int, float) if isinstance(value, base)), None)) is not None:
        inner = base(value)
    return inner if inner is value else plain(inner, nan_is_null=nan_is_null)


def _array(value: Any, *, nan_is_null: bool) -> object:
    """A numpy scalar or array, or another library's Series."""
    if value.ndim:
        items = value if value.dtype.kind in "mMf" else value.tolist()
        return [plain(item, nan_is_null=nan_is_null) for item in items]
    item = value.item()
    if value.dtype.kind in "mM" and isinstance(item, int):  # numpy hands out nanoseconds as a bare number
        return moment(item, None) if value.dtype.kind == "M" else span(item)
    if value.dtype.kind == "f" and value.dtype.itemsize < 8:  # noqa: PLR2004 - bytes of a double
        item = shortest(item, "f" if value.dtype.itemsize == 4 else "e")  # noqa: PLR2004 - bytes of a single
    return plain(item, nan_is_null=nan_is_null)


def shortest(value: float, code: Literal["e", "f"]) -> float:
    """The double with the fewest digits that is `value` in half (`"e"`) or single precision (`"f"`).

    Examples
    --------
    >>> shortest(0.10000000149011612, "f")
    0.1
    """
    if value - value != 0.0 or not value:  # inf, nan, 0
        return value
    packed = struct.pack(code, value)
    sure = 1 if abs(value) < _SMALLEST_NORMAL[code] else _SURE_DIGITS[code]
    # Below a power of two the neighbours are closer than above, so that the nearest decimal may miss where the next
    # one away from zero hits.
    lopsided = abs(math.frexp(value)[0]) == 0.5  # noqa: PLR2004 - the mantissa of a power of two
    for digits in range(sure, _SURE_DIGITS[code] + 4):
        candidate = float(f"{value:.{digits}g}")
        if _packs_as(candidate, packed, code):
            return candidate
        if lopsided:
            candidate = float(Context(prec=digits, rounding=ROUND_UP).plus(Decimal(value)))
            if _packs_as(candidate, packed, code):
                return candidate
    return value


def _packs_as(candidate: float, packed: bytes, code: Literal["e", "f"]) -> bool:
    try:
        return struct.pack(code, candidate) == packed
    except OverflowError:  # rounded up past the largest number
        return False


def moment(nanoseconds: int, zone: tzinfo | None) -> object:
    """Nanoseconds since 1970 (UTC) as a datetime, in `zone` when there is one; as text when a datetime can't say it.

    Examples
    --------
    >>> moment(1_500, None)
    '1970-01-01T00:00:00.000001500'
    """
    microseconds, rest = divmod(nanoseconds, 1000)
    try:
        return with_nanoseconds(_datetime(microseconds, zone), rest)
    except OverflowError:  # a year that Python doesn't have; the calendar repeats after 400
        cycles, within = divmod(microseconds, _CYCLE)
        value = _datetime(within, zone)
        return f"{value.year + 400 * cycles}{value.isoformat(timespec='microseconds')[4:]}"


def _datetime(microseconds: int, zone: tzinfo | None) -> datetime:
    value = _EPOCH + timedelta(microseconds=microseconds)
    return value if zone is None else value.replace(tzinfo=UTC).astimezone(zone)


def with_nanoseconds(value: datetime, nanoseconds: int) -> object:
    """`value` itself, or ISO 8601 text with nine digits when there are `nanoseconds` (0 to 999) on top."""
    if not nanoseconds:
        return value
    text = value.isoformat(timespec="microseconds")
    whole = len("1970-01-01T00:00:00.000000")
    return f"{text[:whole]}{nanoseconds:03d}{text[whole:]}"


def span(nanoseconds: int) -> object:
    """Nanoseconds as a timedelta; as an ISO 8601 duration when microseconds can't say it.

    Examples
    --------
    >>> span(-90_000_000_000_001)
    '-P1DT1H0.000000001S'
    """
    microseconds, rest = divmod(nanoseconds, 1000)
    if not rest:
        return timedelta(microseconds=microseconds)
    seconds, fraction = divmod(abs(nanoseconds), 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    larger = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    return f"{'-' if nanoseconds < 0 else ''}P{f'{days}D' if days else ''}T{larger}{seconds}.{fraction:09d}S"


def clock(nanoseconds: int) -> object:
    """Nanoseconds since midnight as a time; as text with nine digits when microseconds can't say it."""
    microseconds, rest = divmod(nanoseconds, 1000)
    value = (_EPOCH + timedelta(microseconds=microseconds)).time()
    return f"{value.isoformat(timespec='microseconds')}{rest:03d}" if rest else value


def zone(name: str | None) -> tzinfo | None:
    """A time zone by its IANA name or its offset (`"+02:00"`)."""
    if name is None:
        return None
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    sign = -1 if offset[1] == "-" else 1
    return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))


def read_all(values: list[Any], reader: Reader) -> list[object]:
    """`reader` over a column; nulls stay."""
    return [None if value is None else reader(value) for value in values]


def list_reader(item: Reader) -> Reader:
    """A reader of lists whose items need `item`."""
    return lambda values: read_all(list(values), item)


def struct_reader(fields: Mapping[str, Reader]) -> Reader:
    """A reader of dicts whose fields of these names need their reader; the others are taken as they are."""

    def read(value: dict[str, Any]) -> object:
        return {
            name: fields[name](entry) if name in fields and entry is not None else entry
            for name, entry in value.items()
        }

    return read
