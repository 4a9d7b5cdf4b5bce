from __future__ import annotations

from array import array

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.core.vectors import numbers_of, vector_of
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.frames.vectors import check_vectors, matrix, read_vectors
from tests.contracts.kinds import ALL_KINDS

PAIR = ColumnType("vector", size=2)
UNKNOWN = ColumnType("vector")
INSIDE = ColumnType("struct", fields=(("v", PAIR), ("n", ColumnType("int"))))
ONE, TWO = vector_of([1.0, 2.0]), vector_of([3.0, 4.0])

kinds = pytest.mark.parametrize("frames", ALL_KINDS, ids=lambda frames: frames.name)


def lists(cells):
    return [None if cell is None else [float(number) for number in cell] for cell in cells]


def test_a_column_of_vectors_has_a_size_in_polars_and_arrow():
    column = Column("v", PAIR, [ONE, None])
    assert wrap(pl.DataFrame({"t": ["a", "b"]})).attach([column]).schema["v"] == pl.Array(pl.Float32, 2)
    assert wrap(pa.table({"t": ["a", "b"]})).attach([column]).schema.field("v").type == pa.list_(pa.float32(), 2)
    inside = Column("s", INSIDE, [{"v": ONE, "n": 1}, None])
    field = wrap(pa.table({"t": ["a", "b"]})).attach([inside]).schema.field("s").type.field("v")
    assert field.type == pa.list_(pa.float32(), 2)


def test_pandas_has_float32_arrays_that_rows_share_and_nobody_can_write_to():
    column = Column("v", PAIR, [ONE, None], rows=array("q", [0, 1, 0]))
    out = wrap(pd.DataFrame({"t": ["a", "b", "a"]})).attach([column])["v"]
    assert out.dtype == object
    assert out[0].dtype == np.float32
    assert out[0] is out[2]
    assert out[1] is None
    assert np.stack(out.dropna()).shape == (2, 2)
    with pytest.raises(ValueError, match="read-only"):
        out[0][0] = 5.0


def test_a_list_of_dicts_has_lists_of_numbers_each_rows_own():
    column = Column("v", PAIR, [ONE], rows=array("q", [0, 0]))
    first, second = wrap([{"t": "a"}, {"t": "a"}]).attach([column])
    assert first["v"] == second["v"] == [1.0, 2.0]
    assert first["v"] is not second["v"]


@kinds
def test_a_vector_of_another_size_is_never_cut(frames):
    if frames.library == "records":
        return  # lists of any size stand there
    frame = wrap(frames.make({"t": ["a", "b"]}))
    for column in (Column("v", PAIR, [ONE, vector_of([1.0])]), Column("v", INSIDE, [{"v": b"", "n": 1}, None])):
        with pytest.raises(ValueError, match=r"a vector of \d bytes in a column of 2 numbers"):
            frame.attach([column])


@kinds
@pytest.mark.parametrize("rows", [0, 2])
def test_without_a_size_a_column_of_nulls_is_one_of_lists(frames, rows):
    out = wrap(frames.make({"t": ["a", "b"][:rows]})).attach([Column("v", UNKNOWN, [None] * rows)])
    assert frames.to_dict(out).get("v", []) == [None] * rows
    if frames.library == "polars":
        assert out.schema["v"] == pl.List(pl.Float32)
    if frames.library == "pyarrow":
        assert out.schema.field("v").type == pa.list_(pa.float32())


@kinds
def test_rows_that_are_not_asked_keep_their_vectors(frames):
    asked = [True, False, False]
    first = wrap(frames.make({"t": ["a", "b", "c"]})).attach([Column("v", PAIR, [ONE, TWO, None])])
    frame = wrap(first)
    kept = frame.kept(Column("v", PAIR, [TWO, None, None]), asked)
    assert kept.values == [TWO, TWO, None]
    assert lists(frames.to_dict(frame.attach([kept], replace=True))["v"]) == [[3.0, 4.0], [3.0, 4.0], None]
    assert frame.kept(Column("v", UNKNOWN, [None, None, None]), asked) == Column("v", PAIR, [None, TWO, None])
    with pytest.raises(UsageError, match="isn't a list of as many numbers as the new vectors have"):
        frame.kept(Column("v", ColumnType("vector", size=3), [None] * 3), asked)


@kinds
def test_lists_of_numbers_of_another_width_are_kept_and_others_are_not(frames):
    asked = [True, False]
    doubles = wrap(frames.make({"v": [[0.5, 1.0], [0.1, -2.0]]}))
    assert doubles.kept(Column("v", PAIR, [ONE, None]), asked).values == [ONE, vector_of([0.1, -2.0])]
    texts = wrap(frames.make({"v": [["a", "b"], ["c", "d"]]}))
    with pytest.raises(UsageError, match="as many numbers"):
        texts.kept(Column("v", PAIR, [ONE, None]), asked)


def test_a_matrix_is_made_of_the_bytes_alone():
    rows = matrix([ONE, None], size=2)
    assert rows.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert rows.dtype == np.float32
    assert not rows.flags.writeable
    assert not rows.flags.owndata
    assert matrix([], size=3).shape == (0, 3)


def test_vectors_are_read_in_structs_and_other_values_stay():
    struct = [{"v": ONE, "n": 1}, None]
    assert read_vectors(struct, INSIDE, numbers_of) == [{"v": [1.0, 2.0], "n": 1}, None]
    assert struct[0] == {"v": ONE, "n": 1}
    assert read_vectors([1], ColumnType("int"), numbers_of) == [1]
    check_vectors(struct, INSIDE)
    check_vectors(["a"], ColumnType("string"))
