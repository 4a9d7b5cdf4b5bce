"""Columns and rows made of columns that are there: no model is asked, and a lazy query stays lazy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import Frame, wrap

N = TypeVar("N")

RowFunction = Callable[[list[list[object]]], list[list[object]]]
"""Cells of rows, one list an input column, to cells of the same rows, one list an output column.

Each row's outputs depend on that row alone: lazy polars calls it part by part, from several threads.
"""


@runtime_checkable
class Table(Frame, Protocol):
    """A wrapped frame of which rows and columns can be taken; no Series is one."""

    def taken(self, rows: Sequence[int]) -> Table:
        """The rows at these positions, in this order; one that is named several times comes as often."""
        ...

    def picked(self, columns: Sequence[int]) -> Table:
        """The columns at these positions, in this order."""
        ...


def derive(  # noqa: PLR0913 - the facts of one derivation
    native: N,
    inputs: Sequence[str],
    outputs: Sequence[tuple[str, ColumnType]],
    function: RowFunction,
    *,
    drop: Sequence[str] = (),
    replace: bool = False,
) -> N:
    """`native` with columns that `function` makes of others, at its end.

    Parameters
    ----------
    native
        A pandas or polars DataFrame, a polars LazyFrame, a `pyarrow.Table` or a list of dicts. It is never changed.
    inputs
        Names of the columns that `function` gets, at least one: Python values, a label as its text, a missing value as
        `None`.
    outputs
        Names and types of the columns that it gives.
    drop
        Names of columns that go afterwards; one that isn't there is passed over.
    replace
        A column whose name exists is replaced where it stands; otherwise it is an error.

    Raises
    ------
    UsageError
        If an input is missing, a name is taken, or `native` is of another kind, such as a Series.
    """
    if _is_lazy(native):
        from llmframe.frames.polars_lazy import derive_lazy  # noqa: PLC0415 - loads polars

        lazy = cast("Any", native)
        for name in inputs:
            position_of(name, names_of(native))
        return cast("N", derive_lazy(lazy, inputs, outputs, function, drop=drop, replace=replace))
    table = _table(native)
    if not table.names:  # a list without rows has no columns either
        return native
    rows = len(table)
    made = function(table.cells([position_of(name, table.names) for name in inputs], 0, rows))
    columns = [Column(name, type_, values) for (name, type_), values in zip(outputs, made, strict=True)]
    return cast("N", dropped(table.attach(columns, replace=replace), drop))


def dropped(native: N, names: Sequence[str]) -> N:
    """`native` without the columns of these names; one that isn't there is passed over."""
    if _is_lazy(native):
        return cast("N", cast("Any", native).drop(names, strict=False))
    table = _table(native)
    kept = [at for at, name in enumerate(table.names) if name not in names]
    return native if len(kept) == len(table.names) else cast("N", table.picked(kept).native)


def rows_where(native: N, name: str, value: object) -> N:
    """The rows whose column `name` is `value`, in their order; a null is no."""
    if _is_lazy(native):
        import polars as pl  # noqa: PLC0415 - whoever holds a lazy frame has it

        return cast("N", cast("Any", native).filter(pl.col(name) == value))
    table = _table(native)
    if not table.names:
        return native
    [cells] = table.cells([position_of(name, table.names)], 0, len(table))
    rows = [row for row, cell in enumerate(cells) if cell is not None and cell == value]
    return cast("N", table.taken(rows).native)


def where_true(native: object, name: str) -> object:
    """A `where` for the rows whose column `name` is true: a list of booleans, of a lazy query an expression."""
    if _is_lazy(native):
        import polars as pl  # noqa: PLC0415 - as above

        return pl.col(name)
    table = _table(native)
    if not table.names:
        return None
    [cells] = table.cells([position_of(name, table.names)], 0, len(table))
    return [cell is True for cell in cells]


def exploded(
    native: N, name: str, fields: Sequence[tuple[str, ColumnType]], *, prefix: str = "", replace: bool = False
) -> N:
    """One row for each item of the lists in column `name`, with the items' fields as columns in its place.

    A row without items (an empty list, a null) stays as one, with nulls. Rows keep their order, each row's items
    theirs; pandas' index is repeated.

    Parameters
    ----------
    native
        As `derive` takes it.
    name
        A column of lists of records, which goes.
    fields
        Names and types of the records' fields.
    prefix
        Stands before the names of the new columns.
    replace
        Columns that have these names go; otherwise they are an error.

    Raises
    ------
    UsageError
        If the column is missing, or a name is taken.
    """
    existing = names_of(native)
    if not existing:
        return native
    new = [prefix + field for field, _ in fields]
    taken = [column for column in existing if column in new and column != name]
    if taken and not replace:
        raise UsageError(
            f"the items of {name!r} have a field {taken[0]!r}, and the frame a column of that name; rename one of "
            "them, or name the new columns with `prefix=`"
        )
    native = dropped(native, taken)
    if _is_lazy(native):
        from llmframe.frames.polars_lazy import explode_lazy  # noqa: PLC0415 - loads polars

        return cast("N", explode_lazy(cast("Any", native), name, fields, prefix=prefix))
    table = _table(native)
    place = position_of(name, table.names)
    [cells] = table.cells([place], 0, len(table))
    rows: list[int] = []
    items: list[dict[str, object]] = []
    for row, cell in enumerate(cells):
        found = cast("list[dict[str, object] | None]", cell) or [None]
        rows += [row] * len(found)
        items += [item or {} for item in found]
    columns = [
        Column(column, type_, [item.get(field) for item in items])
        for column, (field, type_) in zip(new, fields, strict=True)
    ]
    out = _table(table.taken(rows).attach(columns, replace=True))
    order = [*range(place), *map(out.names.index, new), *range(place + 1, len(table.names))]
    return cast("N", out.picked(order).native)


def names_of(native: object) -> list[str]:
    """The names of a frame's columns, of a lazy one too; of a list without rows none."""
    if _is_lazy(native):
        return cast("Any", native).collect_schema().names()
    return _table(native).names


def _is_lazy(native: object) -> bool:
    kind = type(native)
    return kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "LazyFrame"


def _table(native: object) -> Table:
    kind = type(native)
    if kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "Expr":
        raise UsageError("this needs a frame with named columns, got a polars expression; call it on the frame")
    frame = wrap(native)
    if not isinstance(frame, Table):
        raise UsageError(
            f"this needs a frame with named columns, got a {kind.__name__}; make it one with `.to_frame()`"
        )
    return frame


def position_of(name: str, names: Sequence[str]) -> int:
    """Where column `name` stands; raises `UsageError` with the nearest name where it is absent."""
    if name not in names:
        raise UsageError(f"column {name!r} is absent{did_you_mean(name, names) or ';'} columns: {list(names)}")
    return names.index(name)
