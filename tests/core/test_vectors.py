from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.vectors import joined, numbers_of, vector_of, vector_text

SINGLES = st.lists(st.floats(width=32), max_size=5)


@given(SINGLES)
def test_numbers_of_32_bits_come_back_as_they_went_in(numbers):
    vector = vector_of(numbers)
    assert vector == struct.pack(f"<{len(numbers)}f", *numbers)
    assert [struct.pack("<d", number) for number in numbers_of(vector)] == [struct.pack("<d", n) for n in numbers]


@given(SINGLES)
def test_the_text_is_json_that_says_the_same_vector(numbers):
    read = json.loads(vector_text(vector_of(numbers)))
    told = [math.nan if number is None else number for number in read]
    assert len(told) == len(numbers)
    for number, back in zip(numbers, told, strict=True):
        assert math.isnan(back) if not math.isfinite(number) else numbers_of(vector_of([back])) == [number]


def test_vectors_stand_behind_one_another_with_zeros_for_null():
    first, second = vector_of([1.0, 2.0]), vector_of([3.0, 4.0])
    assert numbers_of(joined([first, None, second], size=2)) == [1.0, 2.0, 0.0, 0.0, 3.0, 4.0]
    assert joined([], size=2) == b""


def test_vectors_of_other_sizes_are_refused_though_their_sum_would_fit():
    with pytest.raises(ValueError, match=r"a vector of (4|12) bytes in a column of 2 numbers \(8 bytes\)"):
        joined([vector_of([1.0]), vector_of([1.0, 2.0, 3.0])], size=2)
