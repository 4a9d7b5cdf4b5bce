"""The part of a report card about the number that known answers correct."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from llmframe.report.card_parts.section import (
    Picture,
    Section,
    Table,
    Value,
    absent,
    estimate_reasons,
    estimate_text,
    estimate_values,
)
from llmframe.report.estimates import GROUP_HEAD, EstimateReport
from llmframe.report.pictures.forest_plot import ForestRow, figures_text, forest_plot
from llmframe.stats.estimate import Estimate

NAME: Final = "estimate"
TITLE: Final = "Corrected estimate"
KEYS: Final = ("estimate", "estimate.low", "estimate.high", "effective_n")

MOST_GROUPS: Final = 20
"""Most groups that a card tells."""


def estimate_section(found: EstimateReport | None) -> Section:
    """The corrected number beside that of gold alone and of the judge alone.

    Parameters
    ----------
    found
        What `llmframe.estimate` found; `None`: it wasn't asked.
    """
    if found is None:
        reason = "no number was estimated; pass `estimate=llmframe.estimate(...)`"
        return absent(NAME, TITLE, reason, keys=KEYS)
    numbers = found.found
    told = {"corrected": numbers.estimate, "gold alone": numbers.gold, "judge alone": numbers.naive}
    values: dict[str, Value] = {
        **estimate_values("estimate", numbers.estimate),
        **estimate_values("estimate.gold", numbers.gold),
        **estimate_values("estimate.naive", numbers.naive),
        "effective_n": numbers.effective_n,
    }
    lines = [("of", found.of), ("method", found.method), *((name, estimate_text(each)) for name, each in told.items())]
    lines.append(("known answers", f"{found.known:,} of {found.rows:,} rows"))
    if math.isfinite(numbers.effective_n):
        lines.append(("worth", f"as much as {numbers.effective_n:,.0f} known answers alone"))
    notes = [*found.notes]
    if found.unanswered:
        notes.append(f"{found.unanswered:,} rows without an answer of the judge are left out")
    groups = list(found.groups.items())[:MOST_GROUPS]
    rows: list[tuple[str, ...]] = []
    for group, each in groups:
        values |= estimate_values(f"by.{group}.estimate", each.estimate)
        effective = f"{each.effective_n:,.0f}" if math.isfinite(each.effective_n) else "unknown"
        alone = (str(each.found.gold), str(each.found.naive))
        rows.append((str(group), f"{each.known:,}", str(each.estimate), *alone, effective))
    told |= {str(group): each.estimate for group, each in groups}
    return Section(
        name=NAME,
        title=TITLE,
        lines=tuple(lines),
        values=values,
        tables=(Table(head=GROUP_HEAD, rows=tuple(rows)),) if rows else (),
        pictures=(_picture(found, told),) if numbers.estimate.known else (),
        notes=tuple(notes),
        reasons=estimate_reasons("estimate", numbers.estimate),
    )


def _picture(found: EstimateReport, told: dict[str, Estimate]) -> Picture:
    rows = [
        ForestRow(
            name=name,
            value=each.value,
            low=each.low,
            high=each.high,
            mark="open" if name in ("gold alone", "judge alone") else "plain",
        )
        for name, each in told.items()
    ]
    x = f"{found.of}, {100 * found.estimate.level:g} % interval"
    return Picture(
        name="estimate",
        alt=f"Forest plot of estimates: {'; '.join(f'{row.name} {figures_text(row)}' for row in rows)}.",
        draw=partial(forest_plot, rows, x=x, title=f"Corrected by {found.known:,} known answers ({found.method})"),
    )
