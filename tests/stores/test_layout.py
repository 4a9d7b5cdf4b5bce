"""The tables of a store's file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from llmframe.stores.layout import APPLICATION_ID, check, lay_out, number
from llmframe.stores.trouble import DamageError


@pytest.fixture
def connection():
    opened: list[sqlite3.Connection] = []

    def connect(path: Path | str) -> sqlite3.Connection:
        opened.append(sqlite3.connect(path, isolation_level=None, timeout=0))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def test_a_file_says_in_its_first_bytes_that_it_is_a_store(tmp_path: Path, connection):
    """Changing these bytes makes every store there is a stranger's."""
    assert lay_out(connection(tmp_path / "a")) == "wal"
    header = (tmp_path / "a").read_bytes()[:100]
    assert header[68:72] == b"LLMF"
    assert header[60:64] == b"\0\0\0\1"
    assert header[18:20] == b"\2\2"  # WAL, for reading and for writing


def test_what_is_removed_can_be_given_back(tmp_path: Path, connection):
    lay_out(first := connection(tmp_path / "a"))
    assert number(first, "PRAGMA auto_vacuum") == 2  # incremental


def test_pages_without_tables_become_a_store(tmp_path: Path, connection):
    first = connection(tmp_path / "a")
    first.execute("CREATE TABLE t (x)")
    first.execute("DROP TABLE t")
    first.close()
    assert lay_out(second := connection(tmp_path / "a")) == "wal"
    assert number(second, "PRAGMA auto_vacuum") == 2


def test_others_tables_are_left_as_they_are(tmp_path: Path, connection):
    first = connection(tmp_path / "a")
    first.execute("CREATE TABLE t (x)")
    first.close()
    before = (tmp_path / "a").read_bytes()
    second = connection(tmp_path / "a")
    assert lay_out(second) == ""
    second.close()
    assert (tmp_path / "a").read_bytes() == before


def test_a_second_process_waits_until_the_first_is_done(tmp_path: Path, connection):
    first, second = connection(tmp_path / "a"), connection(tmp_path / "a")
    lay_out(first)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        lay_out(second)
    first.close()
    assert lay_out(second) == "wal"


def test_of_two_that_begin_it_at_once_neither_waits_for_ever(tmp_path: Path, connection):
    first, second = connection(tmp_path / "a"), connection(tmp_path / "a")
    modes: list[str] = []

    def overtake(statement: str) -> None:
        if statement == "BEGIN EXCLUSIVE" and not modes:
            modes.append("")
            modes.append(lay_out(second))
            second.close()

    first.set_trace_callback(overtake)
    assert lay_out(first) == "wal"
    assert modes == ["", "wal"]


def test_a_begun_store_that_was_interrupted_is_finished(tmp_path: Path, connection):
    first = connection(tmp_path / "a")
    lay_out(first)
    first.execute("PRAGMA journal_mode = DELETE")
    first.close()
    assert lay_out(connection(tmp_path / "a")) == "wal"


def test_where_there_is_no_shared_memory_the_journals_mode_says_so(connection):
    assert lay_out(connection(":memory:")) == "memory"


def test_a_store_without_its_tables_is_damaged(tmp_path: Path, connection):
    first = connection(tmp_path / "a")
    assert check(first) == 0
    lay_out(first)
    assert check(first) == 1
    first.execute("DROP TABLE claims")
    with pytest.raises(DamageError):
        check(first)
    first.execute("PRAGMA user_version = 2")  # a newer version may have other tables
    assert check(first) == 2
    assert number(first, "PRAGMA application_id") == APPLICATION_ID


def test_replies_and_counts_are_kept_and_no_prompt(tmp_path: Path, connection):
    """The tables are read by older and newer versions: a change here raises USER_VERSION."""
    lay_out(first := connection(tmp_path / "a"))
    columns = {
        table: [name for _, name, *_ in first.execute(f"PRAGMA table_info({table})")]
        for table in ("questions", "answers", "owners", "claims")
    }
    assert columns == {
        "questions": ["id", "model", "params", "schema"],
        "answers": "id key prompt question created input output cached model finish checksum text".split(),
        "owners": ["id", "place", "pid", "started", "beat"],
        "claims": ["key", "owner"],
    }
