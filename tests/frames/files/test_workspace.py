"""The folder that holds a run's parts and its state."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.frames.files.formats import Named
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.openings import storage_of
from llmframe.frames.files.workspace import STATE_NAME, Workspace

STREAM = Named("ipc", None, ".arrows")
TABLE = pa.table({"text": ["a", None], "n": [1, 2]}).replace_schema_metadata({"k": "v"})


@pytest.fixture(params=["disk", "memory"])
def work(request, tmp_path):
    """A workspace that isn't there yet."""
    address = tmp_path / "work" if request.param == "disk" else f"memory://{tmp_path.name}/work"
    storage, place = storage_of(address)
    return Workspace(storage, place, STREAM)


def test_names_of_parts_sort_as_their_numbers(work):
    assert [work.part_name(number) for number in (0, 12, 123_456)] == [
        "part-00000.arrows",
        "part-00012.arrows",
        "part-123456.arrows",
    ]


def test_a_part_is_there_with_the_size_that_was_told(work):
    size = work.write_part("part-00000.arrows", TABLE)
    assert size > 0
    assert work.parts() == {"part-00000.arrows": size}
    [found] = work.read_part("part-00000.arrows", TABLE.schema)
    assert found.equals(TABLE, check_metadata=True)


def test_parts_come_in_the_order_of_their_numbers(work):
    for number in (100_000, 2, 0):
        work.write_part(work.part_name(number), TABLE)
    assert list(work.parts()) == ["part-00000.arrows", "part-00002.arrows", "part-100000.arrows"]


def test_a_part_is_written_again_in_place_of_itself(work):
    work.write_part("part-00000.arrows", TABLE)
    work.write_part("part-00000.arrows", TABLE.slice(1))
    [found] = work.read_part("part-00000.arrows", TABLE.schema)
    assert found["n"].to_pylist() == [2]


def test_labels_that_differ_from_chunk_to_chunk_stay_labels(work):
    inside = [
        pa.ListArray.from_arrays([0, 1], pa.array([text]).dictionary_encode())  # which an Arrow file can't hold
        for text in "ab"
    ]
    on_top = [pa.array([text]).dictionary_encode() for text in "xy"]
    table = pa.table({"inside": pa.chunked_array(inside), "top": pa.chunked_array(on_top)})
    work.write_part("part-00000.arrows", table)
    found = pa.concat_tables(work.read_part("part-00000.arrows", table.schema))
    assert found.to_pydict() == {"inside": [["a"], ["b"]], "top": ["x", "y"]}
    assert found.schema == table.schema


def test_a_part_that_is_removed_is_gone_and_one_that_never_was_is_no_error(work):
    work.write_part("part-00000.arrows", TABLE)
    work.remove_part("part-00000.arrows")
    work.remove_part("part-00007.arrows")
    assert work.parts() == {}


def test_the_state_is_what_was_written_last(work):
    assert work.read_state() is None
    work.write_state({"job": "ä", "parts": []})
    work.write_state({"job": "b", "parts": [1]})
    assert work.read_state() == {"job": "b", "parts": [1]}


@pytest.mark.parametrize("text", ["", '{"job": "a', "[1]", "\x00"])
def test_a_damaged_state_is_none(tmp_path, text):
    work = Workspace(LocalStorage(), str(tmp_path), STREAM)
    (tmp_path / STATE_NAME).write_text(text)
    assert work.read_state() is None


def test_only_files_of_the_runs_own_are_no_strangers(tmp_path):
    folder = tmp_path / "work"
    work = Workspace(LocalStorage(), str(folder), STREAM)
    assert work.strangers() == []
    work.write_part("part-00000.arrows", TABLE)
    assert work.strangers() == ["part-00000.arrows"]  # nothing tells that a run of ours wrote it
    work.write_state({})
    assert work.strangers() == []
    (folder / "part-00000.csv").write_text("n\n")
    (folder / "part-x.arrows").write_text("")
    (folder / "below").mkdir()
    (folder / "below" / "deep.txt").write_text("")
    assert work.strangers() == ["below", "part-00000.csv", "part-x.arrows"]


def test_a_write_that_was_killed_is_swept_and_nothing_else(tmp_path):
    work = Workspace(LocalStorage(), str(tmp_path / "work"), STREAM)
    work.write_part("part-00000.arrows", TABLE)
    (tmp_path / "work" / work.temporary().rpartition("/")[2]).write_bytes(b"half")
    (tmp_path / "work" / ".llmframe-notes.tmp").write_bytes(b"mine")
    work.sweep()
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [".llmframe-notes.tmp", "part-00000.arrows"]


def test_a_workspace_dissolves_without_a_trace(work):
    work.write_part("part-00000.arrows", TABLE)
    work.write_state({})
    work.dissolve()
    work.dissolve()
    assert work.parts() == {}
    assert work.read_state() is None


def test_files_of_others_survive_the_dissolving(tmp_path):
    folder = tmp_path / "work"
    work = Workspace(LocalStorage(), str(folder), STREAM)
    work.write_part("part-00000.arrows", TABLE)
    (folder / "notes.txt").write_text("mine")
    work.dissolve()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
