"""Fences, keys that stand twice, labels that are nearly right."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.jsontext import DuplicateKeyError, folded, parse, unfenced, write

JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('  ```\r\n{"a": 1}\r\n```\n', '{"a": 1}'),
        ('```json {"a": 1} ```', '{"a": 1}'),
        ('{"a": "use ```x``` here"}', '{"a": "use ```x``` here"}'),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ("```json\n```", ""),
        ("``````", ""),
        ('```json\n{"a": 1}\n``` Done.', '```json\n{"a": 1}\n``` Done.'),
        (" plain ", "plain"),
        ('````json\n{"a": "```"}\n````', '{"a": "```"}'),
        ('~~~json\n{"a": 1}\n~~~', '{"a": 1}'),
        ('~~~json\n{"a": 1}\n```', '~~~json\n{"a": 1}\n```'),
        ('\ufeff{"a": 1}\u200b\n', '{"a": 1}'),
        ('\ufeff```json\n{"a": 1}\n```', '{"a": 1}'),
    ],
)
def test_only_a_fence_around_all_of_it_is_taken_off(text, inside):
    assert unfenced(text) == inside


@given(JSONISH)
def test_writing_what_was_parsed_says_the_same(value):
    assert json.loads(write(parse(json.dumps(value)))) == value


@pytest.mark.parametrize("number", ["1.10", "1E+2", "9007199254740993", "9" * 5000, "-0.0"])
def test_a_number_keeps_its_digits(number):
    assert write(parse(f'{{"a": {number}}}')) == f'{{"a": {number}}}'


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]'])
def test_a_key_that_stands_twice_is_refused_at_every_depth(text):
    with pytest.raises(DuplicateKeyError, match="'a'"):
        parse(text)


LABELS = {"enum": ["pos", "neg", "n/a."]}
CLASH = {"enum": ["US", "us", "eu"]}


@pytest.mark.parametrize(
    ("schema", "said", "read"),
    [
        (LABELS, "POS", "pos"),
        (LABELS, " pos\n", "pos"),
        (LABELS, "Pos.", "pos"),
        (LABELS, "pos..", "pos.."),
        (LABELS, "positive", "positive"),
        (LABELS, "N/A", "n/a."),
        (LABELS, "", ""),
        (CLASH, "Us", "Us"),
        (CLASH, "us", "us"),
        (CLASH, "EU", "eu"),
        ({"const": "pos"}, "POS", "pos"),
        ({"anyOf": [LABELS, {"type": "null"}]}, "POS", "pos"),
        ({"anyOf": [LABELS, {"type": "string"}]}, "POS", "POS"),
        ({}, "POS", "POS"),
        ({"type": "array", "items": LABELS}, ["POS", "neg"], ["pos", "neg"]),
        ({"prefixItems": [LABELS, {"type": "string"}]}, ["POS", "POS"], ["pos", "POS"]),
        ({"properties": {"a": LABELS}}, {"a": "POS", "b": "POS"}, {"a": "pos", "b": "POS"}),
        ({"additionalProperties": LABELS}, {"k": "POS"}, {"k": "pos"}),
        ({"$ref": "#/$defs/L"}, "POS", "pos"),
    ],
)
def test_a_label_that_is_nearly_right_becomes_the_only_one_it_can_be(schema, said, read):
    assert folded(said, schema, {"L": LABELS}) == read


@given(JSONISH)
def test_what_is_allowed_already_is_left_alone(value):
    assert folded(value, {"type": "object", "properties": {}}, {}) == value
