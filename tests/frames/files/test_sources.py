from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from pathlib import Path

import deltalake
import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.frames.files.sources import open_source

MUCH = 2**40
FORMATS = ("parquet", "csv", "jsonl", "ipc", "delta")
EXTENSIONS = {"parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl", "ipc": ".arrow", "delta": ""}


def rich() -> pa.Table:
    """What other libraries put into files, with the metadata by which pandas finds its index again."""
    frame = pd.DataFrame(
        {
            "text": ["na\u00efve \U0001f600", None, "b"],
            "label": pd.Categorical(["x", None, "y"]),
            "at": pd.to_datetime(["2024-01-01T05:00:00", None, "2024-01-02T06:30:00"]),
            "nested": [{"k": [1, 2]}, None, {"k": []}],
            "day": [dt.date(2024, 1, 1), None, dt.date(2024, 2, 29)],
            "stars": pd.array([1, None, 2**60], dtype="Int64"),
        },
        index=pd.Index([7, 8, 9], name="id"),
    )
    table = pa.Table.from_pandas(frame)
    field = table.schema.field("text").with_metadata({"unit": "words"})
    return table.cast(table.schema.set(0, field))


def written(folder: Path, format_: str, table: pa.Table, name: str = "rows") -> str:
    """A file of several row groups or batches, or a table, with these rows."""
    path = str(folder / f"{name}{EXTENSIONS[format_]}")
    match format_:
        case "parquet":
            pq.write_table(table, path, row_group_size=7)
        case "ipc":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=5)
        case "csv":
            pa.csv.write_csv(table, path)
        case "jsonl":
            Path(path).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        case _:
            deltalake.write_deltalake(path, table)
    return path


def plain(rows: int) -> pa.Table:
    cells = {"n": [str(n) for n in range(rows)], "text": ["x" * (n % 5) + "." for n in range(rows)]}
    return pa.table(cells, schema=pa.schema([("n", pa.string()), ("text", pa.string())]))


@pytest.mark.parametrize("format_", ["parquet", "ipc"])
def test_values_types_and_metadata_arrive_as_they_were_written(tmp_path, format_):
    path = written(tmp_path, format_, rich())
    expected = rich() if format_ == "ipc" else pq.read_table(path)  # parquet says otherwise how wide a label's text is
    source = open_source(path)
    [table] = source.tables(100, MUCH)
    assert table.equals(expected, check_metadata=True)
    assert source.schema.equals(expected.schema, check_metadata=True)
    assert table.to_pylist() == rich().to_pylist()
    assert source.names == rich().column_names
    assert table.to_pandas().index.name == "id"


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_tells_its_name_its_rows_and_its_files(tmp_path, format_):
    path = written(tmp_path, format_, plain(20))
    source = open_source(Path(path))
    assert source.format == format_
    assert source.rows == (None if format_ == "csv" else 20)
    assert len(source.files) == 1
    assert source.address == path
    assert pa.concat_tables(source.tables(6, MUCH)).to_pydict() == plain(20).to_pydict()


@pytest.mark.parametrize("format_", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(rows=st.integers(1, 12), max_bytes=st.integers(1, 120))
def test_a_run_that_goes_on_makes_the_tables_that_were_left(tmp_path_factory, format_, rows, max_bytes):
    folder = tmp_path_factory.getbasetemp() / f"law-{format_}"
    if not folder.exists():
        folder.mkdir()
        for part in range(1 if format_ == "delta" else 3):
            written(folder, format_, plain(10 + part), f"part-{part}")
    source = open_source(folder / "part-0" if format_ == "delta" else folder)
    tables = list(source.tables(rows, max_bytes))
    assert all(1 <= len(table) <= rows for table in tables)
    assert pa.concat_tables(tables).to_pydict() == next(source.tables(1000, MUCH)).to_pydict()
    start = 0
    for number, table in enumerate(tables):
        rest = list(source.tables(rows, max_bytes, start=start))
        assert [each.to_pydict() for each in rest] == [each.to_pydict() for each in tables[number:]]
        start += len(table)
    assert list(source.tables(rows, max_bytes, start=start)) == []


@pytest.mark.parametrize("format_", FORMATS)
def test_any_row_may_be_the_first(tmp_path, format_):
    source = open_source(written(tmp_path, format_, plain(20)))
    for start in range(21):
        tables = list(source.tables(4, MUCH, start=start))
        assert [cell for table in tables for cell in table["n"].to_pylist()] == [str(n) for n in range(start, 20)]


def test_tables_reach_over_files(tmp_path):
    for part in range(3):
        written(tmp_path, "parquet", plain(3), f"part-{part}")
    assert [len(table) for table in open_source(tmp_path).tables(4, MUCH)] == [4, 4, 1]


def test_iterators_share_nothing(tmp_path):
    source = open_source(written(tmp_path, "csv", plain(6)))
    first, second = source.tables(2, MUCH), source.tables(3, MUCH)
    assert [len(next(first)), len(next(second)), len(next(first)), len(next(second))] == [2, 3, 2, 3]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_source_without_rows_has_columns_and_no_table(tmp_path, format_):
    if format_ == "jsonl":
        (tmp_path / "rows.jsonl").write_text("\n\n")
        source = open_source(tmp_path / "rows.jsonl")
        assert source.names == []
    else:
        source = open_source(written(tmp_path, format_, plain(0)))
        assert source.names == ["n", "text"]
    assert list(source.tables(5, MUCH)) == []


@pytest.mark.parametrize("format_", FORMATS)
def test_the_identity_changes_with_the_content_only(tmp_path, format_):
    path = written(tmp_path, format_, plain(5))
    source = open_source(path)
    assert open_source(path).identity == source.identity == source.current_identity()
    assert len(source.identity) == 64
    if format_ == "delta":
        deltalake.write_deltalake(path, plain(1), mode="append")
    else:
        written(tmp_path, format_, plain(5))
        os.utime(path, ns=(1, 1))
    assert source.current_identity() != source.identity
    assert open_source(path).identity == source.current_identity()


def test_the_identity_stays_when_a_folder_moves(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    written(folder, "csv", plain(2))
    before = open_source(folder).identity
    folder.rename(tmp_path / "there")
    assert open_source(tmp_path / "there").identity == before


def test_a_source_that_went_away_has_no_identity_any_more(tmp_path):
    path = written(tmp_path, "csv", plain(2))
    source = open_source(path)
    Path(path).unlink()
    with pytest.raises(UsageError, match=r"no file or folder at .*rows\.csv"):
        source.current_identity()


def test_a_file_that_goes_while_it_is_read_is_named(tmp_path):
    for part in range(2):
        written(tmp_path, "parquet", plain(8), f"part-{part}")
    tables = open_source(tmp_path).tables(7, MUCH)
    assert len(next(tables)) == 7
    (tmp_path / "part-1.parquet").unlink()
    with pytest.raises(UsageError, match=r"part-1\.parquet' is gone"):
        list(tables)


def test_addresses_of_fsspec_are_read_as_files_are():
    with fsspec.open("memory://sources/b.csv.gz", "wb") as file:
        file.write(gzip.compress(b"a\n2\n"))
    with fsspec.open("memory://sources/a.csv.gz", "wb") as file:
        file.write(gzip.compress(b"a\n1\n"))
    for address in ("memory://sources", "memory://sources/", "memory://sources/*.gz"):
        source = open_source(address)
        assert [table.to_pydict() for table in source.tables(9, MUCH)] == [{"a": ["1", "2"]}]
    identity = source.identity
    with fsspec.open("memory://sources/a.csv.gz", "wb") as file:
        file.write(gzip.compress(b"a\n3\n"))
    assert source.current_identity() != identity


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_what_lies_elsewhere_is_read_by_its_parts(name):
    address = f"memory://sources-{name}/{name}"
    with fsspec.open(address, "wb") as file:
        if name == "a.parquet":
            pq.write_table(rich(), file)
        else:
            with pa.ipc.new_file(file, rich().schema) as writer:
                writer.write_table(rich())
    source = open_source(address)
    assert source.rows == 3
    [table] = source.tables(9, MUCH)
    assert table.to_pylist() == rich().to_pylist()
    assert table.schema.metadata == rich().schema.metadata


def test_an_address_of_this_machine_needs_no_fsspec(tmp_path):
    path = written(tmp_path, "csv", plain(2), "with space")
    source = open_source(f"file://{path.replace(' ', '%20')}")
    assert source.files == (path,)


def test_folders_of_partitions_become_columns(tmp_path):
    for year, text in ((2023, "a"), (2024, "b")):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "part.csv").write_text(f"text\n{text}\n")
    assert [table.to_pydict() for table in open_source(tmp_path).tables(9, MUCH)] == [
        {"text": ["a", "b"], "year": [2023, 2024]}
    ]


def test_types_are_for_text_formats_only(tmp_path):
    with pytest.raises(UsageError, match="`types` is for CSV and TSV"):
        open_source(written(tmp_path, "parquet", plain(1)), types={"n": "int64"})


def test_types_convert_columns_by_name(tmp_path):
    path = written(tmp_path, "csv", plain(3))
    [table] = open_source(path, types={"n": "int64"}).tables(9, MUCH)
    assert table["n"].to_pylist() == [0, 1, 2]
    with pytest.raises(UsageError, match=r"column 'm', which is absent.*columns: \['n', 'text'\]"):
        open_source(path, types={"m": "int64"})


@pytest.mark.parametrize(("rows", "max_bytes", "start"), [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_sizes_that_make_no_table_are_refused(tmp_path, rows, max_bytes, start):
    with pytest.raises(UsageError, match="must be at least 1"):
        open_source(written(tmp_path, "csv", plain(1))).tables(rows, max_bytes, start=start)
