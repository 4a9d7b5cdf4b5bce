"""Cells as JSON has them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from llmframe.frames.files.json_cells import binary_columns, is_absent, json_cells
from llmframe.frames.files.jsonl_shape import ABSENT, AS_JSON, MARK


def cells(values, type_, metadata=None):
    field = pa.field("x", type_, metadata=metadata)
    return json_cells(pa.chunked_array([pa.array(values, type_)]), field)


def test_what_json_has_stands_as_it_is():
    assert cells([1, None], pa.int64()) == [1, None]
    assert cells(["a", None], pa.string()) == ["a", None]
    assert cells([[1], []], pa.list_(pa.int64())) == [[1], []]


def test_numbers_that_json_lacks_are_null():
    assert cells([1.5, float("nan"), float("inf")], pa.float64()) == [1.5, None, None]
    assert cells([[float("nan")]], pa.list_(pa.float64())) == [[None]]


@pytest.mark.parametrize("type_", [pa.list_(pa.float32(), 2), pa.list_(pa.float32()), pa.large_list(pa.float32())])
def test_vectors_have_the_fewest_digits_that_say_them(type_):
    values = [[0.1, 3e38], None, [float("nan"), None], [-0.5, 16777216.0]]
    column = pa.chunked_array([pa.array([[9.0, 9.0], *values], type_).slice(1), pa.array(values[:1], type_)])
    json = [[0.1, 3e38], None, [None, None], [-0.5, 16777216.0], [0.1, 3e38]]
    assert json_cells(column, pa.field("x", type_)) == json
    assert json_cells(column.slice(1, 0), pa.field("x", type_)) == []
    assert cells([0.1, None, float("inf")], pa.float32()) == [0.1, None, None]


def test_dates_and_decimals_are_their_text_wherever_they_stand():
    type_ = pa.struct([("on", pa.date32()), ("cost", pa.list_(pa.decimal128(5, 2)))])
    value = {"on": date(2024, 5, 1), "cost": [Decimal("1.10"), None]}
    assert cells([value], type_) == [{"on": "2024-05-01", "cost": ["1.10", None]}]


def test_a_map_is_an_object():
    assert cells([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())) == [{"a": 1, "b": None}]


def test_json_text_is_its_value_again():
    assert cells(['{"n":123456789012345678901}', "null"], pa.string(), {MARK: AS_JSON}) == [
        {"n": 123456789012345678901},
        None,
    ]


def test_a_field_that_was_never_null_is_left_out_again():
    inner = pa.field("b", pa.int64(), metadata={MARK: ABSENT})
    assert cells([{"a": 1, "b": None}, {"a": 2, "b": 3}], pa.struct([pa.field("a", pa.int64()), inner])) == [
        {"a": 1},
        {"a": 2, "b": 3},
    ]
    assert is_absent(inner)
    assert not is_absent(pa.field("c", pa.int64()))


def test_bytes_are_found_wherever_they_are():
    schema = pa.schema([("a", pa.string()), ("b", pa.binary()), ("c", pa.list_(pa.struct([("d", pa.large_binary())])))])
    assert binary_columns(schema) == ["b", "c"]
