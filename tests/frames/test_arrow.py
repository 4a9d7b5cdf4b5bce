from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.arrow import ArrowFrame, arrow_array, arrow_type

LABELS = ColumnType("enum", labels=("pos", "neg"))


def test_labels_are_a_dictionary_in_their_declared_order():
    array = arrow_array(Column("x", LABELS, ["neg", None]))
    assert array.type == pa.dictionary(pa.int32(), pa.string())
    assert array.dictionary.to_pylist() == ["pos", "neg"]
    assert array.to_pylist() == ["neg", None]


def test_nested_types_hold_labels_as_text():
    assert arrow_type(ColumnType("list", item=LABELS)) == pa.list_(pa.string())
    assert arrow_type(ColumnType("struct", fields=(("a", LABELS),))) == pa.struct([("a", pa.string())])


def test_metadata_of_the_schema_and_of_other_fields_stays():
    field = pa.field("t", pa.string(), nullable=False, metadata={"unit": "words"})
    table = pa.table([pa.array(["a", "b"]), pa.array([1, 2])], schema=pa.schema([field, ("n", pa.int64())], {"k": "v"}))
    out = ArrowFrame(table).attach(
        [Column("x", LABELS, ["pos", None]), Column("n", LABELS, [None, "neg"])], replace=True
    )
    assert out.schema.metadata == {b"k": b"v"}
    assert out.schema.field("t").equals(field, check_metadata=True)
    assert out.column_names == ["t", "n", "x"]
    assert out.to_pydict() == {"t": ["a", "b"], "n": [None, "neg"], "x": ["pos", None]}
    assert table.column_names == ["t", "n"]


def test_duplicate_names_are_read_by_position_and_not_replaced():
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["t", "t"])
    frame = ArrowFrame(table)
    assert frame.cells([1, 0], 0, 1) == [["b"], ["a"]]
    assert ArrowFrame(frame.attach([Column("x", LABELS, ["pos"])])).names == ["t", "t", "x"]
    with pytest.raises(UsageError, match="which of the 2 columns"):
        frame.attach([Column("t", LABELS, ["pos"])], replace=True)


def test_chunks_are_read_across_their_borders():
    table = pa.table({"t": pa.chunked_array([["a", "b"], [], ["c"]])})
    assert ArrowFrame(table).cells([0], 1, 3) == [["b", "c"]]


def test_a_mask_may_be_an_arrow_array_or_a_function_of_the_table():
    import pyarrow.compute as pc

    frame = ArrowFrame(pa.table({"n": [1, None, 3]}))
    assert frame.mask(pa.array([True, None, False])) == [True, False, False]
    assert frame.mask(lambda table: pc.greater(table["n"], 1)) == [False, False, True]
