"""The frame port: cells out as Python lists, typed columns in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llmframe.core.columns import Column, ColumnType


class Frame(Protocol):
    """A table of any library, wrapped; the native object inside is never changed.

    Attributes
    ----------
    native
        The user's own object.
    names
        One text name a column, in order (duplicates possible). A pandas MultiIndex column is named by its non-empty
        parts joined with a dot; any other label by `str()`.
    """

    native: object
    names: list[str]

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of the columns at `positions`: one list of Python values a column, `None` for null.

        Values are `str`, `bool`, `int`, `float`, `date`, `datetime`, `time`, `timedelta`, `Decimal`, `bytes`, `list`,
        `dict`; the same from every library for the same data.
        """
        ...

    def null_count(self, position: int) -> int:
        """How many cells of the column at `position` are null (missing, NaN in pandas; null only in polars)."""
        ...

    def attach(self, columns: Sequence[Column], *, report: str | None = None) -> object:
        """A new native frame with `columns` at the end; a column whose name exists is replaced where it stands.

        `report` is JSON text for libraries that keep one beside the data (pandas' `attrs["llm"]`).
        """
        ...

    def mask(self, where: object) -> list[bool]:
        """`where` as one bool a row (null is False); raises `UsageError` when it can't be one."""
        ...

    def kept(self, column: Column, asked: Sequence[bool]) -> Column:
        """`column` with the rows that weren't asked filled from the existing column of the same name.

        Raises `UsageError` when an existing value doesn't fit the new dtype. Where no such column exists, the rows that
        weren't asked stay null.
        """
        ...

