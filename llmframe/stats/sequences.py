"""Sequences, arrays and Series as lists of plain values."""

from __future__ import annotations

from typing import Any


def plain(values: Any) -> list[Any]:
    """The entries in their order, as Python has them: an array's numbers, texts and truth values, too.

    Parameters
    ----------
    values
        A list or another sequence, an array, or a Series of pandas, polars or pyarrow, whatever its index.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.array([1, 2])), plain(("a", None))
    ([1, 2], ['a', None])
    """
    names = ("tolist", "to_list", "to_pylist")
    convert = next((getattr(values, name) for name in names if hasattr(values, name)), None)
    return [_python(cell) for cell in (values if convert is None else convert())]


def known(values: Any) -> list[Any]:
    """As `plain`, with `None` for NaN, by which arrays say that something is missing."""
    return [None if cell != cell else cell for cell in plain(values)]  # noqa: PLR0124 - NaN differs from itself


def known_rows(items: Any) -> list[list[Any]]:
    """Items × raters as `known` lists; of a sequence of sequences, an array, or a frame with a row for each item."""
    rows = items.to_numpy() if hasattr(items, "columns") else items
    return [known(item) for item in rows]


def _python(cell: Any) -> Any:
    if type(cell).__name__ == "NAType":  # pandas' own, which no comparison decides
        return None
    return cell.item() if getattr(cell, "ndim", None) == 0 else cell
