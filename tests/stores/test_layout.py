"""The tables of a store's file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from llmframe.stores.layout import APPLICATION_ID, check, complete, lay_out, number
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


def earlier(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A store that was laid out before answers had evidence."""
    lay_out(connection)
    connection.execute("ALTER TABLE answers DROP COLUMN evidence")
    return connection


def columns(connection: sqlite3.Connection) -> list[str]:
    return [name for _, name, *_ in connection.execute("PRAGMA table_info(answers)")]


def test_an_earlier_file_has_the_columns_of_a_new_one_once_it_is_completed(tmp_path: Path, connection):
    lay_out(new := connection(tmp_path / "new"))
    old = earlier(connection(tmp_path / "old"))
    assert columns(old) == columns(new)[:-1]
    complete(old)
    assert columns(old) == columns(new)
    written = number(old, "PRAGMA schema_version")
    complete(old)
    assert number(old, "PRAGMA schema_version") == written


def test_of_two_that_complete_a_file_at_once_one_does_it(tmp_path: Path, connection):
    earlier(connection(tmp_path / "a")).close()
    first, second = connection(tmp_path / "a"), connection(tmp_path / "a")
    told: list[str] = []

    def overtake(statement: str) -> None:
        told.append(statement)
        if statement == "BEGIN IMMEDIATE":
            complete(second)

    first.set_trace_callback(overtake)
    complete(first)
    first.set_trace_callback(None)
    assert columns(first)[-1] == "evidence"
    assert not [each for each in told if each.startswith("ALTER")]


def test_what_an_earlier_version_writes_meanwhile_is_there(tmp_path: Path, connection):
    earlier(connection(tmp_path / "a")).close()
    old, new = connection(tmp_path / "a"), connection(tmp_path / "a")
    put = "INSERT INTO answers (key, created, checksum, text) VALUES (?, 1, 2, 'x')"
    old.execute(put, (b"before",))
    complete(new)
    old.execute(put, (b"after",))
    assert new.execute("SELECT key, evidence FROM answers").fetchall() == [(b"before", None), (b"after", None)]


def test_replies_and_counts_are_kept_and_no_prompt(tmp_path: Path, connection):
    """The tables are read by older and newer versions: a change here raises USER_VERSION.

    A column at the end that may be null doesn't, for older versions read and write the others.
    """
    lay_out(first := connection(tmp_path / "a"))
    found = {
        table: [name for _, name, *_ in first.execute(f"PRAGMA table_info({table})")]
        for table in ("questions", "answers", "owners", "claims")
    }
    assert found == {
        "questions": ["id", "model", "params", "schema"],
        "answers": "id key prompt question created input output cached model finish checksum text evidence".split(),
        "owners": ["id", "place", "pid", "started", "beat"],
        "claims": ["key", "owner"],
    }
