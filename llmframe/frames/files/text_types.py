"""Text cells as values of a type."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as _untyped_compute

from llmframe.errors import UsageError

_compute: Any = _untyped_compute


def converted(cells: Any, type_: Any, *, file: str, column: str, first_row: int) -> Any:
    """Text cells as a pyarrow type; empty text is null, except where the type is text itself.

    Parameters
    ----------
    cells
        A chunked array of strings.
    file, column, first_row
        For the message: the first row of data is row 1.

    Raises
    ------
    UsageError
        If a cell can't be converted; the message names the place and never quotes the cell.
    """
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return cells.cast(type_)
    cells = _compute.if_else(_compute.equal(cells, ""), pa.scalar(None, pa.string()), cells)
    try:
        return cells.cast(type_)
    except pa.ArrowNotImplementedError:
        raise UsageError(f"`types` can't make {type_} of the text in column {column!r}") from None
    except pa.ArrowInvalid:
        row = first_row + _first_bad(cells, type_)
        raise UsageError(
            f"{file!r}: row {row} (the first row of data is 1) of column {column!r} isn't {type_}; correct the cell, "
            f"or leave {column!r} out of `types` and it stays text"
        ) from None


def _first_bad(cells: Any, type_: Any) -> int:
    """The position of the first cell that can't be converted, by halving."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            cells.slice(low, middle - low).cast(type_)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
