"""The part of a report card about where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmframe.report.card_parts.section import Section, Value

NAME = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What another person needs to get the same numbers.

    Attributes
    ----------
    columns
        What each column was taken for.
    models
        Models that answered; empty: nobody told.
    question
        Digest of the prompt and the model; `None`: nobody told.
    seed, draws, level
        Of the intervals.
    version
        Of llmframe.
    """

    columns: Sequence[tuple[str, str]]
    models: Sequence[str] = ()
    question: str | None = None
    seed: int = 0
    draws: int = 0
    level: float = 0.95
    version: str = ""


def source_section(source: Source) -> Section:
    """Columns, model, digest of the prompt, seed, level, version."""
    told = ", ".join(source.models)
    unknown = "unknown: pass `run=llmframe.last_run()`, or map with `meta=True`"
    lines = [
        *source.columns,
        ("model", told or unknown),
        ("prompt digest", source.question or "unknown: pass `run=llmframe.last_run()` right after the map"),
        ("intervals", f"{100 * source.level:g} %; bootstrap with {source.draws:,} draws, seed {source.seed}"),
        ("llmframe", source.version),
    ]
    values: dict[str, Value] = {
        "model": told or None,
        "question": source.question,
        "seed": source.seed,
        "level": source.level,
        "version": source.version,
    }
    return Section(name=NAME, title="Source", lines=tuple(lines), values=values)
