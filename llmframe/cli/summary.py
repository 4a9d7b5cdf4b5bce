"""What a run tells at its end: JSON for schedulers, a few lines for people."""

from __future__ import annotations

import textwrap
from typing import Final

from llmframe.cli.exits import BUDGET_REACHED, INTERRUPTED, SOME_FAILED, TERMINATED
from llmframe.report import RunReport

USD_DIGITS: Final = 9
"""Digits after the point: a token of the cheapest models costs a few billionths."""

INDENT: Final = " " * 12
"""Where a report's texts begin."""


def summary(report: RunReport | None, *, status: int) -> dict[str, object]:
    """The object that `--json` prints; a run that was ended before it began has `None` for its numbers.

    Parameters
    ----------
    report
        What the run did.
    status
        The exit status.
    """
    told = report.to_dict() if report is not None else {}
    names = ("model", "rows", "answered", "not_asked", "failed", "cached", "shared", "requests", "retries", "reasks")
    return {
        "state": told.get("state", "interrupted"),
        **{name: told.get(name) for name in names},
        "changes": told.get("changes"),
        "tokens": {name: told.get(f"{name}_tokens") for name in ("input", "output", "cached")},
        "unknown_usage": told.get("unknown_usage"),
        "usd": _rounded(told.get("usd")),
        **{name: told.get(name) for name in ("batches", "batch_requests", "batch_rows")},
        **{name: _rounded(told.get(name)) for name in ("usd_batch", "saved_usd")},
        "budget": told.get("budget"),
        "budget_spent": told.get("budget_spent"),
        "seconds": told.get("seconds"),
        "notes": told.get("notes", []),
        "output": told.get("output"),
        "exit_code": status,
    }


def closing_lines(status: int, *, written: bool) -> list[str]:
    """How to go on after a run; nothing where all is done, or where the report says it."""
    if status in (INTERRUPTED, TERMINATED) and not written:
        return [
            "the output isn't written yet: finished parts are kept",
            "the same command goes on where this one stopped",
        ]
    if status in (SOME_FAILED, BUDGET_REACHED) and written:
        return ["the same command with --exists replace asks only for what is missing"]
    return []


def fitted(report: str, width: int | None) -> str:
    """A report's table with its lines folded at `width` columns, under where their texts begin; `None` folds none."""
    if width is None:
        return report
    fold = textwrap.TextWrapper(width, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fold.fill(line) for line in report.splitlines())


def _rounded(usd: object) -> float | None:
    return round(usd, USD_DIGITS) if isinstance(usd, (int, float)) else None
