"""Where new columns go among those that exist."""

from __future__ import annotations

from collections.abc import Sequence

from llmframe.core.columns import Column
from llmframe.errors import UsageError


def placement(names: Sequence[str], columns: Sequence[Column], *, replace: bool) -> list[int | None]:
    """For each of `columns` the position that it replaces, or `None` for a place at the end.

    Raises
    ------
    UsageError
        If a name exists and `replace` is off, if it names several existing columns, or if two of `columns` share one.
    """
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        positions.setdefault(name, []).append(position)
    new = [column.name for column in columns]
    doubled = next((name for name in new if new.count(name) > 1), None)
    if doubled is not None:
        raise UsageError(f"two new columns are named {doubled!r}; give the schema's fields names of their own")
    places: list[int | None] = []
    for name in new:
        found = positions.get(name, [])
        if found and not replace:
            raise UsageError(
                f"column {name!r} exists; replace it with `overwrite=True`, or name the new columns with `prefix=`"
            )
        if len(found) > 1:
            raise UsageError(
                f"`overwrite=True` can't tell which of the {len(found)} columns named {name!r} to replace; rename "
                "them, or name the new columns apart with `prefix=`"
            )
        places.append(found[0] if found else None)
    return places
