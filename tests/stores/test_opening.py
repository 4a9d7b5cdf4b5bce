"""Opening a store's file."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from llmframe.errors import LlmframeWarning, StoreError
from llmframe.stores import mounts
from llmframe.stores.base import Stored
from llmframe.stores.connections import Waits
from llmframe.stores.opening import connect, prepare
from llmframe.stores.sqlite import SqliteStore, default_path

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")

ENTRIES = [(b"%032d" % i, Stored(f"reply {i} " + "x" * 500)) for i in range(400)]
KEYS = [key for key, _ in ENTRIES]


def filled(path: Path) -> Path:
    """A store with 400 answers, all in the main file."""
    store = SqliteStore(path)
    store.put_many(ENTRIES)
    store.close()
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(path: Path, **options) -> StoreError:
    with pytest.raises(StoreError) as caught:
        SqliteStore(path, **options)
    assert repr(str(path)) in str(caught.value)
    assert "`cache=False`" in str(caught.value)
    return caught.value


def aside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.damaged-*"))


@posix
def test_a_new_store_and_its_folder_are_for_their_owners_eyes_only(tmp_path: Path):
    old = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "deep" / "cache" / "answers.sqlite")
        store.put_many(ENTRIES)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    finally:
        os.umask(old)
    assert modes == {"answers.sqlite": 0o600, "answers.sqlite-wal": 0o600, "answers.sqlite-shm": 0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    store.close()


def test_a_file_without_content_becomes_a_store(tmp_path: Path):
    (tmp_path / "a.sqlite").touch()
    assert SqliteStore(filled(tmp_path / "a.sqlite")).get_many(KEYS[:1]) == dict(ENTRIES[:1])


def test_a_store_is_opened_again_with_all_it_had(tmp_path: Path):
    assert SqliteStore(filled(tmp_path / "a.sqlite")).get_many(KEYS) == dict(ENTRIES)


def test_a_store_from_before_there_was_evidence_gets_room_for_it_and_keeps_its_answers(tmp_path: Path):
    path = filled(tmp_path / "a.sqlite")
    other = sqlite3.connect(path)
    other.execute("ALTER TABLE answers DROP COLUMN evidence")
    other.close()
    store = SqliteStore(path)
    assert store.get_many(KEYS) == dict(ENTRIES)
    store.put_many([(b"sure", Stored("x", evidence="{}"))])
    assert store.get_many([b"sure"]) == {b"sure": Stored("x", evidence="{}")}
    store.close()
    assert aside(tmp_path) == []


@pytest.mark.parametrize("content", [b"label,text\n1,2\n", b"\0" * 5000, b"SQLite format 3\0", b"x"])
def test_a_file_of_another_kind_is_refused_and_untouched(tmp_path: Path, content: bytes):
    (tmp_path / "notes.txt").write_bytes(content)
    assert refused(tmp_path / "notes.txt").reason == "foreign"
    assert snapshot(tmp_path) == {"notes.txt": content}


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("application", [0, 0x1234])
def test_another_programs_database_is_refused_and_untouched(tmp_path: Path, journal: str, application: int):
    other = sqlite3.connect(tmp_path / "mail.db", isolation_level=None)
    other.execute(f"PRAGMA journal_mode = {journal}")
    other.execute(f"PRAGMA application_id = {application}")
    other.execute("CREATE TABLE mail (subject)")
    before = snapshot(tmp_path)  # with its journal: the other program is at work
    assert refused(tmp_path / "mail.db").reason == "foreign"
    assert snapshot(tmp_path) == before
    other.execute("INSERT INTO mail VALUES ('still works')")
    other.close()


def test_a_folder_is_refused(tmp_path: Path):
    assert refused(tmp_path).reason == "foreign"


def test_a_path_through_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    assert refused(tmp_path / "file" / "a.sqlite").reason == "io"


def test_a_store_of_a_newer_version_is_refused_and_untouched(tmp_path: Path):
    path = filled(tmp_path / "a.sqlite")
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.execute("DROP TABLE claims")  # whatever a newer one may look like
    other.close()
    before = snapshot(tmp_path)
    error = refused(path)
    assert error.reason == "newer"
    assert "upgrade" in str(error)
    assert snapshot(tmp_path) == before


def test_bytes_that_were_overwritten_set_the_store_aside_with_a_warning(tmp_path: Path):
    path = filled(tmp_path / "a.sqlite")
    store = SqliteStore(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(random.Random(1).randbytes(size // 2))
    with pytest.warns(LlmframeWarning, match=r"set aside as .*a\.sqlite\.damaged-"):
        found = store.get_many(KEYS)
    assert found == {}
    assert len(aside(tmp_path)) >= 1
    store.put_many(ENTRIES)
    assert store.get_many(KEYS) == dict(ENTRIES)
    store.close()


@pytest.mark.parametrize("left", [0.1, 0.5, 0.95])
def test_a_truncated_store_is_set_aside_and_kept(tmp_path: Path, left: float):
    path = filled(tmp_path / "a.sqlite")
    content = path.read_bytes()[: int(path.stat().st_size * left)]
    path.write_bytes(content)
    with pytest.warns(LlmframeWarning, match="set aside"):
        store = SqliteStore(path)
    store.put_many(ENTRIES)
    assert store.get_many(KEYS) == dict(ENTRIES)
    assert [(tmp_path / name).read_bytes() for name in aside(tmp_path)] == [content]
    store.close()


def test_a_store_whose_tables_were_dropped_is_set_aside(tmp_path: Path):
    path = filled(tmp_path / "a.sqlite")
    other = sqlite3.connect(path)
    other.execute("DROP TABLE answers")
    other.close()
    with pytest.warns(LlmframeWarning, match="set aside"):
        assert SqliteStore(path).get_many(KEYS) == {}


def test_in_the_default_place_even_what_looks_like_nothing_is_a_damaged_store():
    path = filled(default_path())
    path.write_bytes(b"\xff" * 9000)
    with pytest.warns(LlmframeWarning, match="set aside"):
        assert SqliteStore(path).get_many(KEYS) == {}
    assert len(aside(path.parent)) == 1


def test_a_write_back_that_was_interrupted_is_no_damage(tmp_path: Path):
    """The first page is written first, with a number of pages that the file doesn't have yet."""
    live = SqliteStore(tmp_path / "live.sqlite")
    live.put_many(ENTRIES)
    for suffix in ("", "-wal"):
        shutil.copy(tmp_path / f"live.sqlite{suffix}", tmp_path / f"copy.sqlite{suffix}")
    live.close()
    with (tmp_path / "live.sqlite").open("rb") as file:
        first = file.read(4096)
    with (tmp_path / "copy.sqlite").open("r+b") as file:
        file.write(first)
    assert SqliteStore(tmp_path / "copy.sqlite").get_many(KEYS) == dict(ENTRIES)
    assert aside(tmp_path) == []


def test_two_stores_on_one_damaged_file_set_one_aside(tmp_path: Path):
    path = filled(tmp_path / "a.sqlite")
    one, two = SqliteStore(path), SqliteStore(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(2).randbytes(size - 4096))
    with pytest.warns(LlmframeWarning, match="set aside"):
        one.put_many(ENTRIES[:10])
    two.put_many(ENTRIES[10:20])  # without another warning, which would be an error here
    assert one.get_many(KEYS) == two.get_many(KEYS) == dict(ENTRIES[:20])
    assert len([name for name in aside(tmp_path) if not name.endswith(("-wal", "-shm"))]) == 1
    one.close()
    two.close()


def test_a_network_drive_is_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = tmp_path / "mountinfo"
    table.write_text(f"40 22 0:41 / {tmp_path.resolve()} rw - nfs4 files:/home rw\n")
    monkeypatch.setattr(mounts, "_MOUNTINFO", table)
    error = refused(tmp_path / "a.sqlite")
    assert (error.reason, "nfs4" in str(error)) == ("network", True)
    assert not (tmp_path / "a.sqlite").exists()


@pytest.mark.parametrize("content", [True, False])
def test_a_file_locked_by_another_process_is_waited_for_and_then_refused(tmp_path: Path, content: bool):  # noqa: FBT001
    path = tmp_path / "a.sqlite"
    if content:
        filled(path)
        other = sqlite3.connect(path)
        other.execute("PRAGMA journal_mode = DELETE")
        other.close()
    else:
        path.touch()
    code = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('BEGIN EXCLUSIVE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        assert refused(path, waits=Waits(opening=0.05)).reason == "locked"
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(timeout=60)
    assert len(SqliteStore(path).get_many(KEYS)) == (400 if content else 0)


@posix
@pytest.mark.parametrize("case", ["folder", "file", "missing folder"])
def test_what_is_read_only_is_refused(case: str):
    """In a process without root's rights, for root may write anywhere."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cache"
        folder.mkdir()
        path = filled(folder / "a.sqlite")
        if case == "missing folder":
            path = folder / "more" / "a.sqlite"
        elif case == "file":
            folder.chmod(0o777)
            path.chmod(0o444)
        Path(name).chmod(0o755)
        if case != "file":
            (folder / "a.sqlite").chmod(0o666)
            folder.chmod(0o555)
        code = (
            "import os, sys\n"
            "from llmframe.errors import StoreError\n"
            "from llmframe.stores.sqlite import SqliteStore\n"
            "if os.geteuid() == 0:\n"
            "    os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
            "try:\n"
            "    SqliteStore(sys.argv[1])\n"
            "except StoreError as error:\n"
            "    print(error.reason)\n"
        )
        before = snapshot(folder)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.stderr) == ("readonly\n", "")
        assert snapshot(folder) == before
        folder.chmod(0o755)


def test_a_connection_to_a_file_that_was_replaced_meanwhile_is_refused(tmp_path: Path):
    prepare(tmp_path / "a.sqlite")
    (tmp_path / "a.sqlite").unlink()
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        connect(tmp_path / "a.sqlite", seconds=0)
    (tmp_path / "a.sqlite").touch()
    with pytest.raises(sqlite3.DatabaseError, match="replaced"):
        connect(tmp_path / "a.sqlite", seconds=0)


def test_a_link_leads_to_its_store(tmp_path: Path):
    filled(tmp_path / "real.sqlite")
    try:
        (tmp_path / "link.sqlite").symlink_to(tmp_path / "real.sqlite")
    except OSError:
        pytest.skip("this user may make no links")
    store = SqliteStore(tmp_path / "link.sqlite")
    assert store.path.name == "real.sqlite"
    assert len(store.get_many(KEYS)) == 400
    store.close()
