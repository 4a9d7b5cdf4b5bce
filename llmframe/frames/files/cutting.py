"""Rows that come in pieces, cut into tables of a bounded size."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def cut(pieces: Iterable[Any], *, rows: int, max_bytes: int) -> Iterator[Any]:
    """Consecutive tables of at most `rows` rows and about `max_bytes`.

    Parameters
    ----------
    pieces
        Non-empty tables of one schema.
    rows
        At least 1.
    max_bytes
        By the average size of a piece's rows; a single row may have more.

    Notes
    -----
    Where the next table ends depends on nothing but what is left of the pieces. So a run that begins at the end of a
    table, over the same pieces, makes the same tables as the run that it follows.
    """
    held: list[Any] = []
    held_rows = held_bytes = 0
    for piece in pieces:
        rest = piece
        while len(rest):
            take = min(len(rest), rows - held_rows)
            size = size_of(rest.slice(0, take), of=piece)
            if held_bytes + size > max_bytes:
                fit = int((max_bytes - held_bytes) * take / size)
                take = min(take, max(fit, 0 if held_rows else 1))
                size = size_of(rest.slice(0, take), of=piece)
            full = take == 0
            if take:
                held.append(rest.slice(0, take))
                held_rows, held_bytes = held_rows + take, held_bytes + size
                rest = rest.slice(take)
            if full or held_rows == rows or held_bytes >= max_bytes:
                yield pa.concat_tables(held)
                held, held_rows, held_bytes = [], 0, 0
    if held:
        yield pa.concat_tables(held)


def size_of(table: Any, *, of: Any = None) -> int:
    """Bytes of a table's rows, about.

    Parameters
    ----------
    of
        The table it's a slice of, for a pyarrow that can't tell the size of views of text (16): by its average row.
    """
    try:
        return table.nbytes
    except TypeError:
        whole = table if of is None else of
        return whole.get_total_buffer_size() * len(table) // max(len(whole), 1)
