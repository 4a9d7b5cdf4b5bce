"""A card as text and as Markdown."""

from __future__ import annotations

from llmframe.report.card_parts.section import Section, Table, absent
from llmframe.report.card_text import card_markdown, card_text, escaped

SECTIONS = (
    Section(
        name="rows",
        title="Rows",
        lines=(("rows", "3"), ("answered", "2")),
        tables=(Table(head=("label", "recall"), rows=(("a|b", "0.5"),)),),
        notes=("one note",),
    ),
    absent("bias", "Bias audit", "no audit was given"),
)


def test_text_aligns_numbers_and_ends_with_what_is_absent():
    assert card_text("a card", SECTIONS).split("\n") == [
        "a card",
        "Rows",
        "  rows      3",
        "  answered  2",
        "  label  recall",
        "  a|b    0.5",
        "  note      one note",
        "not in this card",
        "  bias audit: no audit was given",
    ]
    assert "recall" not in card_text("a card", SECTIONS, tables=False)


def test_markdown_has_tables_whose_cells_stay_cells():
    assert card_markdown("a card", SECTIONS) == (
        "# a card\n\n## Rows\n\n|  |  |\n|---|---|\n| rows | 3 |\n| answered | 2 |\n\n"
        "| label | recall |\n|---|---|\n| a\\|b | 0.5 |\n\n- one note\n\n"
        "## Not in this card\n\n- Bias audit: no audit was given\n"
    )


def test_markdown_takes_a_cell_as_it_is():
    assert escaped("<img src=x> *a*\n`b`") == r"\<img src=x\> \*a\* \`b\`"


def test_a_label_of_several_lines_stays_in_its_row():
    part = Section(name="a", title="A", tables=(Table(head=("label", "n"), rows=(("two\nlines", "1"),)),))
    assert card_text("t", [part]).split("\n")[2:] == ["  label      n", "  two lines  1"]
