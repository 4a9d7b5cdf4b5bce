"""The schema that several files have in common."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from llmframe.errors import UsageError


def agreed(schemas: Iterable[tuple[str, Any]]) -> Any:
    """The first file's schema, with its metadata; a column may be null if it may in any file.

    Parameters
    ----------
    schemas
        Names of files with their pyarrow schemas, at least one. The order of columns may differ.

    Raises
    ------
    UsageError
        If a name stands twice, or a file has other columns or types than the first; both files and the column are
        named.
    """
    first, common = None, None
    for name, schema in schemas:
        _check_names(name, schema.names)
        if common is None:
            first, common = name, schema
            continue
        for column in schema.names:
            if column not in common.names:
                raise UsageError(f"files of one source differ: {name!r} has a column {column!r}, {first!r} has none")
        for at, field in enumerate(common):
            if field.name not in schema.names:
                raise UsageError(
                    f"files of one source differ: {first!r} has a column {field.name!r}, {name!r} has none"
                )
            other = schema.field(field.name)
            if other.type != field.type:
                raise UsageError(
                    f"files of one source differ: column {field.name!r} is {field.type} in {first!r} and {other.type} "
                    f"in {name!r}"
                )
            if other.nullable and not field.nullable:
                common = common.set(at, field.with_nullable(other.nullable))
    return common


def conformed(table: Any, schema: Any) -> Any:
    """`table` with the columns of `schema`, in its order and with its metadata."""
    if table.schema.equals(schema, check_metadata=True):
        return table
    return pa.Table.from_arrays([table.column(name) for name in schema.names], schema=schema)


def _check_names(file: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"{file!r} has two columns named {name!r}: rename one, so that it's clear which is meant")
        seen.add(name)
