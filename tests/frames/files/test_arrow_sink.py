"""Parquet and Arrow IPC as files."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from llmframe.frames.files import arrow_sink
from llmframe.frames.files.arrow_sink import IpcSink, ParquetSink


def parquet(tables, schema):
    file = io.BytesIO()
    sink = ParquetSink(file, schema)
    for table in tables:
        sink.write(table)
    sink.close()
    return pq.ParquetFile(file)


def labels(*values):
    return pa.table({"x": pa.array(values, pa.string()).dictionary_encode()})


def test_many_small_tables_become_few_row_groups(monkeypatch):
    monkeypatch.setattr(arrow_sink, "GROUP_ROWS", 10)
    table = pa.table({"a": [1, 2, 3, 4]})
    file = parquet([table] * 6, table.schema)
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [10, 10, 4]
    assert file.read().column("a").to_pylist() == [1, 2, 3, 4] * 6


def test_a_row_group_of_large_rows_ends_early(monkeypatch):
    monkeypatch.setattr(arrow_sink, "GROUP_BYTES", 1000)
    table = pa.table({"a": ["x" * 600]})
    assert parquet([table] * 4, table.schema).num_row_groups == 2


def test_metadata_of_schema_and_fields_is_kept_and_pages_are_zstd():
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"unit": "m"})], metadata={"pandas": "index"})
    file = parquet([pa.table({"a": [1]}, schema=schema)], schema)
    assert file.schema_arrow.metadata[b"pandas"] == b"index"
    assert file.schema_arrow.field("a").metadata[b"unit"] == b"m"
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("reads", [True, False])
def test_vectors_and_null_ones_can_be_read_with_the_pyarrow_that_wrote_them(monkeypatch, reads):
    if reads and not arrow_sink.READS_NULL_VECTORS:
        pytest.skip("pyarrow reads null vectors from 26 on")
    monkeypatch.setattr(arrow_sink, "READS_NULL_VECTORS", reads)
    pair = pa.list_(pa.float32(), 2)
    table = pa.table(
        {"v": pa.array([[1.0, 2.0], None], pair), "s": pa.array([{"v": None}, None], pa.struct([("v", pair)]))}
    )
    file = parquet([table, table], table.schema.with_metadata({"k": "v"}))
    assert file.read().to_pylist() == [*table.to_pylist(), *table.to_pylist()]
    assert file.schema_arrow.field("v").type == (pair if reads else pa.list_(pa.float32()))
    assert file.schema_arrow.metadata[b"k"] == b"v"


def test_a_file_without_rows_has_its_columns():
    assert parquet([], pa.schema([("a", pa.string())])).schema_arrow.names == ["a"]


def test_labels_of_several_tables_share_one_dictionary_of_an_ipc_file():
    file = io.BytesIO()
    sink = IpcSink(file, labels("a").schema)
    for table in [labels("a", "b"), labels("b", None, "c"), labels(), pa.concat_tables([labels("d"), labels("a")])]:
        sink.write(table)
    sink.close()
    read = pa.ipc.open_file(file.getvalue()).read_all()
    assert read.column("x").to_pylist() == ["a", "b", "b", None, "c", "d", "a"]


def test_a_stream_is_told_apart_from_a_file():
    file = io.BytesIO()
    sink = IpcSink(file, labels("a").schema, stream=True)
    sink.write(labels("a"))
    sink.close()
    assert pa.ipc.open_stream(file.getvalue()).read_all().column("x").to_pylist() == ["a"]
    assert not file.closed
