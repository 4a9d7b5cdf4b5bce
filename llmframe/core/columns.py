"""Typed columns between outcomes and a dataframe library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TypeKind = Literal[
    "enum", "string", "bool", "int", "float", "date", "datetime", "duration", "decimal", "list", "struct", "json"
]


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A dtype in the project's own words, decided by the schema and never by the data.

    Parameters
    ----------
    kind
        `"enum"` has `labels`; `"list"` has `item`; `"struct"` has `fields`; `"decimal"` has `scale`;
        `"datetime"` is naive microseconds, or UTC when `utc`; `"json"` is JSON text.
    """

    kind: TypeKind
    labels: tuple[str, ...] = ()
    item: ColumnType | None = None
    fields: tuple[tuple[str, ColumnType], ...] = ()
    scale: int = 0
    utc: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One new column: its name, its dtype and one Python value a row (`None` for null).

    Values by kind: `enum` and `string` and `json` str; `bool`, `int`, `float`; `date`, `datetime`
    (already naive, or aware in UTC), `duration` a timedelta; `decimal` a Decimal; `list` a list and
    `struct` a dict of such values.
    """

    name: str
    type: ColumnType
    values: list[object] = field(repr=False)
