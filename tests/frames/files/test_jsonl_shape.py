"""Types of JSON values."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.frames.files.json_cells import json_cells
from llmframe.frames.files.jsonl_shape import ABSENT, AS_JSON, MARK, MAX_FIELDS, Shape


def shape_of(*values):
    shape = Shape()
    for value in values:
        shape.observe(value)
    return shape


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, None, -5], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        (["a", None], pa.string()),
        ([None, None], pa.string()),
        ([[1], [], None], pa.list_(pa.int64())),
        ([[], []], pa.list_(pa.string())),
        ([{"a": 1}, {"b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ([[{"a": [1.5]}]], pa.list_(pa.struct([("a", pa.list_(pa.float64()))]))),
    ],
)
def test_values_of_one_kind_have_their_type(values, type_):
    assert shape_of(*values).field("x").type == type_
    assert not shape_of(*values).is_text()


@pytest.mark.parametrize(
    "values",
    [
        [1, "a"],
        [True, 1],
        [[1], 1],
        [{"a": 1}, [1]],
        [2**63],
        [2**53 + 1, 0.5],
        [{}],
        [{str(at): at for at in range(MAX_FIELDS + 1)}],
    ],
)
def test_what_fits_no_type_is_kept_as_json_text(values):
    shape = shape_of(*values)
    assert shape.field("x").type == pa.string()
    assert shape.field("x").metadata == {MARK: AS_JSON}
    assert [json.loads(shape.stored(value)) for value in values] == values


def test_large_whole_numbers_alone_stay_whole():
    assert shape_of(2**62, -(2**63)).field("x").type == pa.int64()


def test_a_field_that_is_missing_but_never_null_is_marked():
    fields = {field.name: field.metadata for field in shape_of({"a": 1}, {"b": None}, {"a": 2}).fields_of()}
    assert fields == {"a": {MARK: ABSENT}, "b": None}


def test_keys_stand_in_the_order_in_which_they_came():
    assert [field.name for field in shape_of({"b": 1}, {"a": 1, "b": 2}, {"c": 1}).fields_of()] == ["b", "a", "c"]


NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_stored_says_the_same_json_but_for_fields_that_became_null(values):
    shape = shape_of(*values)
    field = shape.field("x")
    column = pa.chunked_array([pa.array([shape.stored(value) for value in values], field.type)])
    assert [filled(value) for value in json_cells(column, field)] == [filled(value) for value in values]


def filled(value):
    """`value` without fields that are null, which Arrow can't tell from missing ones."""
    if isinstance(value, dict):
        return {name: filled(each) for name, each in value.items() if each is not None}
    return [filled(each) for each in value] if isinstance(value, list) else value
