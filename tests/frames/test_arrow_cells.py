from __future__ import annotations

import math

import pyarrow as pa
import pytest

from llmframe.frames.arrow_cells import arrow_cells


def test_maps_are_lists_of_pairs():
    pairs = pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64()))
    assert arrow_cells(pairs, nan_is_null=False) == [[{"key": "k", "value": 1}], None]


@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()])
def test_nan_is_a_value_or_null_as_the_frame_says_also_inside_lists(type_):
    array = pa.array([1.0, None], pa.float64()).cast(type_)
    nan = pa.array([math.nan], pa.float64()).cast(type_)
    both = pa.concat_arrays([array, nan])
    assert arrow_cells(both, nan_is_null=True) == [1.0, None, None]
    assert math.isnan(arrow_cells(both, nan_is_null=False)[2])
    nested = pa.ListArray.from_arrays([0, 3], both)
    assert arrow_cells(nested, nan_is_null=True) == [[1.0, None, None]]


def test_chunks_dictionaries_and_views_are_read_alike():
    for array in (
        pa.chunked_array([["a"], [], [None]], pa.string()),
        pa.chunked_array([pa.array(["a", None]).dictionary_encode()]),
        pa.array(["a", None], pa.large_string()),
    ):
        assert arrow_cells(array, nan_is_null=False) == ["a", None]


def test_no_values_are_an_empty_list_in_every_type():
    for type_ in (
        pa.float32(),
        pa.timestamp("ns", "UTC"),
        pa.timestamp("s"),
        pa.duration("ns"),
        pa.list_(pa.float32()),
    ):
        assert arrow_cells(pa.array([], type_), nan_is_null=True) == []
        assert arrow_cells(pa.chunked_array([], type_), nan_is_null=True) == []
        assert arrow_cells(pa.array([None], type_), nan_is_null=True) == [None]
