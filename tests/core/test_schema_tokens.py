"""Tokens of a schema in text, and errors that point at them."""

from __future__ import annotations

import pytest

from llmframe.core.schema_tokens import refuse, tokens_of
from llmframe.errors import UsageError


def test_marks_words_quotes_and_descriptions_are_told_apart():
    found = [(token.kind, token.text) for token in tokens_of("a (b  (c)): 'd|e'|f?")]
    assert found == [
        ("word", "a"),
        ("description", "b (c)"),
        (":", ":"),
        ("quoted", "d|e"),
        ("|", "|"),
        ("word", "f"),
        ("?", "?"),
    ]


def test_only_the_line_of_the_place_is_shown():
    with pytest.raises(UsageError) as refusal:
        refuse("first\nsecond line\nthird", 13, 17, "here")
    assert str(refusal.value).split("\n")[1:3] == ["  second line", "         ^^^^"]


def test_a_long_line_is_cut_around_the_place():
    with pytest.raises(UsageError) as refusal:
        refuse("x" * 100 + "HERE" + "x" * 100, 100, 104, "here")
    line, carets = str(refusal.value).split("\n")[1:3]
    assert line[carets.index("^") : carets.index("^") + carets.count("^")] == "HERE"
    assert len(line) == 2 + 1 + 72 + 1
    assert line[2] == line[-1] == "…"


def test_carets_stand_below_wide_letters_too():
    """A CJK letter is two columns wide, so is the blank below it."""
    with pytest.raises(UsageError) as refusal:
        refuse("名前: x", 4, 5, "here")
    assert str(refusal.value).split("\n")[2] == "  \u3000\u3000  ^"
