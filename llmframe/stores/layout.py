"""The tables of a store's file, and the marks by which it's known as one."""

from __future__ import annotations

import sqlite3
from typing import Final

from llmframe.stores.trouble import DamageError

APPLICATION_ID: Final = 0x4C4C4D46
"""`LLMF` in ASCII, at byte 68 of the file: it's ours."""

USER_VERSION: Final = 1
"""At byte 60 of the file; raised when an older llmframe couldn't read what is written."""

TABLES: Final = (
    # Rowid tables: WITHOUT ROWID was 4 times larger and 5 times slower with replies of 1 kB.
    """CREATE TABLE questions (
        id INTEGER PRIMARY KEY, model TEXT NOT NULL, params TEXT NOT NULL, schema TEXT NOT NULL,
        UNIQUE (model, params, schema)
    )""",
    # The text comes last: what is asked about many rows (age, tokens) is read without it.
    """CREATE TABLE answers (
        id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, prompt INTEGER, question INTEGER, created INTEGER NOT NULL,
        input INTEGER, output INTEGER, cached INTEGER, model TEXT, finish TEXT,
        checksum INTEGER NOT NULL, text TEXT NOT NULL, evidence TEXT
    )""",
    "CREATE INDEX answers_by_prompt ON answers (prompt, question) WHERE prompt IS NOT NULL",
    """CREATE TABLE owners (
        id INTEGER PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT, beat INTEGER NOT NULL
    )""",
    "CREATE TABLE claims (key BLOB NOT NULL UNIQUE, owner INTEGER NOT NULL)",
)
"""Digests, replies and counts; never a prompt. Times are milliseconds since 1970."""

_ADD_EVIDENCE: Final = "ALTER TABLE answers ADD COLUMN evidence TEXT"
_COUNT_EVIDENCE: Final = "SELECT count(*) FROM pragma_table_info('answers') WHERE name = 'evidence'"

_NAMES: Final = ("questions", "answers", "owners", "claims")
_COUNT_TABLES: Final = f"SELECT count(*) FROM sqlite_schema WHERE name IN {_NAMES}"  # noqa: S608 - names from above


def lay_out(connection: sqlite3.Connection) -> str:
    """Make the tables in a file without content, and have it keep its journal as WAL.

    Everything happens under one lock that is held until the connection is closed: of two processes that begin the same
    file one waits for the other. The marks are written before the journal's mode changes, so they stand in the file
    itself from the first commit on.

    Returns
    -------
    str
        The mode of the journal, `"wal"` unless the file system can't have it; empty when the file holds tables of
        another program, and nothing was changed.
    """
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts before the first table only
    connection.execute("BEGIN EXCLUSIVE")
    # Not before: it would keep the shared lock under which that pragma reads, and two of those wait for each other.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    if number(connection, "PRAGMA application_id") != APPLICATION_ID:
        if number(connection, "SELECT count(*) FROM sqlite_schema"):
            connection.execute("ROLLBACK")
            return ""
        for statement in TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {USER_VERSION}")
    connection.execute("COMMIT")
    if number(connection, "PRAGMA auto_vacuum") == 0:  # the file had pages already, though no tables
        connection.execute("VACUUM")
    return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])


def complete(connection: sqlite3.Connection) -> None:
    """Add the column that a file lacks which was laid out before answers had evidence.

    An older llmframe, which names the columns that it knows, goes on reading and writing such a file.
    """
    if number(connection, _COUNT_EVIDENCE):
        return
    connection.execute("BEGIN IMMEDIATE")
    if not number(connection, _COUNT_EVIDENCE):  # unless another process was first
        connection.execute(_ADD_EVIDENCE)
    connection.execute("COMMIT")


def check(connection: sqlite3.Connection) -> int:
    """The version of a file's tables, 0 when it isn't laid out.

    Raises
    ------
    DamageError
        If it says that it's a store, but its tables aren't there.
    """
    if number(connection, "PRAGMA application_id") != APPLICATION_ID:
        return 0
    version = number(connection, "PRAGMA user_version")
    if version <= USER_VERSION and number(connection, _COUNT_TABLES) < len(_NAMES):
        raise DamageError("tables are missing")
    return version


def number(connection: sqlite3.Connection, statement: str) -> int:
    """The one number that a statement answers."""
    return int(connection.execute(statement).fetchone()[0])
