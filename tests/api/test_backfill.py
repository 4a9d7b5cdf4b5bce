"""Pieces of a run over files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.api.backfill import first_rows


def tables(sizes: list[int], read: list[int]) -> Iterator[pa.Table]:
    start = 0
    for size in sizes:
        read.append(size)
        yield pa.table({"n": list(range(start, start + size))})
        start += size


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8), wanted=st.integers(1, 30))
def test_the_first_rows_come_as_one_table(sizes: list[int], wanted: int):
    (found,) = first_rows(tables(sizes, []), wanted)
    assert found["n"].to_pylist() == list(range(min(wanted, sum(sizes))))


def test_nothing_is_read_beyond_them():
    read: list[int] = []
    (found,) = first_rows(tables([3, 3, 3], read), 5)
    assert (found.num_rows, read) == (5, [3, 3])


@pytest.mark.parametrize("sizes", [[], [0]])
def test_of_nothing_there_is_nothing_or_no_rows(sizes: list[int]):
    assert [table.num_rows for table in first_rows(tables(sizes, []), 5)] in ([], [0])
