"""Lazy polars: an answer as an elementwise expression, so that filters, heads and selects reach below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import polars as pl

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.base import Frame
from llmframe.frames.masks import not_boolean
from llmframe.frames.placement import placement
from llmframe.frames.polars import PolarsFrame, PolarsSeries, dtype, struct_dtype, struct_series

ASKED: Final = "__llmframe_asked"
ANSWERS: Final = "__llmframe_answers"
HELD: Final = "__llmframe_held"
DERIVED: Final = "__llmframe_derived"

Answerer = Callable[[Frame, list[bool] | None], Sequence[Column]]
"""Rows, and which of them are asked, to new columns; called from threads of polars, several at once."""


def column_names(frame: pl.LazyFrame) -> list[str]:
    """The columns of a lazy frame, learnt without running it."""
    return frame.collect_schema().names()


def map_expression(  # noqa: PLR0913 - the facts of one expression
    expression: pl.Expr,
    answer: Answerer,
    parts: Sequence[tuple[str, ColumnType]],
    *,
    name: str,
    where: object,
    first: Sequence[pl.Expr] = (),
) -> pl.Expr:
    """An expression of one Struct named `name` with `parts` as fields, over the rows of `expression`.

    Its dtype is given, so polars never calls `answer` to learn it; rows that the query drops are never asked. What
    fails in `first`, looked at under `where` only, fails before its rows are asked.
    """
    asked = _condition(where)
    # the expression keeps its own name, for the template may say it
    source = expression if asked is None else pl.struct(expression, asked.alias(ASKED), *first)
    struct = struct_dtype(parts)

    def answer_batch(batch: pl.Series) -> pl.Series:
        if asked is None:
            return struct_series(name, answer(_wrapped(batch), None))
        fields = batch.struct.unnest()
        mask = _mask(fields[ASKED])
        answers = struct_series(name, answer(_wrapped(fields.to_series(0)), mask.to_list()))
        return pl.select(pl.when(mask).then(answers).cast(struct).alias(name)).to_series()

    return source.map_batches(answer_batch, return_dtype=struct, is_elementwise=True).alias(name)


def map_lazy(  # noqa: PLR0913 - the facts of one lazy map
    frame: pl.LazyFrame,
    answer: Answerer,
    *,
    used: Sequence[str],
    parts: Sequence[tuple[str, ColumnType]],
    names: Sequence[str],
    where: object,
    keep: bool,
) -> pl.LazyFrame:
    """`frame` with the answers as columns `names` (one name: the whole struct).

    Parameters
    ----------
    used
        The input columns that are handed to `answer`.
    where
        Boolean expression, function of the frame, or `None`.
    keep
        Under `where`, rows that aren't asked keep what an overwritten column holds.
    """
    asked = _condition(cast("Callable[[pl.LazyFrame], object]", where)(frame) if callable(where) else where)
    existing = column_names(frame)
    fields = [(None, struct_dtype(parts))] if len(names) == 1 < len(parts) else [(n, dtype(t)) for n, t in parts]
    columns: list[pl.Expr] = []
    held: list[pl.Expr] = []
    for name, (field, type_) in zip(names, fields, strict=True):
        answers = pl.col(ANSWERS) if field is None else pl.col(ANSWERS).struct.field(field)
        if asked is not None and keep and name in existing:
            yes = asked.fill_null(value=False)
            old = pl.when(~yes).then(pl.col(name)).cast(type_)
            held.append(old.alias(f"{HELD}_{name}"))
            answers = pl.when(yes).then(answers).otherwise(old)
        columns.append(answers.alias(name))
    # a literal prompt uses no column, but there is one answer a row
    source = pl.struct(used or existing[:1])
    expression = map_expression(source, answer, parts, name=ANSWERS, where=asked, first=held)
    return frame.with_columns(expression).with_columns(columns).drop(ANSWERS)


def derive_lazy(  # noqa: PLR0913 - the facts of one derivation
    frame: pl.LazyFrame,
    inputs: Sequence[str],
    outputs: Sequence[tuple[str, ColumnType]],
    function: Callable[[list[list[object]]], list[list[object]]],
    *,
    drop: Sequence[str],
    replace: bool,
) -> pl.LazyFrame:
    """`frame` with the columns that `function` makes of `inputs`, part by part as the query comes to them."""
    existing = column_names(frame)
    placement(existing, [Column(name, type_, []) for name, type_ in outputs], replace=replace)

    def derived(rows: pl.Series) -> pl.Series:
        table = PolarsFrame(rows.struct.unnest())
        made = function(table.cells(range(len(inputs)), 0, len(table)))
        columns = [Column(name, type_, values) for (name, type_), values in zip(outputs, made, strict=True)]
        return struct_series(DERIVED, columns)

    source = pl.struct(inputs).map_batches(derived, return_dtype=struct_dtype(outputs), is_elementwise=True)
    columns = [pl.col(DERIVED).struct.field(name) for name, _ in outputs]
    return frame.with_columns(source.alias(DERIVED)).with_columns(columns).drop(DERIVED, *drop, strict=False)


def explode_lazy(
    frame: pl.LazyFrame, name: str, fields: Sequence[tuple[str, ColumnType]], *, prefix: str
) -> pl.LazyFrame:
    """`frame` with a row for each item of the lists in `name`, whose fields stand in its place."""
    lists = pl.col(name)
    # newer polars drop the rows of empty lists, older ones keep them, and both keep those of nulls
    items = frame.with_columns(pl.when(lists.list.len() > 0).then(lists)).explode(name)
    columns = [lists.struct.field(field).cast(dtype(type_)).alias(prefix + field) for field, type_ in fields]
    return items.select(part for each in column_names(frame) for part in (columns if each == name else [pl.col(each)]))


def _wrapped(rows: pl.Series) -> Frame:
    return PolarsFrame(rows.struct.unnest()) if isinstance(rows.dtype, pl.Struct) else PolarsSeries(rows)


def _mask(asked: pl.Series) -> pl.Series:
    if not isinstance(asked.dtype, pl.Boolean | pl.Null):
        raise not_boolean(pl.col(ASKED), str(asked.dtype))
    return asked.cast(pl.Boolean).fill_null(value=False)


def _condition(where: Any) -> pl.Expr | None:
    if where is None or isinstance(where, pl.Expr):
        return where
    raise UsageError(f"`where` of a lazy query must be a polars expression, got {type(where).__name__}")
