"""Lazy polars: an answer as an elementwise expression, so that filters, heads and selects reach below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import polars as pl

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.base import Frame
from llmframe.frames.polars import PolarsFrame, PolarsSeries, dtype, struct_dtype, struct_series

INPUT: Final = "__llmframe_input"
ASKED: Final = "__llmframe_asked"
ANSWERS: Final = "__llmframe_answers"

Answerer = Callable[[Frame, list[bool] | None], Sequence[Column]]
"""Rows, and which of them are asked, to new columns; called from threads of polars, several at once."""


def column_names(frame: pl.LazyFrame) -> list[str]:
    """The columns of a lazy frame, learnt without running it."""
    return frame.collect_schema().names()


def map_expression(
    expression: pl.Expr, answer: Answerer, parts: Sequence[tuple[str, ColumnType]], *, name: str, where: object
) -> pl.Expr:
    """An expression of one Struct named `name` with `parts` as fields, over the rows of `expression`.

    Its dtype is given, so polars never calls `answer` to learn it; rows that the query drops are never asked.
    """
    asked = _condition(where)
    packed = [expression.alias(INPUT)] if asked is None else [expression.alias(INPUT), asked.alias(ASKED)]
    source = expression if asked is None else pl.struct(packed)

    def answer_batch(batch: pl.Series) -> pl.Series:
        rows, mask = batch, None
        if asked is not None:
            rows = batch.struct.field(INPUT)
            mask = batch.struct.field(ASKED).fill_null(value=False).to_list()
        frame: Frame = PolarsFrame(rows.struct.unnest()) if isinstance(rows.dtype, pl.Struct) else PolarsSeries(rows)
        return struct_series(name, answer(frame, mask))

    answered = source.map_batches(answer_batch, return_dtype=struct_dtype(parts), is_elementwise=True)
    return answered.alias(name)


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
    condition = cast("Callable[[pl.LazyFrame], object]", where)(frame) if callable(where) else where
    expression = map_expression(pl.struct(used), answer, parts, name=ANSWERS, where=condition)
    existing = column_names(frame)
    columns: list[pl.Expr] = []
    fields = [(None, struct_dtype(parts))] if len(names) == 1 < len(parts) else [(n, dtype(t)) for n, t in parts]
    for name, (field, type_) in zip(names, fields, strict=True):
        answers = pl.col(ANSWERS) if field is None else pl.col(ANSWERS).struct.field(field)
        asked = _condition(condition)
        if asked is not None and keep and name in existing:
            answers = pl.when(asked.fill_null(value=False)).then(answers).otherwise(pl.col(name).cast(type_))
        columns.append(answers.alias(name))
    return frame.with_columns(expression).with_columns(columns).drop(ANSWERS)


def _condition(where: Any) -> pl.Expr | None:
    if where is None or isinstance(where, pl.Expr):
        return where
    raise UsageError(f"`where` of a lazy query must be a polars expression, got {type(where).__name__}")
