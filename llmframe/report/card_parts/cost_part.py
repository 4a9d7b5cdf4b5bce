"""The part of a report card about what the answers cost."""

from __future__ import annotations

import math

from llmframe.budget import money
from llmframe.report.card_parts.section import Section, absent
from llmframe.report.compared import Spending

NAME = "cost"
TITLE = "Cost"
KEYS = ("usd", "usd_per_1000", "input_tokens", "output_tokens")


def cost_section(spending: Spending) -> Section:
    """Dollars and tokens of the rows that were asked; what nobody told is unknown, never free."""
    if not spending.told_by:
        return absent(NAME, TITLE, "nobody told; map with `meta=True`", keys=KEYS)
    if not spending.asked:
        kept = spending.cached or 0
        reason = f"all {kept:,} answers were kept from an earlier run, which says nothing about their price"
        return absent(NAME, TITLE, reason if kept else "no row was asked", keys=KEYS)
    per_row = spending.usd_per_row
    lines = [("dollars", "unknown: no price for this model" if spending.usd is None else money(spending.usd))]
    if per_row is not None:
        lines.append(("for 1,000 rows", money(1000 * per_row)))
    if spending.input_tokens is not None and spending.output_tokens is not None:
        lines.append(("tokens", f"{spending.input_tokens:,} in, {spending.output_tokens:,} out"))
    asked = f"{spending.asked:,} rows were asked"
    lines.append(("for", f"{asked}, {spending.cached:,} were kept from an earlier run" if spending.cached else asked))
    notes = (f"the cost of {spending.unknown:,} requests is unknown: more may have been spent",)
    return Section(
        name=NAME,
        title=TITLE,
        lines=tuple(lines),
        values={
            "usd": _number(spending.usd),
            "usd_per_1000": math.nan if per_row is None else 1000 * per_row,
            "input_tokens": _number(spending.input_tokens),
            "output_tokens": _number(spending.output_tokens),
        },
        notes=notes if spending.unknown else (),
        reasons=dict.fromkeys(KEYS, "no price for this model, or no usage told"),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
