"""A report card as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Final

from llmframe.errors import MissingExtraError
from llmframe.report.card_parts.section import Picture, Section, Table
from llmframe.report.card_text import ABSENT
from llmframe.report.pictures.canvas import DPI, WIDTH, data_address

STYLE: Final = """
.llmframe-card { font: 14px/1.45 system-ui, sans-serif; max-width: 58em; }
.llmframe-card table { border-collapse: collapse; margin: .4em 0 .8em; }
.llmframe-card th, .llmframe-card td { text-align: left; vertical-align: top; padding: .15em 1em .15em 0; }
.llmframe-card .data { overflow-x: auto; }
.llmframe-card .data th, .llmframe-card .data td { white-space: nowrap; }
.llmframe-card thead th { border-bottom: 1px solid #bbb; }
.llmframe-card h2 { font-size: 1.15em; margin: 1.2em 0 .2em; border-bottom: 1px solid #ddd; }
.llmframe-card h1 { font-size: 1.3em; margin: .3em 0; }
.llmframe-card img { display: block; max-width: 100%; margin: .5em 0; background: white; }
.llmframe-card .note { color: #555; margin: .2em 0; }
"""

POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing that doesn't stand in it."""


def card_html(title: str, sections: Sequence[Section]) -> str:
    """The card for a notebook: its own style, pictures inside, nothing else needed."""
    body = "".join(_body(title, sections))
    return f"<div class='llmframe-card'><style>{STYLE}</style>{body}</div>"


def card_page(title: str, sections: Sequence[Section]) -> str:
    """The card as a whole page, which loads nothing from anywhere."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title></head>\n<body>{card_html(title, sections)}</body></html>\n"
    )


def _body(title: str, sections: Sequence[Section]) -> Iterator[str]:
    yield f"<h1>{html.escape(title)}</h1>"
    for section in sections:
        if not section.absent:
            yield from _part(section)
    missing = [section for section in sections if section.absent]
    if missing:
        yield f"<h2>{ABSENT.capitalize()}</h2>"
        yield _table(Table(head=(), rows=tuple((section.title, section.reason) for section in missing)))


def _part(section: Section) -> Iterator[str]:
    yield f"\n<h2>{html.escape(section.title)}</h2>"
    if section.lines:
        yield _table(Table(head=(), rows=section.lines))
    yield from map(_table, section.tables)
    yield from (f"<p class='note'>{html.escape(note)}</p>" for note in section.notes)
    yield from map(_picture, section.pictures)


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in table.head)
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(first)}</th>{''.join(f'<td>{html.escape(text)}</td>' for text in rest)}</tr>"
        for first, *rest in table.rows
    )
    if not head:
        return f"<table><tbody>{rows}</tbody></table>"
    return f"<div class='data'><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _picture(picture: Picture) -> str:
    try:
        address = data_address(picture.draw())
    except MissingExtraError as error:
        return f"<p class='note'>{html.escape(str(error))}</p>"
    return f'\n<img src="{address}" width="{WIDTH * DPI:.0f}" alt="{html.escape(picture.alt)}">'
