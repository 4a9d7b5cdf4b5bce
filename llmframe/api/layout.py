"""Which columns a map adds: their names, dtypes and values."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from llmframe.api.sure import SureColumn, sure_columns
from llmframe.core.calibration import Calibration
from llmframe.core.columns import Column, ColumnType
from llmframe.core.fields import Labels
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
    ("price", STRING),
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
    distribution
        Whether the probabilities of all labels are added.
    calibration
        What makes confidences of the raw ones, which then stand beside them.
    labels
        `"string"`: the source of a confidence is plain text.
    """

    schema: Schema
    prefix: str = ""
    into: str | None = None
    meta: bool = False
    distribution: bool = False
    calibration: Calibration | None = None
    labels: Labels = "enum"
    _sure: tuple[SureColumn, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise `UsageError` where the schema's names leave none for a column of ours."""
        sure = sure_columns(
            self.schema, labels=self.labels, distribution=self.distribution, calibration=self.calibration
        )
        object.__setattr__(self, "_sure", sure)
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
        stated = self.schema.confidences if self.schema.scoring and self.schema.scoring.source == "stated" else ()
        parts += [(column.name, column.type) for column in self._sure if column.name not in stated]
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
            call = f"llmframe.{verb}" if verb.endswith("_file") else f".llm.{verb}"
            raise UsageError(
                f"the frame already has {'a column' if len(clash) == 1 else 'columns'} {shown}; either keep both:\n"
                f'    {call}(..., prefix="{_free_prefix(names, existing)}")\n'
                f"or replace what is there:\n"
                f"    {call}(..., overwrite=True)"
            )

    def columns(self, plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure | None) -> list[Column]:
        """The columns' values for every row of `plan`.

        `missing` is the failure of a request without an outcome; `None` while it may still get one: nulls, and the
        source `"pending"`.
        """
        pending = Answer("", (None,) * len(self.schema.fields))
        entries, rows = _entries(plan, outcomes, missing=missing or pending, meta=self.meta)
        answers = [entry.result if isinstance(entry.result, Answer) else None for entry in entries]
        sure = {column.name: [column.value(answer) for answer in answers] for column in self._sure}
        values: list[list[object]] = [
            sure.pop(field.name, None) or [None if answer is None else answer.values[position] for answer in answers]
            for position, field in enumerate(self.schema.fields)
        ]
        values += sure.values()
        values.append([str(entry.result) if isinstance(entry.result, Failure) else None for entry in entries])
        if self.meta:
            values.append([entry.meta for entry in entries])
        if self.into is None:
            return [
                Column(self.prefix + name, type_, column, rows=rows)
                for (name, type_), column in zip(self.parts, values, strict=True)
            ]
        names = [name for name, _ in self.parts]
        structs: list[object] = [
            None if entry.result is None else dict(zip(names, row, strict=True))
            for entry, row in zip(entries, zip(*values, strict=True), strict=True)
        ]
        (name, type_), *_ = self.types
        return [Column(name, type_, structs, rows=rows)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a row can get: a result, `None` outside the mask, and what it took."""

    result: Answer | Failure | None
    meta: dict[str, object] | None = None


def _entries(
    plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure | Answer, meta: bool
) -> tuple[list[_Entry], array[int] | None]:
    """What rows can get, each once, and the place of every row's; `None` where rows are in that order.

    Tokens and dollars stand on the first row of a shared request, so that columns and bill have the same sum.
    """
    pending = Outcome(result=missing, source="pending") if isinstance(missing, Answer) else None
    told = [outcome or pending for outcome in (*outcomes, *[None] * (len(plan.first_rows) - len(outcomes)))]
    entries = [
        _Entry(missing if outcome is None else outcome.result, _meta(outcome, first=True) if meta else None)
        for outcome in told
    ]
    if len(entries) == plan.length:
        return entries, None
    rows = plan.requests
    if meta:
        rows = rows[:]
        for index, row in enumerate(plan.first_rows, len(entries)):
            rows[row] = index
        again = [_Entry(entry.result, _meta(told[at], first=False)) for at, entry in enumerate(entries)]
        entries = again + entries
    nothing = _meta(None, first=True) if meta else None
    entries = plan.entries(
        entries,
        failed=lambda failure: _Entry(failure, nothing),
        outside=_Entry(None),
        missing=_Entry(missing, _meta(pending, first=True) if meta else None),
    )
    return entries, rows


def _meta(outcome: Outcome | None, *, first: bool) -> dict[str, object]:
    found: dict[str, object] = {name: None for name, _ in META_FIELDS}
    found |= {"attempts": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "usd": 0.0, "seconds": 0.0}
    if outcome is None:
        return found
    found |= {
        "model": outcome.model and storable(outcome.model),
        "finish_reason": outcome.finish_reason and storable(outcome.finish_reason),
        "source": outcome.source if first or outcome.source in ("cache", "pending") else "shared",
        "price": _price_class(outcome, first=first),
        "fingerprint": outcome.fingerprint,
    }
    if first:
        found |= {
            "attempts": outcome.attempts,
            "input_tokens": outcome.usage.input_tokens,
            "output_tokens": outcome.usage.output_tokens,
            "cached_tokens": outcome.usage.cached_tokens,
            "usd": outcome.usd,
            "seconds": outcome.seconds,
        }
    return found


def _price_class(outcome: Outcome, *, first: bool) -> str | None:
    """At which price a row's request was asked in this run: live, batch, or none; `None` while or if it wasn't."""
    if outcome.source == "pending" or (isinstance(outcome.result, Failure) and not outcome.attempts):
        return None
    return outcome.source if first and outcome.source in ("live", "batch") else "cached"


def _free_prefix(names: Sequence[str], existing: Sequence[str]) -> str:
    number, prefix = 2, "llm_"
    while any(prefix + name in existing for name in names):
        prefix, number = f"llm{number}_", number + 1
    return prefix
