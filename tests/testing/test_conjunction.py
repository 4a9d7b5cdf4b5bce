from __future__ import annotations

import pytest

from llmframe.testing.conjunction import join, rest


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ({"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 5}, {"minimum": 3, "maximum": 5}),
        ({"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}, {"enum": [2, 3]}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"title": "ours"}, {"title": "theirs"}, {"title": "theirs"}),
        ({"anyOf": [1]}, {"anyOf": [2]}, {"anyOf": [1], "allOf": [{"anyOf": [2]}]}),
        ({"a": 1}, True, {"a": 1}),
        (
            {"properties": {"x": {"minimum": 1}, "y": {}}},
            {"properties": {"x": {"maximum": 2}, "y": False}},
            {"properties": {"x": {"allOf": [{"minimum": 1}, {"maximum": 2}]}, "y": False}},
        ),
    ],
)
def test_both_schemas_are_asked(a, b, joined):
    assert join(a, b) == joined


def test_joining_changes_neither_schema():
    a, b = {"required": ["a"]}, {"required": ["b"]}
    join(a, b)
    assert (a, b) == ({"required": ["a"]}, {"required": ["b"]})


def test_the_rest_of_a_schema_lacks_one_keyword():
    assert rest({"$ref": "#", "title": "t"}, "$ref") == {"title": "t"}
