"""The part of a report card about what an audit of the judge found."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from llmframe.report.card_parts.section import Picture, Section, Table, Value, absent, estimate_values
from llmframe.report.pictures.forest_plot import ForestRow, Mark, forest_plot

if TYPE_CHECKING:
    from llmframe.report.audit import Audit, Finding

NAME: Final = "bias"
TITLE: Final = "Bias audit"
KEYS: Final = ("bias_findings", "bias_underpowered")

LEAST_Q: Final = 0.001
"""A q below it isn't told to the digit."""

MARKS: Final[dict[str, Mark]] = {"biased": "alarm", "clear at this power": "plain"}
"""How a verdict is drawn; all others are open."""

LEGEND: Final[dict[Mark, str]] = {"alarm": "biased", "plain": "clear at this power", "open": "nothing can be said"}


def bias_section(audit: Audit | None) -> Section:
    """Each probe's effect, its q and verdict, and how many of them tell a bias.

    Parameters
    ----------
    audit
        What `df.llm.audit(...)` found; `None`: there was none.
    """
    if audit is None:
        return absent(NAME, TITLE, "no audit was given; pass `audit=df.llm.audit(...)`", keys=KEYS)
    values: dict[str, Value] = {
        "bias_findings": len(audit.biased),
        "bias_underpowered": sum(finding.verdict == "underpowered" for finding in audit.findings),
    }
    for finding in audit.findings:
        values |= estimate_values(f"bias.{finding.probe}", finding.effect)
        values[f"bias.{finding.probe}.q"] = finding.q
    lines = [
        ("judge", audit.judge),
        ("rows", f"{audit.rows:,}" + (f", {audit.failed:,} of them failed" if audit.failed else "")),
        ("biased", ", ".join(audit.biased) or "none was found"),
    ]
    return Section(
        name=NAME,
        title=TITLE,
        lines=tuple(lines),
        values=values,
        tables=(Table(head=audit.names, rows=tuple(tuple(row) for row in audit.table())),),
        pictures=_pictures(audit),
        notes=(*audit.notes(), audit.rule),
    )


def _pictures(audit: Audit) -> tuple[Picture, ...]:
    """The effects of experiments; what was only observed has units of its own."""
    findings = [finding for finding in audit.findings if finding.verdict != "observational"]
    if not any(finding.effect.known for finding in findings):
        return ()
    rows = [_row(finding) for finding in findings]
    draw = partial(
        forest_plot,
        rows,
        null=0.0,
        x="effect, 95 % interval; 0 is no bias",
        legend={mark: text for mark, text in LEGEND.items() if mark in {row.mark for row in rows}},
        title=f"Bias audit of a {audit.judge} judge, {audit.rows:,} rows",
    )
    told = "; ".join(f"{finding.probe} {finding.verdict}" for finding in findings)
    return (Picture(name="bias", alt=f"Forest plot of effects: {told}.", draw=draw),)


def _row(finding: Finding) -> ForestRow:
    effect = finding.effect
    note = "unknown" if not effect.known else f"{effect.value:+.2f}"
    if not math.isnan(finding.q):
        note += ", q < 0.001" if finding.q < LEAST_Q else f", q = {finding.q:.3f}"
    return ForestRow(
        name=finding.probe,
        value=effect.value,
        low=effect.low,
        high=effect.high,
        note=note,
        mark=MARKS.get(finding.verdict, "open"),
    )
