"""Which rows and columns a filter leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from llmframe.core.columns import ColumnType
from llmframe.frames.derived import derive, dropped, names_of, rows_where
from llmframe.judge.task import Task

ANSWER: Final = "llm_answer"
KEEP: Final = "llm_keep"
HIDDEN: Final = "llm_filter_"
"""Before the temporary columns, where none of them stays."""

_SURE: Final = ("confidence", "confidence_source", "confidence_raw", "distribution", "label_mass")


def kept_columns(
    options: Mapping[str, object], *, keep_errors: bool, panel: bool, cascade: bool
) -> tuple[tuple[str, ...], Mapping[str, object]]:
    """Names, without prefix, of new columns that stay; and the options, with a prefix of their own where none does."""
    sure = _SURE if options.get("confidence") or (panel and keep_errors) else ()
    also = {"tier": cascade, "error": keep_errors, "llm_meta": bool(options.get("meta"))}
    kept = (*sure, *(name for name, stays in also.items() if stays))
    return kept, options if kept else {**options, "prefix": f"{options.get('prefix', '')}{HIDDEN}"}


def narrowing(task: Task, frame: object, kept: tuple[str, ...], *, keep_errors: bool) -> Task:
    """`task`, after which rows whose answer isn't true and columns that aren't `kept` go."""
    own = set(names_of(frame))

    def finish(out: Any, prefix: str) -> Any:
        out = task.finish(out, prefix)
        answer, keep = prefix + ANSWER, prefix + KEEP
        if keep_errors:
            source = f"{prefix}confidence_source"
            sources = [source] if "confidence_source" in kept and source in names_of(out) else []
            out = derive(out, [answer, f"{prefix}error", *sources], [(keep, ColumnType("bool"))], _true_or_unknown)
        out = rows_where(out, keep if keep_errors else answer, value=True)
        stays = own.union(prefix + name for name in kept)
        return dropped(out, [name for name in names_of(out) if name not in stays])

    return replace(task, finish=finish)


def _true_or_unknown(cells: list[list[object]]) -> list[list[object]]:
    return [
        [answer is True or error is not None or "tie" in source for answer, error, *source in zip(*cells, strict=True)]
    ]
