from __future__ import annotations

import pytest

from llmframe.testing.shapes import as_object, as_objects, is_object, is_objects


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}]])
def test_anything_but_an_object_reads_as_an_empty_one(value):
    assert not is_object(value)
    assert as_object(value) == {}


@pytest.mark.parametrize("value", [None, 1, "x", {}, [1], [{}, None]])
def test_anything_but_a_list_of_objects_reads_as_an_empty_list(value):
    assert not is_objects(value)
    assert as_objects(value) == []


def test_objects_pass_as_they_are():
    assert as_object({"a": 1}) == {"a": 1}
    assert as_objects([{"a": 1}]) == [{"a": 1}]
