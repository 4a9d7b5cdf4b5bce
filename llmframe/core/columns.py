"""Typed columns between outcomes and a dataframe library."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Literal, cast

TypeKind = Literal[
    "enum",
    "string",
    "bool",
    "int",
    "float",
    "date",
    "datetime",
    "duration",
    "decimal",
    "list",
    "struct",
    "json",
    "vector",
]


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A dtype in the project's own words, decided by the schema and never by the data.

    Parameters
    ----------
    kind
        `"enum"` has `labels`; `"list"` has `item`; `"struct"` has `fields`; `"decimal"` has `scale`;
        `"datetime"` is naive microseconds, or UTC when `utc`; `"json"` is JSON text; `"vector"` is a list of `size`
        32-bit floats, or with `size` 0 one of a size that nobody knows yet, all of whose cells are null.
    """

    kind: TypeKind
    labels: tuple[str, ...] = ()
    item: ColumnType | None = None
    fields: tuple[tuple[str, ColumnType], ...] = ()
    scale: int = 0
    utc: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """One new column: its name, its dtype and Python values (`None` for null).

    Values by kind: `enum` and `string` and `json` str; `bool`, `int`, `float`; `date`, `datetime`
    (already naive, or aware in UTC), `duration` a timedelta; `decimal` a Decimal; `list` a list and
    `struct` a dict of such values; `vector` bytes, as `llmframe.core.vectors` packs them.

    Parameters
    ----------
    values
        One a row; with `rows`, the different ones.
    rows
        Of every row the place of its value in `values`, counted from the end where negative: a library builds its
        array of the different values and takes rows from it, which costs a nanosecond a row.
    """

    name: str
    type: ColumnType
    values: list[object] = field(repr=False)
    rows: array[int] | None = field(default=None, repr=False, kw_only=True)

    def spread(self) -> list[object]:
        """One value a row; rows with equal values have the same object."""
        return self.values if self.rows is None else list(map(self.values.__getitem__, self.rows))

    def unshared(self) -> list[object]:
        """One value a row; lists and dicts are each row's own, so that a change in one row is a change in one row."""
        if self.rows is None or self.type.kind not in ("list", "struct"):
            return self.spread()
        return [_copied(self.values[row]) for row in self.rows]


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in cast("dict[object, object]", value).items()}
    return [_copied(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
