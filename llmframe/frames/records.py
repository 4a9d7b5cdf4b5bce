"""Frames that are a list of dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmframe.core.columns import Column
from llmframe.core.vectors import numbers_of
from llmframe.frames.cells import plain
from llmframe.frames.kept import kept
from llmframe.frames.masks import mask_of
from llmframe.frames.placement import placement
from llmframe.frames.vectors import has_vectors, read_vectors


class RecordsFrame:
    """A list with one dict a row; a key that a row lacks is null there."""

    single = False

    def __init__(self, native: list[dict[Any, Any]], *, keys: Sequence[Any] | None = None) -> None:
        self.native = native
        self._keys: list[Any] = list(dict.fromkeys(key for row in native for key in row) if keys is None else keys)
        self.names = [str(key) for key in self._keys]

    def __len__(self) -> int:
        return len(self.native)

    def part(self, start: int, stop: int) -> RecordsFrame:
        """Rows `start:stop`, the same dicts; a key that only other rows have is null in all of these."""
        return RecordsFrame(self.native[start:stop], keys=self._keys)

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of some columns as lists of Python values; a float NaN is a value."""
        rows = self.native[start:stop]
        keys = [self._keys[at] for at in positions]
        return [[plain(row.get(key), nan_is_null=False) for row in rows] for key in keys]

    def null_count(self, position: int) -> int:
        """How many rows lack the key or hold null there."""
        [cells] = self.cells([position], 0, len(self))
        return sum(cell is None for cell in cells)

    def attach(
        self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False
    ) -> list[dict[Any, Any]]:
        """A new list of new dicts; a replaced key stands where it stood."""
        del report  # a list has no place for it
        places = placement(self.names, columns, replace=replace)
        keys = [
            column.name if place is None else self._keys[place] for column, place in zip(columns, places, strict=True)
        ]
        values = zip(*map(_values, columns), strict=True) if columns else ((),) * len(self)
        return [{**row, **dict(zip(keys, new, strict=True))} for row, new in zip(self.native, values, strict=True)]

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row: a list or array of booleans, or a function of the list that returns one."""
        return mask_of(where(self.native) if callable(where) else where, rows=len(self))

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` with the rows that weren't asked filled from the existing key."""
        if column.name not in self.names:
            return column
        [cells] = self.cells([self.names.index(column.name)], 0, len(self))
        return kept(column, asked, cells, dtype="a list's values")

    def taken(self, rows: Sequence[int]) -> RecordsFrame:
        """The rows at these positions, as new dicts."""
        return RecordsFrame([dict(self.native[row]) for row in rows], keys=self._keys)

    def picked(self, columns: Sequence[int]) -> RecordsFrame:
        """The keys at these positions, in this order, as new dicts."""
        keys = [self._keys[at] for at in columns]
        return RecordsFrame([{key: row[key] for key in keys if key in row} for row in self.native], keys=keys)


def _values(column: Column) -> list[object]:
    """A value a row; vectors are lists of numbers, and each row's own."""
    values = column.unshared()
    return read_vectors(values, column.type, numbers_of) if has_vectors(column.type) else values
