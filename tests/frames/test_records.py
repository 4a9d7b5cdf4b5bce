from __future__ import annotations

import numpy as np
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.records import RecordsFrame

TEXT = ColumnType("string")


def test_columns_stand_in_the_order_of_their_first_appearance_and_gaps_are_null():
    frame = RecordsFrame([{"a": 1}, {"b": 2, "a": None}, {}])
    assert frame.names == ["a", "b"]
    assert frame.cells([0, 1], 0, 3) == [[1, None, None], [None, 2, None]]
    assert [frame.null_count(0), frame.null_count(1)] == [2, 2]


def test_new_dicts_come_out_and_the_old_ones_stay():
    rows = [{"a": 1, "b": 2}, {"b": 3}]
    out = RecordsFrame(rows).attach([Column("a", TEXT, ["x", None]), Column("c", TEXT, ["y", "z"])], replace=True)
    assert out == [{"a": "x", "b": 2, "c": "y"}, {"b": 3, "a": None, "c": "z"}]
    assert list(out[0]) == ["a", "b", "c"]
    assert rows == [{"a": 1, "b": 2}, {"b": 3}]
    assert RecordsFrame(rows).attach([]) == rows


def test_no_rows_have_no_columns():
    frame = RecordsFrame([])
    assert (len(frame), frame.names) == (0, [])
    assert frame.attach([Column("c", TEXT, [])]) == []
    assert frame.mask([]) == []


def test_keys_that_are_not_text_are_named_by_their_text():
    frame = RecordsFrame([{0: "x"}])
    assert frame.names == ["0"]
    assert frame.attach([Column("0", TEXT, ["y"])], replace=True) == [{0: "y"}]
    with pytest.raises(UsageError, match="'0' exists"):
        frame.attach([Column("0", TEXT, ["y"])])


def test_foreign_scalars_come_as_pythons_own():
    frame = RecordsFrame([{"a": np.int64(3), "b": np.float32(0.1), "c": np.str_("x")}])
    assert frame.cells([0, 1, 2], 0, 1) == [[3], [0.1], ["x"]]
    assert [type(column[0]) for column in frame.cells([0, 1, 2], 0, 1)] == [int, float, str]


def test_existing_values_are_kept():
    frame = RecordsFrame([{"a": "x"}, {"a": None}, {}])
    assert frame.kept(Column("a", TEXT, [None] * 3), [False] * 3).values == ["x", None, None]


def test_a_part_keeps_the_keys_that_only_other_rows_have():
    rows = [{"a": 1}, {"b": 2}, {"a": 3}]
    part = RecordsFrame(rows).part(2, 3)
    assert part.names == ["a", "b"]
    assert part.cells([0, 1], 0, 1) == [[3], [None]]
    assert part.attach([Column("c", TEXT, ["x"])]) == [{"a": 3, "c": "x"}]
