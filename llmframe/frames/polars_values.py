"""Python values as a polars Series of a given dtype."""

from __future__ import annotations

from typing import Any, Final, cast

import polars as pl

from llmframe.frames.vectors import matrix

_ROW: Final = "row"
_ITEM: Final = "item"


def typed_series(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
    """`values` as a Series of exactly `dtype`; nothing is inferred from them. Those of an Array are bytes of vectors.

    Notes
    -----
    polars builds a List from Python row by row, each through a Series of its own (6 µs a row for text, 35 for labels or
    structs). Here the items of all rows become one Series, which is then cut (1 µs).
    """
    if isinstance(dtype, pl.Struct):
        return _structs(name, values, dtype)
    if isinstance(dtype, pl.List):
        return _lists(name, values, cast("pl.DataType", dtype.inner))
    if isinstance(dtype, pl.Array):
        return _vectors(name, values, dtype)
    return pl.Series(name, values, dtype=dtype, strict=True)


def _structs(name: str, values: list[dict[str, Any] | None], dtype: pl.Struct) -> pl.Series:
    fields = [
        typed_series(
            field.name,
            [None if value is None else value.get(field.name) for value in values],
            cast("pl.DataType", field.dtype),
        )
        for field in dtype.fields
    ]
    rows = pl.DataFrame(fields).to_struct(name)
    if None not in values:
        return rows
    present = pl.Series([value is not None for value in values], dtype=pl.Boolean)
    return pl.select(pl.when(present).then(rows).otherwise(None).alias(name)).to_series()


def _vectors(name: str, values: list[bytes | None], dtype: pl.Array) -> pl.Series:
    rows = pl.Series(name, matrix(values, size=dtype.shape[0]), dtype=dtype)
    if None not in values:
        return rows
    present = pl.Series([value is not None for value in values], dtype=pl.Boolean)
    return pl.select(pl.when(present).then(rows).otherwise(None).alias(name)).to_series()


def _lists(name: str, values: list[list[Any] | None], inner: pl.DataType) -> pl.Series:
    rows: list[int] = []  # of each item, the row it belongs to
    places: list[int | None] = []  # of each row, where its list stands among those that have items
    filled = 0
    for row, value in enumerate(values):
        if value:
            rows.extend([row] * len(value))
            places.append(filled)
            filled += 1
        else:
            places.append(None if value is None else -1)
    items = typed_series(_ITEM, [item for value in values if value for item in value], inner)
    cut = (
        pl.DataFrame([pl.Series(_ROW, rows, dtype=pl.UInt64).set_sorted(), items])
        .group_by(_ROW, maintain_order=True)
        .agg(_ITEM)
        .get_column(_ITEM)
    )
    empty = pl.Series(_ITEM, [[]], dtype=pl.List(inner))
    found = pl.Series([filled if place == -1 else place for place in places], dtype=pl.UInt32)
    return pl.concat([cut, empty]).gather(found).alias(name)
