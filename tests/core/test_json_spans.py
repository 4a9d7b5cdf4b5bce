"""Where values stand in a reply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.json_spans import bare_span, value_spans

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
BLANK = st.text(" \t\r\n", max_size=3)


def found(text: str, key: str = "label") -> str | None:
    data = text.encode()
    span = value_spans(data, [key]).get(key)
    return None if span is None else data[slice(*span)].decode()


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"label":"good"}', "good"),
        ('{\n  "label" :\t"good"\n}\n', "good"),
        ('{"label": ""}', ""),
        ('{"label": 12}', "12"),
        ('{"label": -1.50e3 }', "-1.50e3"),
        ('{"label": true}', "true"),
        ('{"label": null, "a": 1}', "null"),
        ('{"label": ["a", {"b": "]"}], "a": 1}', '["a", {"b": "]"}]'),
        ('{"label": {"label": "in"}}', '{"label": "in"}'),
        # the same text earlier: as a value, in a value, as a key deeper down
        ('{"a": "label", "label": "good"}', "good"),
        ('{"a": "\\"label\\": \\"bad\\"", "label": "good"}', "good"),
        ('{"a": {"label": "bad"}, "label": "good"}', "good"),
        ('{"a": ["label", ":", "bad"], "label": "good"}', "good"),
        ('{"good": "good", "label": "good"}', "good"),
        # escapes stay as they are in the value, and are read in the key
        ('{"label": "say \\"hi\\\\"}', 'say \\"hi\\\\'),
        ('{"la\\u0062el": "good"}', "good"),
        ('{"ä": "é😀", "label": "für"}', "für"),
        # a fence around all of it
        ('```json\n{"label": "good"}\n```', "good"),
        ('```json {"label": "good"} ```\n', "good"),
        ('\ufeff{"label": "good"}', "good"),
        ('{"a": ' + "1" * 5000 + ', "label": "good"}', "good"),
    ],
)
def test_a_value_is_found_under_its_key_at_the_top(text, content):
    assert found(text) == content


@pytest.mark.parametrize(
    "text",
    [
        "",
        "good",
        '"label"',
        "{}",
        '{"a": {"label": "in"}}',
        '{"label": "a", "label": "b"}',
        '{"label": "a", "la\\u0062el": "a"}',
        '{"label": "a"',
        '{"label": "a" "b": 1}',
        '{"label": "a", }x',
        '{"label" "a"}',
        '{"label": }',
        '{"label": "a\\',
        '{"label": "a"} and more',
        '[{"label": "a"}]',
        '{"label": ' + "[" * 100_000,
    ],
)
def test_what_is_not_there_once_is_absent(text):
    assert found(text) is None


def test_the_place_is_told_in_bytes_of_the_whole_text():
    # ``` is 3 bytes, the line end 1; {"é": is 6 for é has two; so the value begins at 4 + 6 + 1 and ü has two bytes
    assert value_spans('```\n{"é":"ü"}\n```'.encode(), ["é"]) == {"é": (11, 13)}


def test_a_body_whose_text_stands_in_the_fences_first_line_is_found_behind_it():
    assert bare_span(b"```json\njson\n```") == (8, 12)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.booleans(), st.lists(BLANK, min_size=4, max_size=4))
def test_every_value_of_any_object_is_found(members, ascii_only, blanks):
    written = {key: json.dumps(value, ensure_ascii=ascii_only) for key, value in members.items()}
    a, b, c, d = blanks
    body = ",".join(f"{a}{json.dumps(key, ensure_ascii=ascii_only)}{b}:{c}{text}{d}" for key, text in written.items())
    data = f"{{{body}}}".encode("utf-8", "surrogatepass")
    spans = value_spans(data, list(members))
    assert {key: data[slice(*span)] for key, span in spans.items()} == {
        key: (text[1:-1] if text.startswith('"') else text).encode() for key, text in written.items()
    }


@given(st.binary() | st.text('{}[]":,\\a1 `\n').map(str.encode))
def test_broken_text_raises_nothing(data):
    value_spans(data, ["a", ""])
    bare_span(data)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("good", "good"),
        ("  good\n", "good"),
        ('"good"', "good"),
        ("```\ngood\n```", "good"),
        ('```json\n"good"\n```', "good"),
        ("1", "1"),
        ("[1, 2]", "[1, 2]"),
        ("not good.", "not good."),
        ("für", "für"),
        ("", None),
        (" \n", None),
        ('{"a": 1}', None),
        ('"good" and more', None),
        ('"good', None),
    ],
)
def test_one_value_may_stand_without_an_object(text, content):
    data = text.encode()
    span = bare_span(data)
    assert (None if span is None else data[slice(*span)].decode()) == content
