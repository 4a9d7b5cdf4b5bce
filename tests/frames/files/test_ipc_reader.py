from __future__ import annotations

import pyarrow as pa
import pyarrow.ipc
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.sources import open_source


def made(path, *, stream: bool = False, compression: str | None = None):
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"unit": "m"})], metadata={"who": "us"})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), schema, options=options) as writer:
        for start in (0, 3, 6):
            writer.write_batch(pa.record_batch([pa.array(range(start, start + 3))], schema=schema))
    return path


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("name", ["a.arrow", "a.arrows", "a.feather", "a.ipc"])
@pytest.mark.parametrize("stream", [False, True])
def test_files_and_streams_are_told_apart_by_their_content(tmp_path, name, stream, compression):
    source = open_source(made(tmp_path / name, stream=stream, compression=compression))
    assert source.rows == (None if stream else 9)
    assert source.schema.metadata == {b"who": b"us"}
    assert source.schema.field("a").metadata == {b"unit": b"m"}
    tables = list(source.tables(4, 2**20))
    assert [table["a"].to_pylist() for table in tables] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert all(table.schema.equals(source.schema, check_metadata=True) for table in tables)


def test_labels_that_differ_from_batch_to_batch_arrive(tmp_path):
    path = tmp_path / "a.arrows"
    schema = pa.schema([("label", pa.dictionary(pa.int8(), pa.string()))])
    with pa.ipc.new_stream(str(path), schema) as writer:
        for labels in (["x", "y"], ["z", None]):
            writer.write_batch(
                pa.record_batch([pa.array(labels).dictionary_encode().cast(schema.types[0])], schema=schema)
            )
    [table] = open_source(path).tables(9, 2**20)
    assert table["label"].to_pylist() == ["x", "y", "z", None]


def test_what_isnt_arrow_is_named(tmp_path):
    (tmp_path / "a.arrow").write_bytes(b"ARROW1 and then nothing of it")
    with pytest.raises(UsageError, match=r"a\.arrow' can't be read as Arrow IPC"):
        open_source(tmp_path / "a.arrow")


def test_a_file_cut_short_is_named(tmp_path):
    path = made(tmp_path / "a.arrows", stream=True)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(UsageError, match=r"a\.arrows' can't be read"):
        list(open_source(path).tables(9, 2**20))
