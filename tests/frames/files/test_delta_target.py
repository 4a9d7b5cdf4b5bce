"""A target that is a Delta table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from llmframe.errors import UsageError
from llmframe.frames.files import open_source, open_target

TABLE = pa.table({"id": [1, 2, 3], "label": ["a", None, "c"]})


def run(path, *, table=TABLE, mode="error", token=None):
    """Two parts of `table`, published."""
    target = open_target(path, format="delta")
    names = [target.part_name(0), target.part_name(1)]
    target.write_part(names[0], table.slice(0, 1))
    target.write_part(names[1], table.slice(1))
    target.publish(names, table.schema, mode=mode, token=token)
    target.clean()


def test_all_parts_are_one_commit(tmp_path):
    run(tmp_path / "t")
    table = DeltaTable(tmp_path / "t")
    assert table.version() == 0
    assert table.to_pyarrow_table().sort_by("id").to_pylist() == TABLE.to_pylist()
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["t"]


def test_a_table_that_is_there_is_said_with_its_version(tmp_path):
    write_deltalake(tmp_path / "t", TABLE)
    assert open_target(tmp_path / "t").occupied() == "a Delta table (version 0)"


def test_append_keeps_the_rows_that_are_there(tmp_path):
    run(tmp_path / "t")
    run(tmp_path / "t", mode="append")
    table = DeltaTable(tmp_path / "t")
    assert (table.version(), table.to_pyarrow_table().num_rows) == (1, 6)


def test_overwrite_takes_the_place_of_rows_and_columns(tmp_path):
    run(tmp_path / "t")
    run(tmp_path / "t", table=pa.table({"other": [1.5, 2.5]}), mode="overwrite")
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().to_pydict() == {"other": [1.5, 2.5]}


def test_a_commit_with_a_token_is_made_once_whoever_repeats_it(tmp_path):
    run(tmp_path / "t", mode="append", token="job-1")
    run(tmp_path / "t", mode="append", token="job-1")  # as after a kill between the commit and its note
    run(tmp_path / "t", mode="append", token="job-2")
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().num_rows == 6


def test_a_table_that_came_meanwhile_is_left_alone(tmp_path):
    target = open_target(tmp_path / "t", format="delta")
    target.write_part(target.part_name(0), TABLE)
    write_deltalake(tmp_path / "t", pa.table({"x": [1]}))
    with pytest.raises(UsageError, match="is there already"):
        target.publish([target.part_name(0)], TABLE.schema)
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().to_pydict() == {"x": [1]}


def test_appending_other_columns_is_refused_with_the_table(tmp_path):
    run(tmp_path / "t")
    with pytest.raises(UsageError, match="has other columns than this run"):
        run(tmp_path / "t", table=pa.table({"x": [1, 2]}), mode="append")


@pytest.mark.parametrize("mode", ["error", "append", "overwrite"])
def test_rows_stay_in_order_however_many_threads_write(tmp_path, mode, monkeypatch):
    monkeypatch.setattr("llmframe.frames.files.delta_files.FILE_BYTES", 100_000)  # several files
    if mode != "error":
        run(tmp_path / "t", table=pa.table({"n": pa.array([], pa.int64())}))
    table, target = pa.table({"n": range(50_000)}), open_target(tmp_path / "t", format="delta")
    names = [target.part_name(number) for number in range(50)]
    for number, name in enumerate(names):
        target.write_part(name, table.slice(number * 1000, 1000))
    target.publish(names, table.schema, mode=mode)
    target.clean()
    assert len(DeltaTable(tmp_path / "t").file_uris()) == 4  # 400 kB
    source = open_source(tmp_path / "t")
    assert [n for part in source.tables(10_000, 10**9) for n in part["n"].to_pylist()] == list(range(50_000))


def test_a_partitioned_table_is_left_to_deltalake(tmp_path):
    write_deltalake(tmp_path / "t", TABLE.slice(0, 1), partition_by="label")
    run(tmp_path / "t", mode="append")
    found = DeltaTable(tmp_path / "t")
    assert found.metadata().partition_columns == ["label"]
    assert found.to_pyarrow_table().num_rows == 4


def test_a_write_that_fails_leaves_no_file_and_no_version(tmp_path):
    run(tmp_path / "t")
    before = sorted(path.name for path in (tmp_path / "t").iterdir())
    target = open_target(tmp_path / "t")
    target.write_part(target.part_name(0), TABLE)
    with pytest.raises(UsageError, match="is gone"):
        target.publish([target.part_name(0), target.part_name(1)], TABLE.schema, mode="append")
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == before
    assert DeltaTable(tmp_path / "t").version() == 0


def test_a_place_that_deltalake_would_look_for_elsewhere_is_refused():
    with pytest.raises(UsageError, match="deltalake can't reach 'memory:///tables/t'"):
        open_target("memory://tables/t", format="delta")


def test_an_unknown_mode_names_those_that_are_known(tmp_path):
    with pytest.raises(UsageError, match="error, append, overwrite, not 'upsert'"):
        run(tmp_path / "t", mode="upsert")


def test_a_column_that_delta_cant_hold_is_refused_before_anything_is_written(tmp_path):
    target = open_target(tmp_path / "t", format="delta")
    with pytest.raises(UsageError, match=r"column 'long' is duration\[us\], which Delta can't hold"):
        target.check(pa.schema([("id", pa.int64()), ("long", pa.duration("us"))]))
    assert not (tmp_path / "t").exists()


def test_values_that_deltalake_would_lose_arrive(tmp_path):
    table = pa.table(
        {
            "byte": pa.array([200, 255], pa.uint8()),  # no signed byte
            "long": pa.array([2**64 - 1, 0], pa.uint64()),
            "when": pa.array([0, 3_600_000_000], pa.timestamp("us", "Europe/Berlin")),
            "label": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    open_target(tmp_path / "t", format="delta").check(table.schema)
    run(tmp_path / "t", table=table)
    found = DeltaTable(tmp_path / "t").to_pyarrow_table().sort_by("byte").to_pydict()
    assert [int(each) for each in found["long"]] == [2**64 - 1, 0]
    assert found["byte"] == [200, 255]
    assert [each.timestamp() for each in found["when"]] == [0, 3600]
    assert found["label"] == ["a", "b"]


def test_no_part_makes_an_empty_table_with_the_columns(tmp_path):
    open_target(tmp_path / "t", format="delta").publish([], TABLE.schema)
    found = DeltaTable(tmp_path / "t").to_pyarrow_table()
    assert (found.num_rows, found.column_names) == (0, ["id", "label"])


def test_other_files_in_the_folder_are_said_and_those_of_a_killed_commit_arent(tmp_path):
    target = open_target(tmp_path / "t", format="delta")
    target.write_state({"parts": []})
    (tmp_path / "t").mkdir()
    orphan = "part-00000-f86bcd3f-b547-4a39-9192-43d823dc1b0b-c000.snappy.parquet"
    (tmp_path / "t" / orphan).write_bytes(b"cut short")
    assert target.occupied() is None
    (tmp_path / "t" / "notes.txt").write_text("mine")
    assert target.occupied() == "a folder with other files, e.g. 'notes.txt'"


def test_without_a_run_of_ours_data_files_are_somebody_elses(tmp_path):
    (tmp_path / "t").mkdir()
    orphan = "part-00000-f86bcd3f-b547-4a39-9192-43d823dc1b0b-c000.snappy.parquet"
    (tmp_path / "t" / orphan).write_bytes(b"whose?")
    assert open_target(tmp_path / "t", format="delta").occupied() == f"a folder with other files, e.g. {orphan!r}"
