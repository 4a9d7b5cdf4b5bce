"""Vectors as a library's own values, wherever they stand in a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from llmframe.core.columns import ColumnType
from llmframe.core.vectors import check_sizes, joined


def matrix(vectors: Sequence[bytes | None], *, size: int) -> Any:
    """Vectors as the rows of a read-only float32 array of shape `(len(vectors), size)`, zeros where one is null.

    Raises
    ------
    ValueError
        If a vector has another size.
    """
    import numpy as np  # noqa: PLC0415 - lists of dicts and polars alone need none

    flat = np.frombuffer(joined(vectors, size=size), dtype="<f4").astype("float32", copy=False)
    return flat.reshape(len(vectors), size)


def read_vectors(values: Sequence[object], type_: ColumnType, read: Callable[[bytes], object]) -> list[object]:
    """`values` of a type with each vector as `read` has it, those in fields of structs too; nulls stay."""
    if type_.kind == "vector":
        return [None if value is None else read(cast("bytes", value)) for value in values]
    if type_.kind != "struct" or not has_vectors(type_):
        return list(values)
    rows = [cast("dict[str, object] | None", value) for value in values]
    fields = {
        name: read_vectors([None if row is None else row[name] for row in rows], field, read)
        for name, field in type_.fields
    }
    return [
        None if row is None else {name: values[at] for name, values in fields.items()} for at, row in enumerate(rows)
    ]


def check_vectors(values: Sequence[object], type_: ColumnType) -> None:
    """Raise `ValueError` where a vector, in a field of a struct too, has another size than its type says."""
    if type_.kind == "vector":
        check_sizes(cast("Sequence[bytes | None]", values), size=type_.size)
    elif type_.kind == "struct":
        rows = [cast("dict[str, object]", value) for value in values if value is not None]
        for name, field in type_.fields:
            if has_vectors(field):
                check_vectors([row[name] for row in rows], field)


def has_vectors(type_: ColumnType) -> bool:
    """Whether a column of the type holds vectors."""
    return type_.kind == "vector" or any(has_vectors(field) for _, field in type_.fields)
