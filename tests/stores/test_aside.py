"""Setting a damaged store aside."""

from __future__ import annotations

import re
import stat
import sys
import threading
import warnings
from pathlib import Path

import pytest

from llmframe.errors import LlmframeWarning
from llmframe.stores.aside import begin, identity, set_aside
from llmframe.stores.jobs import JobRecord
from llmframe.stores.sqlite import SqliteStore

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_goes_with_its_companions_and_a_warning_says_where(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"a.sqlite{suffix}").write_text(f"content{suffix}")
    with pytest.warns(LlmframeWarning, match="was damaged: it was set aside as") as warned:
        target = set_aside(path, identity(path))
    assert target is not None
    assert re.fullmatch(r"a\.sqlite\.damaged-\d{8}T\d{6}Z", target.name)
    assert str(target) in str(warned[0].message)
    assert names(tmp_path) == [target.name, f"{target.name}-shm", f"{target.name}-wal"]
    assert (tmp_path / f"{target.name}-wal").read_text() == "content-wal"


def test_a_second_one_within_a_second_overwrites_nothing(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    targets = []
    for content in ("first", "second", "third"):
        path.write_text(content)
        with pytest.warns(LlmframeWarning):
            targets.append(set_aside(path, identity(path)))
    assert [target.read_text() for target in targets] == ["first", "second", "third"]


def test_a_file_that_stands_there_instead_is_left_alone(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.write_text("damaged")
    seen = identity(path)
    path.rename(tmp_path / "moved by another process")
    assert set_aside(path, seen) is None
    path.write_text("new")
    assert set_aside(path, seen) is None
    assert path.read_text() == "new"


def test_of_many_that_see_the_damage_one_moves_the_file(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.write_text("damaged")
    seen, barrier, targets = identity(path), threading.Barrier(4), []

    def move() -> None:
        barrier.wait(timeout=60)
        targets.append(set_aside(path, seen))
        begin(path)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlmframeWarning)
        threads = [threading.Thread(target=move) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert targets.count(None) == 3
    assert len(names(tmp_path)) == 2
    assert path.read_text() == ""


@posix
def test_a_new_file_is_for_its_owners_eyes_only(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    begin(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == 0


def test_a_file_that_is_there_is_kept(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.write_text("content")
    begin(path)
    assert path.read_text() == "content"


def test_the_journal_of_a_deleted_store_gets_out_of_the_way(tmp_path: Path):
    (tmp_path / "a.sqlite-wal").write_text("commits")
    begin(tmp_path / "a.sqlite")
    moved = [name for name in names(tmp_path) if name.endswith("-wal")]
    assert moved != ["a.sqlite-wal"]
    assert [(tmp_path / name).read_text() for name in moved] == ["commits"]


def test_there_is_no_file_where_nothing_stands(tmp_path: Path):
    assert identity(tmp_path / "a.sqlite") is None


def damaged(tmp_path: Path, *, finished: bool | None) -> str:
    """What is said when a store is set aside that has one job, or none."""
    store = SqliteStore(tmp_path / "a.sqlite")
    if finished is not None:
        ledger = store.open_ledger()
        ledger.open_job(
            JobRecord(
                id="job-a", created=1.0, provider="openai", identity="", model="m", question="q", finished=finished
            )
        )
    store.close()
    seen = identity(store.path)
    assert seen is not None
    with pytest.warns(LlmframeWarning) as warned:
        set_aside(store.path, seen)
    return str(warned[0].message)


def test_the_warning_tells_of_batch_jobs_that_run(tmp_path: Path):
    assert "batch jobs recorded in it that aren't finished (1) go on" in damaged(tmp_path, finished=False)


@pytest.mark.parametrize("finished", [None, True])
def test_the_warning_is_silent_of_batch_jobs_where_none_runs(tmp_path: Path, *, finished: bool | None):
    assert "batch jobs" not in damaged(tmp_path, finished=finished)


def test_the_warning_tells_of_batch_jobs_where_nobody_can_tell(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 2000)
    seen = identity(tmp_path / "a")
    assert seen is not None
    with pytest.warns(LlmframeWarning, match="batch jobs recorded in it, if any, go on at their provider"):
        set_aside(tmp_path / "a", seen)
