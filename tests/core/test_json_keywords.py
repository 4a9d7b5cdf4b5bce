"""Keywords: known, fitting, and what pydantic makes of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import TypeAdapter, ValidationError

from llmframe.core import json_keywords as keywords
from llmframe.core.wire import DECIMAL_PATTERN
from llmframe.errors import UsageError


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("minLenght", "is no keyword of JSON schema; did you mean 'minLength'"),
        ("dependentRequired", "isn't supported; say it in a Pydantic model's validator"),
        ("nullable", "is a word of OpenAPI"),
    ],
)
def test_a_keyword_that_is_not_understood_is_refused(word, told):
    with pytest.raises(UsageError, match=told):
        keywords.check_known({word: 1}, "")


def test_extensions_are_anyone_s_own():
    keywords.check_known({"x-unit": "m", "title": "T"}, "")


def test_a_pointer_writes_slashes_and_tildes_as_json_pointers_do():
    """RFC 6901: ~ is ~0, / is ~1."""
    assert keywords.step("/a", "b/c~d", 0) == "/a/b~1c~0d/0"


@pytest.mark.parametrize(
    ("node", "kept", "refused"),
    [
        ({"minLength": 2, "maxLength": 3}, "ab", "abcd"),
        ({"pattern": "^a+$"}, "aa", "b"),
        ({"pattern": r"(a)\1"}, "xaax", "xa"),
        ({"format": "uuid"}, "00000000-0000-0000-0000-000000000000", "0"),
    ],
)
def test_a_text_is_held_to_its_keywords(node, kept, refused):
    adapter = TypeAdapter(keywords.string(node, ""))
    adapter.validate_python(kept)
    with pytest.raises(ValidationError):
        adapter.validate_python(refused)


def test_a_format_that_is_not_checked_is_still_said():
    assert TypeAdapter(keywords.string({"format": "email"}, "")).json_schema() == {"type": "string", "format": "email"}


def test_plain_digits_are_a_decimal():
    assert keywords.string({"pattern": DECIMAL_PATTERN}, "") is Decimal


def test_a_description_and_notes_are_said_beside_the_type():
    kind = keywords.with_notes(int, {"description": "d", "examples": [1], "title": "T"}, "", nested=True)
    assert TypeAdapter(list[kind]).json_schema()["items"] == {"type": "integer", "description": "d", "examples": [1]}


def test_listed_values_are_compared_with_their_types():
    """1, 1.0 and true are three values of JSON, though equal in Python."""
    keywords.closed({"enum": [1, True, 1.0]}, [], "")
    with pytest.raises(UsageError, match="True is no integer"):
        keywords.closed({"enum": [1, True]}, ["integer"], "")


def test_pydantic_s_bounds_of_a_decimal_are_kept():
    branches = [{"type": "number", "maximum": 5}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]
    adapter = TypeAdapter(keywords.decimal_of(branches, ""))
    assert adapter.validate_python("4.50") == Decimal("4.50")
    with pytest.raises(ValidationError):
        adapter.validate_python("5.01")
    assert keywords.decimal_of([{"type": "number"}, {"type": "string"}], "") is None
