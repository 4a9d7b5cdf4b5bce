"""The part of a report card about the errors among the surest rows."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from llmframe.report.card_parts.section import (
    Picture,
    Section,
    Value,
    absent,
    estimate_text,
    estimate_values,
    number_text,
)
from llmframe.report.pictures.coverage_curve import coverage_curve
from llmframe.stats.certificate import Certificate
from llmframe.stats.risk_coverage import COVERAGES, RiskCoverage

if TYPE_CHECKING:
    from llmframe.report.selection import Selection

NAME: Final = "coverage"
TITLE: Final = "Errors among the surest rows"
KEYS: Final = (
    "aurc",
    "aurc.excess",
    *(f"accuracy_at_{100 * share:.0f}{end}" for share in COVERAGES for end in ("", ".low", ".high")),
)

CHOSEN: Final = "selection"
CHOSEN_TITLE: Final = "Certified threshold"
CHOSEN_KEYS: Final = ("threshold", "coverage", "risk_bound")


def coverage_section(curve: RiskCoverage, *, certificate: Certificate | None, level: float) -> Section:
    """Accuracy of the surest half, 80 % and 90 %, the area under the curve, and its picture.

    Parameters
    ----------
    curve
        Of the rows with gold, an answer and a confidence.
    certificate
        Of a chosen threshold, which the picture then shows; `None`: none was chosen.
    level
        Of the intervals.
    """
    if not curve.n:
        return absent(NAME, TITLE, "no row has gold, an answer and a confidence", keys=KEYS)
    values: dict[str, Value] = {"aurc": curve.aurc, "aurc.excess": curve.excess}
    lines: list[tuple[str, str]] = []
    for share in COVERAGES:
        found = curve.accuracy_at(share, level=level)
        lines.append((f"right of the surest {100 * share:.0f} %", f"{estimate_text(found)}, {found.n:,} rows"))
        values |= estimate_values(f"accuracy_at_{100 * share:.0f}", found)
    area = f"{number_text(curve.aurc)}, of which {number_text(curve.excess)} is due to the order"
    lines.append(("area under the curve", area))
    chosen = certificate if certificate is not None and certificate.holds else None
    draw = partial(
        coverage_curve,
        curve,
        chosen=None if chosen is None else (chosen.coverage, chosen.errors / chosen.kept),
        target=math.nan if certificate is None else certificate.target_error,
        title=f"Wrong among the surest, {curve.n:,} rows",
    )
    told = "; ".join(f"{name} {text}" for name, text in lines[: len(COVERAGES)])
    return Section(
        name=NAME,
        title=TITLE,
        lines=tuple(lines),
        values=values,
        pictures=(Picture(name="coverage", alt=f"Risk-coverage curve: {told}.", draw=draw),),
    )


def selection_section(selection: Selection | None) -> Section:
    """The certified threshold with its bound and the rows that stand by it, or why there is none.

    Parameters
    ----------
    selection
        What `llmframe.select` found; `None`: it wasn't asked.
    """
    if selection is None:
        reason = "no threshold was chosen; pass `selection=llmframe.select(...)`"
        return absent(CHOSEN, CHOSEN_TITLE, reason, keys=CHOSEN_KEYS)
    certificate = selection.certificate
    stand = f"{selection.kept:,} of {selection.n:,} rows, the other {selection.n - selection.kept:,} need review"
    lines = [("certificate", certificate.sentence), ("stand", stand)]
    if certificate.advice:
        lines.append(("more", certificate.advice))
    return Section(
        name=CHOSEN,
        title=CHOSEN_TITLE,
        lines=tuple(lines),
        values={"threshold": certificate.threshold, "coverage": selection.coverage, "risk_bound": certificate.bound},
        notes=selection.notes,
        reasons=dict.fromkeys(CHOSEN_KEYS, certificate.reason),
    )
