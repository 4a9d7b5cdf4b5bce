"""A target that is a folder of part files."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files import open_source, open_target
from llmframe.frames.files.workspace import STATE_NAME

TABLE = pa.table({"text": ["a", "b"], "n": [1, 2]}).replace_schema_metadata({"k": "v"})


def test_parts_are_the_files_themselves_in_the_format(tmp_path):
    target = open_target(f"{tmp_path}/out/", format="csv")
    target.write_state({"parts": []})
    target.write_part(target.part_name(0), TABLE)
    assert (tmp_path / "out" / "part-00000.csv").read_text() == "text,n\na,1\nb,2\n"


def test_the_folder_reads_as_one_with_its_state_in_it(tmp_path):
    target = open_target(f"{tmp_path}/out/")
    target.write_state({"parts": []})
    names = [target.part_name(0), target.part_name(1)]
    target.write_part(names[0], TABLE.slice(0, 1))
    target.write_part(names[1], TABLE.slice(1))
    target.publish(names, TABLE.schema)
    target.clean()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [STATE_NAME, *names]
    assert pd.read_parquet(tmp_path / "out")["n"].tolist() == [1, 2]
    assert ds.dataset(tmp_path / "out").to_table().schema.equals(TABLE.schema, check_metadata=True)
    assert pl.read_parquet(tmp_path / "out" / "*.parquet")["n"].to_list() == [1, 2]
    assert open_source(tmp_path / "out").names == ["text", "n"]


def test_files_of_others_are_named_and_their_like_counted(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("a.csv", "b.csv", "c.csv", "d.csv"):
        (tmp_path / "out" / name).write_text("")
    assert open_target(tmp_path / "out").occupied() == "a folder with 4 other files ('a.csv', 'b.csv', 'c.csv', …)"


def test_a_new_or_empty_folder_is_free_and_so_is_one_of_ours(tmp_path):
    target = open_target(f"{tmp_path}/out/")
    assert target.occupied() is None
    (tmp_path / "out").mkdir()
    assert target.occupied() is None
    target.write_state({})
    target.write_part(target.part_name(3), TABLE)
    assert target.occupied() is None


def test_parts_that_nobody_needs_any_more_go_and_other_files_stay(tmp_path):
    target = open_target(f"{tmp_path}/out/")
    target.write_state({})
    for number in range(3):
        target.write_part(target.part_name(number), TABLE)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    target.publish([target.part_name(0), target.part_name(2)], TABLE.schema)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        STATE_NAME,
        "notes.txt",
        "part-00000.parquet",
        "part-00002.parquet",
    ]


def test_no_part_makes_one_without_rows(tmp_path):
    target = open_target(f"{tmp_path}/out/")
    target.publish([], TABLE.schema)
    assert list(target.parts()) == ["part-00000.parquet"]
    assert open_source(tmp_path / "out").schema.equals(TABLE.schema, check_metadata=True)


def test_cleaning_takes_only_what_a_killed_run_was_writing(tmp_path):
    target = open_target(f"{tmp_path}/out/")
    target.write_state({"job": "a"})
    target.write_part(target.part_name(0), TABLE)
    (tmp_path / "out" / f".llmframe-{'0' * 32}.tmp").write_bytes(b"half")
    target.clean()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [STATE_NAME, "part-00000.parquet"]
    assert target.read_state() == {"job": "a"}


def test_parts_are_safe_for_spreadsheets_when_asked(tmp_path):
    target = open_target(f"{tmp_path}/out/", format="csv", spreadsheet_safe=True)
    target.write_part(target.part_name(0), pa.table({"text": ["=1+1"], "n": [-1]}))
    assert (tmp_path / "out" / "part-00000.csv").read_text() == '"text","n"\n"\'=1+1",-1\n'


def test_a_column_that_the_format_cant_hold_is_refused(tmp_path):
    with pytest.raises(UsageError, match="column 'raw' holds bytes, which csv can't"):
        open_target(f"{tmp_path}/out/", format="csv").check(pa.schema([("raw", pa.binary())]))


def test_a_prefix_in_an_object_store_is_a_folder_too():
    target = open_target("memory://folder-target/out/")
    target.write_state({})
    target.write_part(target.part_name(0), TABLE)
    target.publish([target.part_name(0)], TABLE.schema)
    assert target.occupied() is None
    assert [table.num_rows for table in open_source("memory://folder-target/out").tables(10, 10**6)] == [2]
