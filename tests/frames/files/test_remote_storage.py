"""Files behind fsspec, in memory and in S3."""

from __future__ import annotations

import gc
from uuid import uuid4

import pytest

from llmframe.frames.files.openings import storage_of
from llmframe.frames.files.remote_storage import WRITE_BLOCK_BYTES


@pytest.fixture(params=["memory", "s3"])
def place(request):
    """A storage with a prefix of its own."""
    if request.param == "memory":
        return storage_of(f"memory://{uuid4().hex}")
    return storage_of(request.getfixturevalue("s3") + "/folder")


def write(place, name, content, *, stop=None):
    storage, root = place
    with storage.writer(storage.join(root, name), through=storage.join(root, ".temporary")) as file:
        file.write(content)
        if stop is not None:
            raise stop


def read(place, name):
    storage, root = place
    with storage.reader(storage.join(root, name)) as file:
        return file.read()


def test_a_file_is_there_in_full_after_the_block(place):
    storage, root = place
    assert storage.file(storage.join(root, "a")) is None
    write(place, "a", b"content")
    assert read(place, "a") == b"content"
    assert storage.file(storage.join(root, "a")).size == 7


def test_a_file_of_several_blocks_is_one_file(place):
    content = bytes(WRITE_BLOCK_BYTES) + b"end"
    write(place, "a", content)
    assert read(place, "a") == content


@pytest.mark.parametrize("size", [4, WRITE_BLOCK_BYTES + 1])
def test_a_block_that_raises_leaves_the_older_file(place, size):
    storage, root = place
    write(place, "a", b"old")
    with pytest.raises(KeyboardInterrupt):
        write(place, "a", bytes(size), stop=KeyboardInterrupt())
    gc.collect()
    assert read(place, "a") == b"old"
    assert [file.name for file in storage.files(root, deep=True)] == ["a"]


def test_files_have_names_below_their_prefix(place):
    storage, root = place
    for name in ("a.csv", ".b", "c/d.csv", "c/e/f.csv"):
        write(place, name, b"x")
    assert {file.name for file in storage.files(root, deep=True)} == {"a.csv", ".b", "c/d.csv", "c/e/f.csv"}
    assert {file.name for file in storage.files(root, deep=False)} == {"a.csv", ".b"}
    assert {file.name for file in storage.glob(storage.join(root, "**", "*.csv"))} >= {"c/d.csv", "c/e/f.csv"}
    assert [file.name for file in storage.glob(storage.join(root, "*.csv"))] == ["a.csv"]
    assert storage.is_folder(storage.join(root, "c"))
    assert not storage.is_folder(storage.join(root, "nothing"))
    assert storage.files(storage.join(root, "nothing"), deep=True) == []


def test_other_content_of_the_same_size_has_another_stamp(place):
    storage, root = place
    write(place, "a", b"one")
    before = storage.file(storage.join(root, "a")).stamp
    write(place, "a", b"two")
    assert storage.file(storage.join(root, "a")).stamp != before


def test_a_removed_file_is_gone_and_removing_it_again_does_nothing(place):
    storage, root = place
    write(place, "a", b"x")
    storage.remove(storage.join(root, "a"))
    storage.remove(storage.join(root, "a"))
    assert storage.files(root, deep=True) == []


def test_no_bucket_is_made_of_a_mistyped_name(s3):
    storage, path = storage_of("s3://bucket-that-nobody-made/folder")
    storage.make_folder(path)
    with pytest.raises(FileNotFoundError), storage.writer(storage.join(path, "a"), through="") as file:
        file.write(b"x")
