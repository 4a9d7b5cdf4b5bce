"""Many keys in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

Key = TypeVar("Key", bytes, int)

KEYS_PER_STATEMENT: Final = 500
"""Keys that one look-up asks for."""

_MARKS: Final = {size: ",".join("?" * size) for size in (*(1 << power for power in range(9)), KEYS_PER_STATEMENT)}


def chunks(keys: Sequence[Key]) -> Iterator[tuple[str, Sequence[Key]]]:
    """`keys` in lots for `IN (...)`, each with its question marks.

    The last lot is filled up to a power of two with one of its keys, so that few statements are ever compiled.

    >>> list(chunks([1, 2, 3]))
    [('?,?,?,?', [1, 2, 3, 3])]
    """
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        lot = keys[start : start + KEYS_PER_STATEMENT]
        size = min(KEYS_PER_STATEMENT, 1 << (len(lot) - 1).bit_length())
        if size > len(lot):
            lot = [*lot, *[lot[-1]] * (size - len(lot))]
        yield _MARKS[size], lot
