"""The part of a report card about its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from llmframe.report.card_parts.section import Section, Value
from llmframe.report.wording import counts

NAME = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the rows.

    Attributes
    ----------
    rows
        All.
    failed
        Those with an error, by its kind.
    missing
        Those without an answer and without an error: not asked, or an answer of null.
    gold
        Those with gold.
    judged
        Those with both gold and an answer, on which the judge is measured.
    failed_gold
        Those with gold that failed.
    unique, cached, shared
        Distinct questions, rows whose answer was kept from an earlier run, rows that shared another's question;
        `None`: nobody told.
    """

    rows: int
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    missing: int = 0
    gold: int = 0
    judged: int = 0
    failed_gold: int = 0
    unique: int | None = None
    cached: int | None = None
    shared: int | None = None

    @property
    def failures(self) -> int:
        """Failed rows of all kinds."""
        return sum(self.failed.values())

    @property
    def answered(self) -> int:
        """Rows with an answer."""
        return self.rows - self.failures - self.missing


def counts_section(found: Counts) -> Section:
    """Rows, answers, failures, gold, distinct questions and kept answers."""
    lines = [("rows", f"{found.rows:,}"), ("answered", f"{found.answered:,}")]
    if found.failures:
        lines.append(("failed", f"{found.failures:,} ({counts(found.failed)})"))
    else:
        lines.append(("failed", "0"))
    if found.missing:
        lines.append(("without an answer", f"{found.missing:,}"))
    lines.append(("with gold", f"{found.gold:,}, of them {found.judged:,} with an answer"))
    told = (("unique calls", found.unique), ("from the cache", found.cached), ("shared", found.shared))
    lines += [(name, f"{count:,}") for name, count in told if count is not None]
    if all(count is None for _, count in told):
        lines.append(("unique calls", "unknown: map with `meta=True` to have them told"))
    why = "nobody told; map with `meta=True`"
    values: dict[str, Value] = {
        "rows": found.rows,
        "answered": found.answered,
        "failed": found.failures,
        "missing": found.missing,
        "gold": found.gold,
        "judged": found.judged,
        "answered_share": found.answered / found.rows if found.rows else math.nan,
        "unique_calls": _known(found.unique),
        "cached": _known(found.cached),
    }
    return Section(
        name=NAME,
        title="Rows",
        lines=tuple(lines),
        values=values | {f"failed.{kind}": count for kind, count in sorted(found.failed.items())},
        notes=_notes(found),
        reasons={"unique_calls": why, "cached": why, "answered_share": "there is no row"},
    )


def _notes(found: Counts) -> tuple[str, ...]:
    notes: list[str] = []
    if found.failed_gold:
        notes.append(
            f"{found.failed_gold:,} of {found.gold:,} rows with gold failed: they are in none of the numbers below, "
            "which are those of the rows that the judge could answer"
        )
    return tuple(notes)


def _known(count: int | None) -> Value:
    return math.nan if count is None else count
