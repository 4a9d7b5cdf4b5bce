"""The type of JSON values that were seen."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import json
from typing import Any, Final, cast

import pyarrow as pa

MARK: Final = b"llmframe:jsonl"
"""Key of a field's metadata that says how it is written as JSON again."""

AS_JSON: Final = b"json"
"""The cell is JSON text."""

ABSENT: Final = b"absent"
"""Null means that the field isn't there: it was missing in some objects and null in none."""

MAX_FIELDS: Final = 1000
"""Different keys of an object beyond which its keys are data, and it is kept as JSON text."""

_BOOL, _INT, _FLOAT, _TEXT, _LIST, _OBJECT, _HUGE, _WIDE = (1 << bit for bit in range(8))
_BITS: Final[dict[type, int]] = {bool: _BOOL, float: _FLOAT, str: _TEXT}
_SIMPLE: Final[dict[int, Any]] = {
    _BOOL: pa.bool_(),
    _INT: pa.int64(),
    _FLOAT: pa.float64(),
    _INT | _FLOAT: pa.float64(),
}
_INT64: Final = range(-(2**63), 2**63)
_EXACT: Final = 2**53
"""Whole numbers up to here are floats without loss."""


class Shape:
    """What was seen of one field; `observe` takes its values, `field` tells the Arrow field."""

    __slots__ = ("fields", "item", "kinds", "nulls", "objects", "seen")

    def __init__(self) -> None:
        self.kinds = 0
        self.nulls = self.seen = self.objects = 0
        self.fields: dict[str, Shape] = {}
        self.item: Shape | None = None

    def observe(self, value: object) -> None:
        """Take one more value, as `json.loads` gives it."""
        self.seen += 1
        kind = type(value)
        bit = _BITS.get(kind)
        if bit is not None:
            self.kinds |= bit
        elif value is None:
            self.nulls += 1
        elif kind is int:
            number = cast("int", value)
            self.kinds |= _INT if number in _INT64 else _HUGE
            if not -_EXACT <= number <= _EXACT:
                self.kinds |= _WIDE
        elif kind is dict:
            self._observe_object(cast("dict[str, object]", value))
        else:
            self._observe_list(cast("list[object]", value))

    def is_text(self) -> bool:
        """Whether values are kept as JSON text, since no Arrow type holds them all."""
        plain = self.kinds & ~_WIDE
        if plain & _HUGE:
            return True
        if plain == _OBJECT:
            return not 0 < len(self.fields) <= MAX_FIELDS
        if plain == _INT | _FLOAT:
            return bool(self.kinds & _WIDE)
        return plain not in {0, _BOOL, _INT, _FLOAT, _TEXT, _LIST}

    def field(self, name: str, *, missing: bool = False) -> Any:
        """The Arrow field; `missing` says that some objects lack it."""
        mark = AS_JSON if self.is_text() else b""
        if missing and not self.nulls:
            mark += b"," * bool(mark) + ABSENT
        return pa.field(name, self._type(), metadata={MARK: mark} if mark else None)

    def fields_of(self) -> list[Any]:
        """The Arrow fields of an object's keys, in the order in which they were first seen."""
        return [shape.field(name, missing=shape.seen < self.objects) for name, shape in self.fields.items()]

    def has_text(self) -> bool:
        """Whether anything in it is kept as JSON text, so that values need `stored`."""
        return (
            self.is_text()
            or any(shape.has_text() for shape in self.fields.values())
            or (self.item is not None and self.item.has_text())
        )

    def stored(self, value: object) -> object:
        """A value as the Arrow type takes it."""
        if value is None:
            return None
        if self.is_text():
            return json_text(value)
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            return {name: self.fields[name].stored(each) for name, each in members.items()}
        if isinstance(value, list) and self.item is not None:
            item = self.item
            return [item.stored(each) for each in cast("list[object]", value)]
        return value

    def _observe_object(self, members: dict[str, object]) -> None:
        self.kinds |= _OBJECT
        self.objects += 1
        if len(self.fields) > MAX_FIELDS:
            return
        for name, value in members.items():
            shape = self.fields.get(name)
            if shape is None:
                shape = self.fields[name] = Shape()
            shape.observe(value)

    def _observe_list(self, values: list[object]) -> None:
        self.kinds |= _LIST
        if self.item is None:
            self.item = Shape()
        for value in values:
            self.item.observe(value)

    def _type(self) -> Any:
        if self.is_text():
            return pa.string()
        kinds = self.kinds & ~_WIDE
        if kinds == _LIST:
            return pa.list_((self.item or Shape()).field("item"))
        if kinds == _OBJECT:
            return pa.struct(self.fields_of())
        return _SIMPLE.get(kinds, pa.string())


def json_text(value: object) -> str:
    """Compact JSON of what `json.loads` gave."""
    # older pyarrow hands numbers of 16 bits out as numpy's
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)
