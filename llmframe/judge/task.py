"""What a preset is: questions for `map`, and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmframe.core.columns import ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question about every row.

    Parameters
    ----------
    template, schema
        As `map` takes them.
    prefix
        Stands before its columns, after the call's own prefix; they are temporary unless the task keeps them.
    options
        Further arguments of `map` that the preset decides (`system`, `into`, …).
    rows
        Name, without the call's prefix, of a column that `after` made of an earlier ask: only rows where it is true are
        asked, of which a plan knows but the most there may be. `""`: the rows that the call says.
    after
        `(frame with the columns so far, the call's prefix) -> frame`: runs once this ask is answered, before the next.
    """

    template: object
    schema: object
    prefix: str = ""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    rows: str = ""
    after: Callable[[Any, str], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A preset's questions, each a `map`, and what is made of their columns.

    Parameters
    ----------
    asks
        Mapped one after the other, sharing answers and budget; each cell column is `prefix + ask.prefix + name`.
    verdict
        Name, without prefix, of the column by which several judges are compared; `""`: every field of the schema.
    verdict_type
        Its dtype, where `finish` makes it; `None`: that of the first ask's field of this name.
    columns
        Names, without prefix, of what `finish` adds: one that the frame has is refused before anything is asked.
    types
        Names and types of what `finish` leaves of the answer, in their order; empty where the ask's columns stay.
    finish
        `(frame with all asks' columns, the call's prefix) -> frame`; runs after all asks, on lazy frames too.
    """

    asks: tuple[Ask, ...]
    verdict: str
    verdict_type: ColumnType | None = None
    columns: tuple[str, ...] = ()
    types: tuple[tuple[str, ColumnType], ...] = ()
    finish: Callable[[Any, str], Any] = lambda frame, _prefix: frame
