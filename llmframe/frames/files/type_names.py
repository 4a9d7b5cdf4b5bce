"""Types of columns by the names that people write."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from llmframe.errors import UsageError, did_you_mean

_NAMES: Final[dict[str, str]] = {
    "int": "int64",
    "integer": "int64",
    "float": "float64",
    "double": "float64",
    "str": "string",
    "text": "string",
    "utf8": "string",
    "bool": "bool",
    "boolean": "bool",
    "date": "date32",
    "datetime": "timestamp[us]",
    "timestamp": "timestamp[us]",
    "time": "time64[us]",
}
"""Names of pandas, polars and everyday; compared without case."""

_DECIMAL = re.compile(r"decimal(?:128)?\s*[(\[]\s*(\d+)\s*,\s*(\d+)\s*[)\]]")
_MAX_DIGITS: Final = 38

_EXAMPLES: Final = "string, int64, float64, bool, date, datetime, timestamp[us], decimal(12, 2)"


def type_named(name: object) -> Any:
    """The pyarrow type of a name: one of pyarrow's own, of pandas' or polars', or `decimal(12, 2)`.

    Raises
    ------
    UsageError
        If no type has the name; the message lists some.
    """
    if isinstance(name, pa.DataType):
        return name
    if not isinstance(name, str):
        raise UsageError(f"a type is named by text such as 'int64', got {name!r}; types: {_EXAMPLES}")
    plain = name.strip().lower()
    decimal = _DECIMAL.fullmatch(plain)
    if decimal is not None and 0 < int(decimal[1]) <= _MAX_DIGITS:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    try:
        return pa.type_for_alias(_NAMES.get(plain, plain))
    except ValueError:
        raise UsageError(f"no type is named {name!r}{did_you_mean(plain, _NAMES)}; types: {_EXAMPLES}") from None


def types_of(types: Mapping[str, object] | None, *, columns: Sequence[str]) -> dict[str, Any]:
    """The types said for some of `columns`; raises `UsageError` for others."""
    for name in types or {}:
        if name not in columns:
            raise UsageError(
                f"`types` names a column {name!r}, which is absent{did_you_mean(name, columns)}; "
                f"columns: {list(columns)}"
            )
    return {name: type_named(said) for name, said in (types or {}).items()}
