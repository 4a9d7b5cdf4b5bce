"""The part of a report card about what confidences are worth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
    number_text,
)
from llmframe.report.pictures.reliability_diagram import reliability_diagram
from llmframe.stats.confidence_scores import ConfidenceScores, confidence_scores
from llmframe.stats.reliability_bins import ReliabilityBin, reliability_bins

NAME: Final = "reliability"
TITLE: Final = "Confidence"
KEYS: Final = (
    "ece",
    "ece.chance",
    "ece.debiased_square",
    *(f"{key}{end}" for key in ("brier", "log_loss", "auroc") for end in ("", ".low", ".high")),
)

FEW: Final = 100
"""Rows below which a bin has fewer than ten, and little can be seen."""


def reliability_section(  # noqa: PLR0913 - the facts of a bootstrap
    confidences: Sequence[float],
    right: Sequence[bool],
    *,
    name: str,
    without: int = 0,
    clusters: Sequence[Hashable] | None = None,
    draws: int,
    seed: int,
    level: float,
) -> Section:
    """Calibration error beside chance, Brier score, log loss, AUROC, and the reliability diagram.

    Parameters
    ----------
    confidences, right
        Of the rows with gold, an answer and a confidence.
    name
        The column of confidences.
    without
        Rows with gold and an answer that have no confidence.
    clusters, draws, seed, level
        Of the bootstrap.
    """
    if not right:
        return absent(NAME, TITLE, f"no row has gold, an answer and a confidence in {name!r}", keys=KEYS)
    found = confidence_scores(confidences, right, clusters=clusters, draws=draws, seed=seed, level=level)
    bins = reliability_bins(confidences, right, seed=seed, level=level)
    notes = [f"{without:,} rows with gold and an answer have no confidence"] if without else []
    if len(right) < FEW:
        notes.append(f"{len(right):,} rows are few: below {FEW} a calibration error says little")
    estimates = {"brier": found.brier, "log_loss": found.log_loss, "auroc": found.auroc}
    values: dict[str, Value] = {
        "ece": found.ece,
        "ece.chance": found.chance.high,
        "ece.debiased_square": found.debiased,
        **{key: value for name, each in estimates.items() for key, value in estimate_values(name, each).items()},
    }
    return Section(
        name=NAME,
        title=TITLE,
        lines=(
            ("column", name),
            ("rows", f"{len(right):,}, {sum(right):,} of them right"),
            ("calibration error", _error_text(found)),
            ("Brier score", estimate_text(found.brier)),
            ("log loss", estimate_text(found.log_loss)),
            ("AUROC", f"{estimate_text(found.auroc)}; 0.5 is chance"),
        ),
        values=values,
        tables=(_table(bins),),
        pictures=(_picture(bins, confidences, right),),
        notes=tuple(notes),
        reasons={key: why for name, each in estimates.items() for key, why in estimate_reasons(name, each).items()},
    )


def _error_text(found: ConfidenceScores) -> str:
    low, high = number_text(found.chance.low), number_text(found.chance.high)
    compared = "no more" if found.by_chance else "more"
    return f"{number_text(found.ece)}, {compared} than the {low} to {high} that true confidences have by chance"


def _table(bins: Sequence[ReliabilityBin]) -> Table:
    return Table(
        head=("claimed", "right", "95 % interval", "by chance", "rows"),
        rows=tuple(
            (
                f"{each.confidence:.2f}",
                f"{each.accuracy:.2f}",
                f"{each.interval.low:.2f} to {each.interval.high:.2f}",
                f"{each.band.low:.2f} to {each.band.high:.2f}",
                f"{each.n:,}",
            )
            for each in bins
        ),
    )


def _picture(bins: Sequence[ReliabilityBin], confidences: Sequence[float], right: Sequence[bool]) -> Picture:
    outside = sum(not each.consistent for each in bins)
    told = ", ".join(f"{each.confidence:.2f} claimed {each.accuracy:.2f} right" for each in bins)
    title = f"Confidence against what was right, {len(right):,} rows"
    return Picture(
        name="reliability",
        alt=f"Reliability diagram: {outside} of {len(bins)} bins lie outside of what chance makes. {told}.",
        draw=partial(reliability_diagram, bins, confidences=list(confidences), right=list(right), title=title),
    )
