"""Text cells as values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.text_types import converted


def convert(cells, type_, *, first_row=1):
    column = pa.chunked_array([cells[:2], cells[2:]], pa.string())
    return converted(column, type_, file="in.csv", column="stars", first_row=first_row)


def test_cells_become_numbers_and_empty_ones_null():
    assert convert(["1", None, "", "-3"], pa.int64()).to_pylist() == [1, None, None, -3]


def test_empty_text_stays_empty_text():
    assert convert(["a", "", None], pa.large_string()).to_pylist() == ["a", "", None]


@pytest.mark.parametrize("at", [0, 1, 2, 5, 8])
def test_a_bad_cell_is_named_by_file_column_and_row_and_never_quoted(at):
    cells = ["1"] * 9
    cells[at] = "secret"
    with pytest.raises(UsageError, match=f"'in.csv': row {at + 101} .*column 'stars' isn't int64") as caught:
        convert(cells, pa.int64(), first_row=101)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_type_that_no_text_can_become_is_told_so():
    with pytest.raises(UsageError, match="can't make list<item: int64> of the text in column 'stars'"):
        convert(["1"], pa.list_(pa.int64()))
