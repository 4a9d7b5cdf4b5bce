"""Which columns a map adds: their names, dtypes and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.core.columns import Column, ColumnType
from llmframe.core.outcome import Answer, Failure, Outcome, storable
from llmframe.core.plan import Plan
from llmframe.core.schema import Schema
from llmframe.errors import UsageError

STRING: Final = ColumnType("string")
META_FIELDS: Final[tuple[tuple[str, ColumnType], ...]] = (
    ("model", STRING),
    ("attempts", ColumnType("int")),
    ("input_tokens", ColumnType("int")),
    ("output_tokens", ColumnType("int")),
    ("cached_tokens", ColumnType("int")),
    ("usd", ColumnType("float")),
    ("seconds", ColumnType("float")),
    ("finish_reason", STRING),
    ("source", STRING),
    ("fingerprint", STRING),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The new columns of one map.

    Parameters
    ----------
    schema
        Its fields come first, in order.
    prefix
        Stands before every new name.
    into
        One struct column of this name that holds everything; `None` for a column each.
    meta
        Whether `llm_meta` is added.
    """

    schema: Schema
    prefix: str = ""
    into: str | None = None
    meta: bool = False

    def __post_init__(self) -> None:
        """Raise `UsageError` where the schema's names leave none for a column of ours."""
        names = [name for name, _ in self.parts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(
                f"the schema and llmframe both write a column {twice[0]!r}; rename the field of the schema"
            )

    @property
    def error(self) -> str:
        """Name of the error column: `error`, or `llm_error` where the schema has a field of that name."""
        taken = {field.name for field in self.schema.fields}
        return "llm_error" if "error" in taken else "error"

    @property
    def error_place(self) -> str:
        """Where the error stands in the frame: its column, or its field in the struct column."""
        return self.prefix + (self.error if self.into is None else f"{self.into}.{self.error}")

    @property
    def parts(self) -> list[tuple[str, ColumnType]]:
        """Name, without prefix, and type of everything that is written."""
        parts = [(field.name, field.type) for field in self.schema.fields]
        parts.append((self.error, STRING))
        if self.meta:
            parts.append(("llm_meta", ColumnType("struct", fields=META_FIELDS)))
        return parts

    @property
    def types(self) -> list[tuple[str, ColumnType]]:
        """Name and type of the columns as they stand in the frame."""
        if self.into is not None:
            return [(self.prefix + self.into, ColumnType("struct", fields=tuple(self.parts)))]
        return [(self.prefix + name, type_) for name, type_ in self.parts]

    def check(self, existing: Sequence[str], *, overwrite: bool, verb: str) -> None:
        """Raise `UsageError` where a new name is already there: without `overwrite`, or several times."""
        names = [name for name, _ in self.types]
        clash = [name for name in names if name in existing]
        several = [name for name in clash if existing.count(name) > 1]
        if several and overwrite:
            raise UsageError(
                f"`overwrite=True` can't tell which of the {existing.count(several[0])} columns named {several[0]!r} "
                "to replace; rename them, or name the new columns apart with `prefix=`"
            )
        if clash and not overwrite:
            shown = ", ".join(map(repr, clash))
            raise UsageError(
                f"the frame already has {'a column' if len(clash) == 1 else 'columns'} {shown}; either keep both:\n"
                f'    .llm.{verb}(..., prefix="{_free_prefix(names, existing)}")\n'
                f"or replace what is there:\n"
                f"    .llm.{verb}(..., overwrite=True)"
            )

    def columns(self, plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure) -> list[Column]:
        """The columns' values, one a row of `plan`; `missing` is the failure of a request without an outcome."""
        results = [missing if outcome is None else outcome.result for outcome in outcomes]
        answers = [result.values if isinstance(result, Answer) else None for result in results]
        errors = [None if isinstance(result, Answer) else str(result) for result in results]
        rows = plan.scatter(answers, unplanned=lambda _: None, outside=None)
        values: list[list[object]] = [
            [None if row is None else row[position] for row in rows] for position in range(len(self.schema.fields))
        ]

        def without_request(row: int) -> str:
            return str(plan.failures.get(row, missing))

        values.append([*plan.scatter(errors, unplanned=without_request, outside=None)])
        if self.meta:
            values.append(_meta(plan, outcomes))
        parts = [Column(name, type_, column) for (name, type_), column in zip(self.parts, values, strict=True)]
        if self.into is None:
            return [Column(self.prefix + part.name, part.type, part.values) for part in parts]
        asked = plan.scatter([True] * len(results), unplanned=lambda _: True, outside=False)
        names = [part.name for part in parts]
        structs: list[object] = [
            dict(zip(names, row, strict=True)) if was_asked else None
            for was_asked, row in zip(asked, zip(*(part.values for part in parts), strict=True), strict=True)
        ]
        (name, type_), *_ = self.types
        return [Column(name, type_, structs)]


def _meta(plan: Plan, outcomes: Sequence[Outcome | None]) -> list[object]:
    """Tokens and dollars stand on the first row of a shared request, so that columns and bill have the same sum."""
    free: dict[str, object] = {"attempts": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}
    free |= {"usd": 0.0, "seconds": 0.0}
    nothing = dict.fromkeys((name for name, _ in META_FIELDS), None) | free
    first: list[object] = []
    again: list[object] = []
    for outcome in outcomes:
        if outcome is None:
            first.append(nothing)
            again.append(nothing)
            continue
        full = {
            "model": outcome.model and storable(outcome.model),
            "attempts": outcome.attempts,
            "input_tokens": outcome.usage.input_tokens,
            "output_tokens": outcome.usage.output_tokens,
            "cached_tokens": outcome.usage.cached_tokens,
            "usd": outcome.usd,
            "seconds": outcome.seconds,
            "finish_reason": outcome.finish_reason and storable(outcome.finish_reason),
            "source": outcome.source,
            "fingerprint": outcome.fingerprint,
        }
        first.append(full)
        again.append(full | free | {"source": "cache" if outcome.source == "cache" else "shared"})
    values = plan.scatter(again, unplanned=lambda _: nothing, outside=None)
    for index, row in enumerate(plan.first_rows):
        if index < len(first):
            values[row] = first[index]
    return values


def _free_prefix(names: Sequence[str], existing: Sequence[str]) -> str:
    number, prefix = 2, "llm_"
    while any(prefix + name in existing for name in names):
        prefix, number = f"llm{number}_", number + 1
    return prefix
