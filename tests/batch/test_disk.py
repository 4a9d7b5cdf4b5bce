from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import pytest

from llmframe.batch import filling
from llmframe.batch.disk import new_folder, on_disk
from llmframe.batch.packing import Pack, begin_pack, new_intent
from llmframe.errors import StoreError
from llmframe.stores.base import MemoryStore
from tests.batch.doubles import Bench, Call, label, running

FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="needs Linux' disk that is always full")


@pytest.mark.parametrize(("number", "reason"), [(errno.ENOSPC, "full"), (errno.EACCES, "readonly"), (errno.EIO, "io")])
def test_what_the_system_says_of_a_file_is_told_with_what_to_do(number: int, reason: str):
    with pytest.raises(StoreError, match="TMPDIR") as raised, on_disk():
        raise OSError(number, "no")
    assert (raised.value.reason, raised.value.__cause__) == (reason, None)


def test_other_errors_are_let_through():
    with pytest.raises(KeyError), on_disk():
        raise KeyError


def test_a_folder_is_new_and_where_the_system_keeps_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folders = {new_folder(), new_folder()}
    assert {folder.parent for folder in folders} == {tmp_path}
    assert len(folders) == 2
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StoreError):
        new_folder()
    with pytest.raises(StoreError):
        begin_pack(tmp_path / "gone")


def full_pack(folder: Path) -> Pack:
    """A shard whose file's disk is full."""
    del folder
    return Pack(new_intent(), Path("/nowhere/lines.jsonl"), FULL.open("wb"))


@full
def test_lines_that_have_no_room_are_told_and_leave_nothing_open():
    pack = full_pack(Path())
    pack.file.write(b"x")
    with pytest.raises(StoreError) as raised:
        pack.close()
    assert raised.value.reason == "full"
    pack.remove()
    assert pack.file.closed


@full
def test_a_full_disk_ends_the_call_and_the_next_one_asks_everything_once(monkeypatch: pytest.MonkeyPatch):
    store, bench = MemoryStore(), Bench()
    bench.answer = label

    async def call() -> Call:
        return await Call(range(5), bench, store=store).end()

    async def work() -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(filling, "begin_pack", full_pack)
            with pytest.raises(StoreError):
                await call()
        return await call()

    assert running(work()).answered == list(range(5))
    assert bench.asked == [list(range(5))]
