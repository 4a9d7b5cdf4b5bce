"""Files of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llmframe.frames.files.local_storage import LocalStorage

STORAGE = LocalStorage()


def names(folder):
    return [path.name for path in folder.iterdir()]


def write(path, content, *, stop=None):
    with STORAGE.writer(str(path), through=str(path.with_name(".temporary"))) as file:
        file.write(content)
        if stop is not None:
            raise stop


def test_a_file_is_there_in_full_after_the_block(tmp_path):
    write(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("stop", [OSError("full"), KeyboardInterrupt()])
def test_a_block_that_raises_leaves_the_older_file_and_nothing_else(tmp_path, stop):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(type(stop)):
        write(tmp_path / "a", b"half", stop=stop)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_content_is_on_the_disk_before_the_name_is_given(tmp_path, monkeypatch):
    seen = []
    replace = Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append("fsync"))
    monkeypatch.setattr(Path, "replace", lambda path, to: (seen.append("replace"), replace(path, to)))
    write(tmp_path / "a", b"x")
    assert seen == ["fsync", "replace", "fsync"]  # of the file, then of its folder


def test_a_changed_file_has_another_stamp(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    os.utime(tmp_path / "a", ns=(1, 1))
    before = STORAGE.file(str(tmp_path / "a"))
    os.utime(tmp_path / "a", ns=(1, 2))
    after = STORAGE.file(str(tmp_path / "a"))
    assert (before.size, after.size) == (1, 1)
    assert before.stamp != after.stamp


def test_what_is_no_file_is_none(tmp_path):
    assert STORAGE.file(str(tmp_path)) is None
    assert STORAGE.file(str(tmp_path / "a")) is None
    assert STORAGE.files(str(tmp_path / "a"), deep=True) == []


def test_files_below_a_folder_have_names_from_there(tmp_path):
    for name in ("a", ".b", "c/d", "c/e/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {file.name for file in STORAGE.files(str(tmp_path), deep=True)} == {"a", ".b", "c/d", "c/e/f"}
    assert {file.name for file in STORAGE.files(str(tmp_path), deep=False)} == {"a", ".b"}
    assert {file.name for file in STORAGE.glob(str(tmp_path / "**" / "*"))} == {"a", "c/d", "c/e/f"}


def test_only_an_empty_folder_is_removed(tmp_path):
    STORAGE.make_folder(str(tmp_path / "a" / "b"))
    (tmp_path / "a" / "x").touch()
    STORAGE.remove_folder(str(tmp_path / "a" / "b"))
    STORAGE.remove_folder(str(tmp_path / "a"))
    assert names(tmp_path / "a") == ["x"]
    STORAGE.remove(str(tmp_path / "a" / "x"))
    STORAGE.remove(str(tmp_path / "a" / "x"))
    assert names(tmp_path / "a") == []
