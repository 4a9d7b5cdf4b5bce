"""What a run writes: opening the place for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from llmframe.errors import UsageError
from llmframe.frames.files import Target, open_target

TABLE = pa.table({"n": [1]})


def publish(target, table=TABLE):
    name = target.part_name(0)
    target.write_part(name, table)
    target.publish([name], table.schema)
    target.clean()


@pytest.mark.parametrize(
    ("name", "format_", "single"),
    [
        ("out.parquet", "parquet", True),
        ("out.csv", "csv", True),
        ("out.tsv.gz", "tsv", True),
        ("out.ndjson", "jsonl", True),
        ("out.feather", "ipc", True),
        ("out/", "parquet", False),
        ("out", "parquet", False),
        ("out.csv/", "csv", False),
    ],
)
def test_the_name_tells_the_format_and_whether_it_is_a_folder(tmp_path, name, format_, single):
    target = open_target(f"{tmp_path}/{name}")
    assert isinstance(target, Target)
    assert (target.format, target.single) == (format_, single)
    assert target.address == f"{tmp_path}/{name.rstrip('/')}"


def test_a_folder_that_is_there_is_a_folder_whatever_its_name(tmp_path):
    (tmp_path / "out.parquet").mkdir()
    assert not open_target(tmp_path / "out.parquet").single


@pytest.mark.parametrize("name", ["out.v2", "out.2026-01", "out.final", "out.d", ".out"])
def test_a_name_with_a_dot_may_be_a_folders(tmp_path, name):
    assert not open_target(tmp_path / name).single


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("out.xlsx", r"out\.xlsx' is named like a file, and '\.xlsx' is no format .* ends with a slash"),
        ("out.json", r"did you mean '\.jsonl'"),
        ("out.PARQET", r"did you mean '\.parquet'"),
        ("out.parquet.gz", "known extensions: "),
        ("-", "stdout"),
    ],
)
def test_a_name_of_a_file_of_another_kind_is_no_folders(tmp_path, name, told):
    with pytest.raises(UsageError, match=told):
        open_target(tmp_path / name)
    assert not open_target(f"{tmp_path}/{name}/").single
    assert open_target(tmp_path / name, format="csv").single


def test_what_was_asked_is_more_than_the_name(tmp_path):
    target = open_target(tmp_path / "out.txt", format="csv")
    assert (target.format, target.single) == ("csv", True)


def test_a_folder_takes_the_fallback_unless_its_name_tells(tmp_path):
    assert open_target(f"{tmp_path}/out/", fallback="jsonl").format == "jsonl"
    assert open_target(f"{tmp_path}/out/", fallback="delta").format == "parquet"
    assert open_target(f"{tmp_path}/out.csv/", fallback="jsonl").format == "csv"


def test_a_folder_with_a_delta_log_is_a_table(tmp_path):
    write_deltalake(tmp_path / "t", TABLE)
    assert open_target(tmp_path / "t").format == "delta"
    with pytest.raises(UsageError, match="is a Delta table: leave `format='csv'` out"):
        open_target(tmp_path / "t", format="csv")


def test_an_unknown_format_names_the_near_one(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'parquet'"):
        open_target(tmp_path / "out", format="parqet")


def test_opening_writes_nothing(tmp_path):
    before = sorted(tmp_path.rglob("*"))
    open_target(f"{tmp_path}/out/")
    open_target(tmp_path / "out.parquet").occupied()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_folder_above_is_told_before_anything_is_paid_for(tmp_path):
    with pytest.raises(UsageError, match=r"the folder '.*nowhere' for '.*out\.csv' isn't there"):
        open_target(tmp_path / "nowhere" / "out.csv")


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.arrow"])
def test_only_formats_of_spreadsheets_are_made_safe_for_them(tmp_path, name):
    with pytest.raises(UsageError, match="`spreadsheet_safe` is for CSV and TSV"):
        open_target(tmp_path / name, spreadsheet_safe=True)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.xz"])
def test_a_csv_may_be_made_safe(tmp_path, name):
    assert open_target(tmp_path / name, spreadsheet_safe=True).single


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
def test_a_pipe_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "out.csv")
    with pytest.raises(UsageError, match="is a device or a pipe"):
        open_target(tmp_path / "out.csv")
    with pytest.raises(UsageError, match="is a device or a pipe"):
        open_target("/dev/null", format="csv")


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "out.parquet"
    link.symlink_to(tmp_path / "far" / "real.parquet")
    publish(open_target(link))
    assert link.is_symlink()
    assert pq.read_table(tmp_path / "far" / "real.parquet").to_pydict() == {"n": [1]}


def test_a_relative_path_is_meant_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publish(open_target("out.parquet"))
    assert Path("out.parquet").is_file()


def test_an_address_of_fsspec_is_written_alike():
    target = open_target("memory://targets/out.parquet")
    assert target.occupied() is None
    publish(target)
    assert target.address == "memory:///targets/out.parquet"
    assert target.occupied() is not None
