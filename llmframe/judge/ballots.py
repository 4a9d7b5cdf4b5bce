"""Judges' cells in, a panel's cells out."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from llmframe.core.columns import ColumnType
from llmframe.core.schema import SchemaField, schema_of
from llmframe.core.scores import ConfidenceSource
from llmframe.errors import LlmframeWarning, callers_place
from llmframe.judge.task import Task
from llmframe.stats.dawid_skene import dawid_skene
from llmframe.stats.panels import (
    Elected,
    cross_fitted_weights,
    majority,
    most_probable,
    weighted,
    weights_from_gold,
)

Vote = Literal["majority", "weighted", "dawid_skene"]

NOTHING: Final = ("nothing",)
"""A vote for a null, where a null is an answer as good as any."""

HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """One field that judges vote on.

    Parameters
    ----------
    name
        The field, without prefix.
    type
        Its column's dtype.
    labels
        All that it may be, as cells; empty where that is open.
    few
        Whether it has few values, though `labels` doesn't tell them: those that were seen are all.
    nulls
        Whether a null of a judge without an error is a vote for null.
    """

    name: str
    type: ColumnType
    labels: tuple[Hashable, ...] = ()
    few: bool = False
    nulls: bool = False

    @property
    def several(self) -> bool:
        """Whether an answer is a list of labels, each of which is voted on."""
        return self.type.kind == "list" and self.type.item is not None and self.type.item.kind in ("enum", "string")


@dataclass(frozen=True, slots=True)
class Decided:
    """A panel's cells of one field, one a row, as `derive` takes them."""

    verdicts: list[object]
    confidences: list[object]
    sources: list[object]
    votes: list[object]


def ballots_of(task: Task, options: Mapping[str, object]) -> list[Ballot]:
    """The fields that the judges of a task vote on: its verdict, or every field of its schema."""
    ask = task.asks[0]
    told = {name: ask.options.get(name, options.get(name)) for name in ("into", "nested", "labels")}
    given: Any = {name: value for name, value in told.items() if value is not None}
    fields = {field.name: field for field in schema_of(ask.schema, **given).fields}
    given["labels"] = "enum"
    closed = {field.name: field for field in schema_of(ask.schema, **given).fields}
    if not task.verdict:
        return [
            Ballot(name=name, type=each.type, labels=_labels(closed[name]), nulls=True) for name, each in fields.items()
        ]
    if task.verdict_type is not None:
        type_ = task.verdict_type
        labels: tuple[Hashable, ...] = (False, True) if type_.kind == "bool" else type_.labels
        return [
            Ballot(name=task.verdict, type=type_, labels=labels, few=type_.kind in ("enum", "string", "bool", "int"))
        ]
    field = fields[task.verdict]
    return [Ballot(name=field.name, type=field.type, labels=_labels(closed[field.name]))]


def decided(  # noqa: PLR0913 - a vote's facts
    ballot: Ballot,
    cells: Sequence[Sequence[object]],
    errors: Sequence[Sequence[object]],
    asked: Sequence[bool],
    *,
    vote: Vote = "majority",
    gold: Sequence[object] = (),
) -> Decided:
    """What the panel says of each row.

    Parameters
    ----------
    cells, errors
        Judges × rows: the field, and the error of whoever gave none.
    asked
        Whether a row was asked; nothing is said of one that wasn't.
    gold
        Known labels, one a row, for `vote="weighted"`.
    """
    known: dict[Hashable, object] = {}
    rows = [
        [_key(cell, error, ballot, known) for cell, error in zip(row, failed, strict=True)]
        for row, failed in zip(zip(*cells, strict=True), zip(*errors, strict=True), strict=True)
    ]
    if ballot.several:
        return _set_by_set(ballot, [[known.get(vote) for vote in row] for row in rows], asked)
    elected = _elected(ballot, rows, vote, [cast("Hashable", label) for label in gold])
    return Decided(
        [known.get(winner) for winner in elected.winners],
        [
            share if votes and not tie else None
            for share, votes, tie in zip(elected.shares, elected.votes, elected.ties, strict=True)
        ],
        [
            _source(votes, tie=tie) if told else None
            for votes, tie, told in zip(elected.votes, elected.ties, asked, strict=True)
        ],
        [votes if told else None for votes, told in zip(elected.votes, asked, strict=True)],
    )


def first_error(errors: Sequence[object], judges: Sequence[str]) -> str | None:
    """The first judge's error with its name behind the kind, if no judge answered."""
    if any(error is None for error in errors):
        return None
    kind, _, rest = str(errors[0]).partition(": ")
    return f"{kind}: {judges[0]}: {rest}"


def mean(cells: Sequence[object]) -> float | None:
    """The mean of the numbers among one row's cells; `None` without one."""
    numbers = [float(cast("float", cell)) for cell in cells if cell is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _labels(field: SchemaField) -> tuple[Hashable, ...]:
    """What cells of a closed field may be."""
    if field.type.kind == "enum":
        return field.type.labels
    if field.type.kind == "bool":
        return (False, True)
    return tuple(cast("int", value) for value in field.allowed if value is not None) if field.type.kind == "int" else ()


def _elected(
    ballot: Ballot, rows: list[list[Hashable | None]], vote: Vote, gold: Sequence[Hashable]
) -> Elected[Hashable]:
    seen = dict.fromkeys(label for row in [*rows, gold] for label in row if label is not None)
    labels = ballot.labels or tuple(seen)
    if vote == "weighted" and rows:
        _warn_of_chance(rows, gold, labels)
        return weighted(rows, cross_fitted_weights(rows, gold, labels=labels), labels=labels)
    if vote == "dawid_skene" and len(labels) > 1:
        return most_probable(dawid_skene(rows, labels).posteriors, rows, labels)
    return majority(rows)


def _warn_of_chance(
    rows: list[list[Hashable | None]], gold: Sequence[Hashable | None], labels: Sequence[Hashable]
) -> None:
    """A warning when no vote counts for what it says: the verdicts are ties, or labels that nobody chose."""
    voted = any(vote is not None for row, label in zip(rows, gold, strict=True) if label is not None for vote in row)
    if not voted or max(weights_from_gold(rows, gold, labels=labels)) > 0:
        return
    filename, line = callers_place()
    text = (
        "no judge is right on `gold` more often than chance, so votes count for nothing, or against what they say: "
        "are its labels meant as the judges' are?"
    )
    warnings.warn_explicit(text, LlmframeWarning, filename, line)


def _set_by_set(ballot: Ballot, rows: list[list[object]], asked: Sequence[bool]) -> Decided:
    """Label by label: those that more than half of the voters named; as sure as the least sure of all labels."""
    out = Decided([], [], [], [])
    for row, told in zip(rows, asked, strict=True):
        votes = [cast("list[object]", vote) for vote in row if vote is not None]
        named = ballot.type.item.labels if ballot.type.item else ()
        shares = {
            label: sum(label in vote for vote in votes) / len(votes)
            for label in named or dict.fromkeys(label for vote in votes for label in vote)
            if votes
        }
        tie = HALF in shares.values()
        sure = min((max(share, 1 - share) for share in shares.values()), default=1.0)
        good = bool(votes) and not tie
        out.verdicts.append([label for label, share in shares.items() if share > HALF] if good else None)
        out.confidences.append(sure if good else None)
        out.sources.append(_source(len(votes), tie=tie) if told else None)
        out.votes.append(len(votes) if told else None)
    return out


def _source(votes: int, *, tie: bool) -> ConfidenceSource:
    return "tie" if tie else "panel" if votes else "no_valid_votes"


def _key(cell: object, error: object, ballot: Ballot, known: dict[Hashable, object]) -> Hashable | None:
    """What a cell is counted as; the first cell of each kind is kept in `known`."""
    if cell is None:
        return NOTHING if ballot.nulls and error is None else None
    key = _frozen(cell)
    known.setdefault(key, cell)
    return key


def _frozen(value: object) -> Hashable:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return tuple((name, _frozen(member)) for name, member in members.items())
    if isinstance(value, list):
        return tuple(map(_frozen, cast("list[object]", value)))
    return cast("Hashable", value)
