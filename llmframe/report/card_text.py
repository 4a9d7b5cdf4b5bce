"""A report card as plain text or Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from llmframe.report.card_parts.section import Section, Table
from llmframe.report.wording import text_rows

ABSENT: Final = "not in this card"

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#~$])")


def card_text(title: str, sections: Sequence[Section], *, tables: bool = True) -> str:
    """Title, and each part with its numbers below each other; absent parts at the end, with why.

    Parameters
    ----------
    tables
        Whether tables are told, too.
    """
    lines = [title]
    width = max((len(name) for section in sections for name, _ in section.lines), default=0) + 2
    for section in sections:
        if section.absent:
            continue
        lines.append(section.title)
        lines += [f"  {name:<{width}}{text}" for name, text in section.lines]
        if tables:
            lines += [f"  {line}" for table in section.tables for line in _told(table)]
        lines += [f"  {'note':<{width}}{note}" for note in section.notes]
    missing = [section for section in sections if section.absent]
    if missing:
        lines.append(ABSENT)
        lines += [f"  {section.title.lower()}: {section.reason}" for section in missing]
    return "\n".join(lines)


def _told(table: Table) -> list[str]:
    rows = [[" ".join(cell.split()) for cell in row] for row in (table.head, *table.rows)]
    return text_rows(rows[0], rows[1:]).split("\n")


def card_markdown(title: str, sections: Sequence[Section]) -> str:
    """The same in GitHub's Markdown, without the pictures, which a text can't hold."""
    return "\n".join(_markdown(title, sections)).rstrip() + "\n"


def _markdown(title: str, sections: Sequence[Section]) -> Iterator[str]:
    yield f"# {escaped(title)}"
    yield ""
    for section in sections:
        if section.absent:
            continue
        yield f"## {escaped(section.title)}"
        yield ""
        if section.lines:
            yield from _table(Table(head=("", ""), rows=section.lines))
        for table in section.tables:
            yield from _table(table)
        for note in section.notes:
            yield f"- {escaped(note)}"
        if section.notes:
            yield ""
    missing = [section for section in sections if section.absent]
    if missing:
        yield f"## {ABSENT.capitalize()}"
        yield ""
        yield from (f"- {escaped(section.title)}: {escaped(section.reason)}" for section in missing)


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, table.head))} |"
    yield f"|{'---|' * len(table.head)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in table.rows)
    yield ""


def escaped(text: str) -> str:
    r"""A text on one line that Markdown takes as it is.

    Examples
    --------
    >>> escaped("a|b\n*c*")
    'a\\|b \\*c\\*'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
