"""What a plan has drawn so far, so that a repeated row costs a look-up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from llmframe.core.template import Rendered

REMEMBERED_BYTES: Final = 32 * 2**20
"""Cells and texts kept, so that a repeated row is neither rendered nor hashed again."""

_ENTRY_BYTES: Final = 100
"""What an entry takes beside its text, about."""

_EXACT: Final = frozenset({str, int, bool})
"""Types whose equal values have one text. Not float (-0.0), Decimal (1.00) and datetime (a moment in two zones)."""


class Known:
    """Requests and failures by what they were made of.

    Attributes
    ----------
    by_key
        The number of every request by its key.
    by_text
        Numbers by rendered text, of rows that can't be told by their cells.
    """

    __slots__ = ("_by_cells", "_room", "by_key", "by_text")

    def __init__(self) -> None:
        self.by_key: dict[bytes, int] = {}
        self.by_text: dict[Rendered, int] = {}
        self._by_cells: dict[tuple[type, ...], dict[Any, int]] = {}
        self._room = REMEMBERED_BYTES

    def by_cells(self, types: tuple[type, ...]) -> dict[Any, int]:
        """Numbers by cells of `exact_types`, a dict for each: Python calls 1 and True equal, which have two texts."""
        return self._by_cells.setdefault(types, {})

    def remember(self, numbers: dict[Any, int], key: str | tuple[object, ...] | None, number: int) -> None:
        """Keep `number` under `key` in one of the dicts, while there is room."""
        if self._room > 0:
            size = sum(map(sys.getsizeof, key)) if isinstance(key, tuple) else sys.getsizeof(key)
            self._room -= _ENTRY_BYTES + size
            numbers[key] = number


def exact_types(cells: Sequence[Sequence[object]]) -> tuple[type, ...] | None:
    """The one type of each column, nulls aside; `None` when equal cells could have different texts."""
    found: list[type] = []
    for column in cells:
        types = set(map(type, column))
        types.discard(type(None))
        if len(types) > 1 or not types <= _EXACT:
            return None
        found.append(types.pop() if types else type(None))
    return tuple(found)
