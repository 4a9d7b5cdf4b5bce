"""The frame port: cells out as Python lists, typed columns in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from llmframe.core.columns import Column


class Frame(Protocol):
    """A table of any library, wrapped; the native object inside is never changed."""

    @property
    def native(self) -> object:
        """The user's own object."""
        ...

    @property
    def names(self) -> list[str]:
        """One text name a column, in order; duplicates are possible.

        A pandas MultiIndex column is named by its non-empty parts joined with a dot; any other label by `str()`. A
        Series without a name is called `""`.
        """
        ...

    @property
    def single(self) -> bool:
        """Whether a Series is wrapped: a frame of one column that isn't part of what `attach` returns."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def part(self, start: int, stop: int) -> Frame:
        """Rows `start:stop` as a frame of the same kind: names, dtypes, index and attributes are the whole's.

        A view where the library has views; what lies past the last row is left out, as in a slice.
        """
        ...

    def cells(self, positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
        """Rows `start:stop` of the columns at `positions`: one list of Python values a column, `None` for null.

        Values are `str`, `bool`, `int`, `float`, `date`, `datetime`, `time`, `timedelta`, `Decimal`, `bytes`, `list`,
        `dict`; the same from every library for the same data. A moment, time or duration finer than a microsecond is
        ISO 8601 text with nine digits, because Python's own types would cut it. Objects of other classes come as
        they are.
        """
        ...

    def null_count(self, position: int) -> int:
        """How many cells of the column at `position` are null (missing, NaN in pandas; null only elsewhere)."""
        ...

    def attach(self, columns: Sequence[Column], *, report: str | None = None, replace: bool = False) -> object:
        """A new native frame with `columns` at the end; of a wrapped Series, one of the new columns alone.

        Parameters
        ----------
        columns
            New columns, one value a row.
        report
            JSON text for libraries that keep one beside the data (pandas' `attrs["llm"]`).
        replace
            A column whose name exists is replaced where it stands; otherwise it is an error.

        Raises
        ------
        UsageError
            If a name exists and `replace` is off, or if it names several columns.
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


@runtime_checkable
class SeriesFrame(Frame, Protocol):
    """A wrapped Series: one column in, and one column out as a Series again."""

    def series(self, column: Column) -> object:
        """`column` as a native Series of that name, on the wrapped Series' own index."""
        ...
