from __future__ import annotations

import deltalake
import pyarrow as pa
import pytest

from llmframe.errors import MissingExtraError, UsageError
from llmframe.frames.files.sources import open_source


def made(path, **options):
    table = pa.table({"n": [1, 2, 3, 4], "part": ["x", "y", "x", None]})
    deltalake.write_deltalake(str(path), table, **options)
    return path


def rows(source):
    return [row for table in source.tables(3, 2**20) for row in table.to_pylist()]


def test_a_folder_with_a_log_is_a_table(tmp_path):
    source = open_source(made(tmp_path / "t"))
    assert (source.format, source.rows, source.is_folder) == ("delta", 4, True)
    assert [row["n"] for row in rows(source)] == [1, 2, 3, 4]


def test_partitions_are_columns_in_their_place(tmp_path):
    source = open_source(made(tmp_path / "t", partition_by=["part"]))
    assert source.names == ["n", "part"]
    assert sorted((row["n"], row["part"] or "") for row in rows(source)) == [(1, "x"), (2, "y"), (3, "x"), (4, "")]


def test_deleted_rows_are_gone_though_their_files_stay(tmp_path):
    path = made(tmp_path / "t")
    deltalake.DeltaTable(str(path)).delete("n = 2")
    assert [row["n"] for row in rows(open_source(path))] == [1, 3, 4]


def test_the_version_of_the_opening_is_read_whatever_is_committed(tmp_path):
    path = made(tmp_path / "t")
    source = open_source(path)
    deltalake.write_deltalake(str(path), pa.table({"n": [5], "part": ["z"]}), mode="append")
    assert [row["n"] for row in rows(source)] == [1, 2, 3, 4]
    assert source.current_identity() != source.identity
    assert open_source(path).rows == 5


def test_the_files_of_a_table_arent_read_on_their_own(tmp_path):
    with pytest.raises(UsageError, match="is a Delta table"):
        open_source(made(tmp_path / "t"), format="parquet")


def test_a_folder_without_a_log_is_no_table(tmp_path):
    with pytest.raises(UsageError, match="can't be read as a Delta table"):
        open_source(tmp_path, format="delta")


def test_a_missing_package_says_its_install_line(tmp_path, monkeypatch):
    path = made(tmp_path / "t")
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'llmframe\[files\]'"):
        open_source(path)
