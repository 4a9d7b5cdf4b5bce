from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.parquet_reader import BATCH_BYTES, BATCH_ROWS, ParquetReader, batch_rows
from llmframe.frames.files.ports import FileInfo
from llmframe.frames.files.sources import open_source


class Counted(LocalStorage):
    """Counts the bytes that are read."""

    def __init__(self):
        self.bytes = 0

    def reader(self, path, *, scattered=False):
        storage = self

        class File(io.FileIO):
            def read(self, size=-1):
                data = super().read(size)
                storage.bytes += len(data)
                return data

        return File(path)


def made(tmp_path, rows=1000, groups=10):
    path = tmp_path / "a.parquet"
    table = pa.table({"n": range(rows), "text": [f"{n:01000d}" for n in range(rows)]})
    pq.write_table(table, path, row_group_size=rows // groups, compression="none", use_dictionary=False)
    return path


def test_row_groups_before_the_first_row_are_not_read(tmp_path):
    path, storage = made(tmp_path), Counted()
    reader = ParquetReader(storage)
    file = FileInfo(str(path), path.name, path.stat().st_size)
    pieces = list(reader.pieces(file, skip=900))
    assert pieces[:9] == [100] * 9
    assert [piece["n"].to_pylist() for piece in pieces[9:]] == [list(range(900, 1000))]
    # one group of ten, with the footer and what is read ahead of a buffer
    assert storage.bytes < path.stat().st_size / 3


def test_rows_are_those_of_the_footers(tmp_path):
    path = made(tmp_path)
    pq.write_table(pa.table({"n": [1], "text": ["x"]}), tmp_path / "b.parquet")
    assert open_source(tmp_path).rows == 1001
    assert open_source(path).rows == 1000


@pytest.mark.parametrize(
    ("rows", "size", "batch"),
    [
        (10**6, 10**6, BATCH_ROWS),  # a byte a row: the bound on rows
        (10**6, 2**31, BATCH_BYTES * 10**6 // 2**31),  # 2 kB a row: 3906 rows are 8 MB
        (3, 2**31, 1),  # rows of 700 MB come one by one
        (5, 0, BATCH_ROWS),
    ],
)
def test_what_is_decoded_at_once_is_bounded(rows, size, batch):
    assert batch_rows(rows, size) == batch


def test_what_isnt_parquet_is_named(tmp_path):
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"a\.parquet' can't be read as parquet"):
        open_source(tmp_path / "a.parquet")


def test_labels_stay_labels(tmp_path):
    table = pa.table({"label": pa.array(["x", None, "y"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet")
    [read] = open_source(tmp_path / "a.parquet").tables(9, 2**20)
    assert read.schema.equals(table.schema)
    assert read["label"].to_pylist() == ["x", None, "y"]
