"""How a report says its numbers."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Final

from llmframe.budget import money
from llmframe.core.outcome import Usage

SURE: Final = frozenset({"stated", "logprobs", "votes", "panel"})
"""Sources of a confidence; other words say why there is none."""

MINUTE: Final = 60.0
HOUR: Final = 3600.0


def tokens_text(usage: Usage) -> str:
    """`"1,200 in, 340 out"`."""
    return f"{usage.input_tokens or 0:,} in, {usage.output_tokens or 0:,} out"


def dollars(usd: float | None) -> str:
    """`"$0.0123"`, or `"unknown"`."""
    return "unknown (no price for this model)" if usd is None else money(usd)


def duration(seconds: float) -> str:
    """`"8.1 s"`, `"12.5 min"`, `"3.2 h"`."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    return f"{seconds / MINUTE:.1f} min" if seconds < HOUR else f"{seconds / HOUR:,.1f} h"


def batch_count(number: int) -> str:
    """`"1 batch"`, `"2 batches"`."""
    return f"{number:,} {'batch' if number == 1 else 'batches'}"


def counts(by_kind: Mapping[str, int]) -> str:
    """`"2 timeout, 1 invalid"`, the most frequent first."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(by_kind.items(), key=_by_count) if count)


def change_counts(changes: Mapping[str, int]) -> str:
    """`"12 new text, 3 new schema, 1 no longer valid, 985 kept"`; empty when nothing was known before."""
    words = {"text": "new text", "schema": "new schema", "model": "new model", "params": "new params"}
    words |= {"reply": "no longer valid", "kept": "kept"}
    if not any(count for change, count in changes.items() if change != "text"):
        return ""
    return ", ".join(f"{changes[change]:,} {word}" for change, word in words.items() if changes.get(change))


def failure_counts(failed: Mapping[str, int], rows: int) -> str:
    """`"3 of 10 rows failed: 2 timeout, 1 invalid"`."""
    return f"{sum(failed.values()):,} of {rows:,} rows failed: {counts(failed)}"


def unsure_counts(confidences: Mapping[str, int]) -> str:
    """`"20 of 1,000 answered rows have no confidence: 20 low_label_mass"`, with a remedy; empty when all have one."""
    without = {source: rows for source, rows in confidences.items() if source not in SURE and rows}
    if not without:
        return ""
    text = f"{sum(without.values()):,} of {sum(confidences.values()):,} answered rows have no confidence: "
    text += counts(without)
    if "no_logprobs" in without:
        text += (
            '; the endpoint told no log-probabilities, or no alternatives, for them: use `confidence="votes"`, or '
            '"auto", with `mode="live"` and a temperature above 0'
        )
    elif "low_label_mass" in without:
        text += "; the allowed labels had less than 0.8 of the probability: a few examples help"
    return text


def text_table(title: str, lines: Sequence[tuple[str, str]]) -> str:
    """The title, and one indented line for each pair of name and text."""
    return "\n".join([title, *(f"  {name:<10}{text}" for name, text in lines)])


def html_table(title: str, lines: Sequence[tuple[str, str]]) -> str:
    """The same for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left;padding-right:1em'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in lines
    )
    return f"<table><caption style='text-align:left;white-space:nowrap'>{html.escape(title)}</caption>{rows}</table>"


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def text_rows(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line for each row, columns as wide as their widest entry."""
    table = [names, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(names))]
    lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def html_rows(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same for notebooks."""
    head = "".join(f"<th style='text-align:left'>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(text)}</td>" for text in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
