"""Cutting rows into tables."""

from __future__ import annotations

from itertools import accumulate

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from llmframe.frames.files.cutting import cut, size_of

PIECES = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=8), max_size=6)
"""Lengths of the texts in each piece."""


def tables(lengths):
    return [pa.table({"t": ["x" * length for length in piece]}) for piece in lengths]


def rows(made):
    return [row["t"] for table in made for row in table.to_pylist()]


def test_tables_end_at_the_rows_that_were_said_across_pieces():
    assert [len(table) for table in cut(tables([[1] * 5, [1] * 4]), rows=4, max_bytes=10**6)] == [4, 4, 1]


def test_large_rows_make_small_tables():
    # a row of text is its bytes and an offset, 100 + 4 here; a table has one offset more than rows: 3 fit into 350
    made = list(cut(tables([[100] * 7]), rows=10, max_bytes=350))
    assert [len(table) for table in made] == [3, 3, 1]


def test_a_row_above_the_limit_is_a_table_of_its_own():
    assert [len(table) for table in cut(tables([[500, 500]]), rows=10, max_bytes=100)] == [1, 1]


@given(PIECES, st.integers(1, 9), st.integers(1, 300))
def test_no_row_is_lost_moved_or_doubled(lengths, most, max_bytes):
    made = list(cut(tables(lengths), rows=most, max_bytes=max_bytes))
    assert rows(made) == rows(tables(lengths))
    assert all(0 < len(table) <= most for table in made)


@given(PIECES, st.integers(1, 9), st.integers(1, 300))
def test_a_run_from_the_end_of_any_table_makes_the_same_further_tables(lengths, most, max_bytes):
    whole = [table.to_pylist() for table in cut(tables(lengths), rows=most, max_bytes=max_bytes)]
    for at, start in enumerate(accumulate(map(len, whole)), 1):
        assert [table.to_pylist() for table in cut(after(lengths, start), rows=most, max_bytes=max_bytes)] == whole[at:]


def after(lengths, start):
    """The pieces without their first rows, cut where they were cut before."""
    for piece in tables(lengths):
        if start < len(piece):
            yield piece.slice(start)
        start = max(0, start - len(piece))


def test_where_a_size_is_unknown_it_is_taken_by_the_average_row():
    class Views:
        """A table of views of text as pyarrow 16 has them."""

        def __init__(self, rows: int) -> None:
            self._rows = rows

        def __len__(self) -> int:
            return self._rows

        @property
        def nbytes(self) -> int:
            raise TypeError

        def get_total_buffer_size(self) -> int:
            return 1000

    assert size_of(Views(2), of=Views(10)) == 200
    assert size_of(Views(10)) == 1000
    assert size_of(Views(0)) == 1000 * 0
    assert size_of(pa.table({"n": pa.array([1, 2], pa.int64())})) == 16
