"""A card as HTML: one file, which loads nothing and runs nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from llmframe.errors import MissingExtraError
from llmframe.report.card_page import card_html, card_page
from llmframe.report.card_parts.section import Picture, Section, Table, absent
from llmframe.report.pictures.canvas import empty_figure

EVIL = "<script>alert('x')</script>\" onerror=\"y"
SECTIONS = (
    Section(
        name="rows",
        title=EVIL,
        lines=((EVIL, EVIL),),
        tables=(Table(head=(EVIL, "b"), rows=((EVIL, EVIL),)),),
        notes=(EVIL,),
        pictures=(Picture(name="p", alt=EVIL, draw=lambda: empty_figure("nothing")),),
    ),
    absent("bias", EVIL, EVIL),
)


class Seen(HTMLParser):
    """Tags with their attributes, and whether every opened one is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def seen(page: str) -> Seen:
    parser = Seen()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_the_page_loads_nothing_and_runs_nothing():
    page = card_page(EVIL, SECTIONS)
    found = seen(page)
    tags = {tag for tag, _ in found.tags}
    assert not tags & {"script", "link", "iframe", "object", "embed", "base", "form", "svg"}
    addresses = [value for _, attrs in found.tags for name, value in attrs.items() if name in ("src", "href")]
    assert len(addresses) == 1
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)
    assert not re.search(r"https?://|@import|url\(", page)
    assert "default-src 'none'" in page


def test_a_picture_is_told_in_words_too():
    [picture] = [attrs for tag, attrs in seen(card_html("t", SECTIONS)).tags if tag == "img"]
    assert picture["alt"] == EVIL
    assert picture["width"] == "600"


def test_without_matplotlib_a_note_stands_in_the_pictures_place():
    def draw():
        raise MissingExtraError("a picture needs matplotlib: `pip install 'llmframe[judge]'`")

    part = Section(name="a", title="A", pictures=(Picture(name="p", alt="", draw=draw),))
    page = card_html("t", [part])
    assert "a picture needs matplotlib" in page
    assert "<img" not in page
