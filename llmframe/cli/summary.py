"""What a run tells at its end: JSON for schedulers, a few lines for people."""

from __future__ import annotations

import textwrap
from typing import Final

from llmframe.cli.exits import ALL_ROWS, BUDGET_REACHED, INTERRUPTED, SOME_FAILED, TERMINATED
from llmframe.report import RunReport

USD_DIGITS: Final = 9
"""Digits after the point: a token of the cheapest models costs a few billionths."""

INDENT: Final = " " * 12
"""Where a report's texts begin."""


def summary(report: RunReport | None, *, output: str | None, status: int) -> dict[str, object]:
    """The object that `--json` prints; a run that was ended before it began has `None` for its numbers.

    Parameters
    ----------
    report
        What the run did.
    output
        Where its rows went.
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
        "usd": None if report is None or report.usd is None else round(report.usd, USD_DIGITS),
        "budget": told.get("budget"),
        "budget_spent": told.get("budget_spent"),
        "seconds": told.get("seconds"),
        "notes": told.get("notes", []),
        "output": output,
        "exit_code": status,
    }


def closing_lines(status: int, *, output: str) -> list[str]:
    """What was written, and how to go on; nothing for a status that a run doesn't end with."""
    written = [f"wrote {output}"]
    again = "the same command asks only for what is missing"
    if status in (INTERRUPTED, TERMINATED):
        return [f"interrupted; nothing was written to {output} yet", again]
    if status == BUDGET_REACHED:
        return [*written, f"the budget was reached; with --exists replace {again}"]
    if status == SOME_FAILED:
        return [*written, f"with --exists replace {again}"]
    return written if status == ALL_ROWS else []


def fitted(report: str, width: int | None) -> str:
    """A report's table with its lines folded at `width` columns, under where their texts begin; `None` folds none."""
    if width is None:
        return report
    fold = textwrap.TextWrapper(width, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fold.fill(line) for line in report.splitlines())
