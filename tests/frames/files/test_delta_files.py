"""Data files of a Delta table, written in the order of their rows."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake

from llmframe.frames.files.delta_files import NAME, fits, is_plain, write_files
from llmframe.frames.files.local_storage import LocalStorage

TABLE = pa.table({"n": [1, 2, 3]})


def stub(**said):
    """What deltalake tells of a table; some of its features no writer at hand makes."""
    known = {"partition_columns": [], "configuration": {}, "features": None, "field_metadata": {}} | said
    return SimpleNamespace(
        metadata=lambda: SimpleNamespace(**known),
        protocol=lambda: SimpleNamespace(writer_features=known["features"]),
        schema=lambda: SimpleNamespace(fields=[Field("n", "long", metadata=known["field_metadata"])]),
    )


def write(folder, *tables):
    through = str(folder / ".temporary")
    return list(write_files(LocalStorage(), str(folder), iter(tables), TABLE.schema, through=through))


def test_names_sort_as_rows_do_and_are_known_again(tmp_path, monkeypatch):
    monkeypatch.setattr("llmframe.frames.files.delta_files.FILE_BYTES", 1)
    written = write(tmp_path, TABLE, TABLE.slice(1))
    assert [file.name for file in written] == sorted(path.name for path in tmp_path.glob("*.parquet"))
    assert all(NAME.fullmatch(file.name) for file in written)
    assert [file.rows for file in written] == [3, 2]
    assert [pq.read_table(file.path)["n"].to_pylist() for file in written] == [[1, 2, 3], [2, 3]]
    assert [file.size for file in written] == [path.stat().st_size for path in sorted(tmp_path.glob("*.parquet"))]


def test_no_rows_make_no_file(tmp_path):
    assert write(tmp_path) == []
    assert list(tmp_path.glob("*.parquet")) == []


def test_a_table_that_deltalake_made_is_plain(tmp_path):
    write_deltalake(tmp_path, TABLE)
    assert is_plain(DeltaTable(tmp_path))


@pytest.mark.parametrize(
    "said",
    [
        {"partition_columns": ["n"]},
        {"configuration": {"delta.constraints.positive": "n > 0"}},
        {"features": ["rowTracking"]},
        {"field_metadata": {"delta.columnMapping.physicalName": "col-1"}},
        {"field_metadata": {"delta.generationExpression": "1"}},
    ],
)
def test_a_table_with_wishes_of_its_own_isnt_plain(said):
    assert not is_plain(stub(**said))


@pytest.mark.parametrize("features", [None, [], ["timestampNtz", "appendOnly"]])
def test_features_that_ask_nothing_of_a_file_dont_matter(features):
    assert is_plain(stub(features=features))


def test_other_columns_fit_only_in_place_of_all(tmp_path):
    write_deltalake(tmp_path, TABLE)
    table, other = DeltaTable(tmp_path), Schema.from_arrow(pa.schema([("x", pa.string())]))
    assert fits(table, Schema.from_arrow(TABLE.schema), replaced=False)
    assert not fits(table, other, replaced=False)
    assert fits(table, other, replaced=True)
    assert not fits(table, Schema.from_arrow(pa.schema([("at", pa.timestamp("us"))])), replaced=True)
