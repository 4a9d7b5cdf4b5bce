"""The ledger's tables: jobs, shards, lines, workers; in a store's file, or in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from llmframe.errors import UsageError, did_you_mean
from llmframe.stores.connections import Connection
from llmframe.stores.jobs import JobRecord, Shard

SHARD_BITS: Final = 24
"""A line's number is its shard's, shifted by so many bits, and its rank by key in it."""

TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS jobs (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created REAL NOT NULL, provider TEXT NOT NULL,
        identity TEXT NOT NULL, model TEXT NOT NULL, question TEXT NOT NULL, kind TEXT NOT NULL,
        requests INTEGER NOT NULL, rows INTEGER, cancelled INTEGER NOT NULL, finished INTEGER NOT NULL, worker INTEGER
    )""",
    """CREATE TABLE IF NOT EXISTS shards (
        id INTEGER PRIMARY KEY, intent TEXT NOT NULL UNIQUE, job TEXT NOT NULL, number INTEGER NOT NULL,
        execution TEXT NOT NULL, collection TEXT NOT NULL, mode TEXT NOT NULL, max_tokens_name TEXT NOT NULL,
        tool TEXT, lines INTEGER NOT NULL, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL, file_id TEXT,
        batch_id TEXT, status TEXT, attempts INTEGER NOT NULL, planned REAL NOT NULL, created REAL, polled REAL,
        total INTEGER, done INTEGER, failed INTEGER, detail TEXT, worker INTEGER
    )""",
    "CREATE INDEX IF NOT EXISTS shards_by_job ON shards (job)",
    # A key is kept once, cut in two: an index over its first eight bytes as a number is a third of one over the whole.
    # What is asked about every line comes first, and zeros and ones take no room.
    """CREATE TABLE IF NOT EXISTS lines (
        id INTEGER PRIMARY KEY, state INTEGER NOT NULL, later INTEGER NOT NULL, head INTEGER NOT NULL,
        rest BLOB NOT NULL, line INTEGER NOT NULL, place INTEGER NOT NULL, digest BLOB,
        input INTEGER, output INTEGER, cached INTEGER, kind TEXT, detail TEXT
    )""",
    "CREATE INDEX IF NOT EXISTS lines_by_key ON lines (head)",
    """CREATE TABLE IF NOT EXISTS workers (
        id INTEGER PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT, beat INTEGER NOT NULL
    )""",
)
"""An older llmframe, which knows none of them, leaves them alone. Digests, names and counts; never a prompt. Times are
seconds since 1970, signs of life milliseconds."""

_JOB_FIELDS: Final = tuple(field.name for field in fields(JobRecord))
_SHARD_FIELDS: Final = tuple(field.name for field in fields(Shard))
_FIXED: Final = ("intent", "job", "number")

JOB_COLUMNS: Final = ", ".join(_JOB_FIELDS)
SHARD_COLUMNS: Final = ", ".join(_SHARD_FIELDS)


def make(connection: Connection) -> None:
    """Make the tables that are missing, within a transaction."""
    if not is_laid_out(connection):
        for statement in TABLES:
            connection.execute(statement)


def is_laid_out(connection: Connection) -> bool:
    """Whether the tables are there; they are made together."""
    found = connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'workers'")
    return bool(found.fetchone()[0])


def job_record(row: tuple[Any, ...]) -> JobRecord:
    """The record of a row of `JOB_COLUMNS`."""
    values: dict[str, Any] = dict(zip(_JOB_FIELDS, map(text, row), strict=True))
    values |= {name: bool(values[name]) for name in ("cancelled", "finished")}
    return JobRecord(**values)


def shard_record(row: tuple[Any, ...]) -> Shard:
    """The record of a row of `SHARD_COLUMNS`."""
    values: dict[str, Any] = dict(zip(_SHARD_FIELDS, map(text, row), strict=True))
    return Shard(**values)


def insert_job(connection: Connection, job: JobRecord, worker: int) -> None:
    """Write a new job."""
    _insert(connection, "jobs", job, _JOB_FIELDS, worker)


def insert_shard(connection: Connection, shard: Shard, worker: int) -> int:
    """Write a new shard; returns its number in this file."""
    return _insert(connection, "shards", shard, _SHARD_FIELDS, worker)


def last_shard(connection: Connection) -> int:
    """The number of the shard that was written last; 0 without any."""
    return connection.execute("SELECT coalesce(max(id), 0) FROM shards").fetchone()[0]


def change_shard(connection: Connection, intent: str, changes: Mapping[str, object]) -> bool:
    """Change checked fields of a shard; returns whether there is such a shard."""
    names = ", ".join(f"{name} = ?" for name in changes) or "intent = intent"
    statement = f"UPDATE shards SET {names} WHERE intent = ?"  # noqa: S608 - names of `Shard`
    return connection.execute(statement, (*map(well_formed, changes.values()), intent)).rowcount > 0


def check_changes(changes: Mapping[str, object]) -> None:
    """See to it that only fields of a shard are changed which may change.

    Raises
    ------
    UsageError
        If there is no such field, or it's what the shard is known by.
    """
    for name in changes:
        if name in _FIXED:
            raise UsageError(f"a shard's {name!r} is what it's known by, and can't be changed")
        if name not in _SHARD_FIELDS:
            raise UsageError(
                f"a shard has no field {name!r}{did_you_mean(name, _SHARD_FIELDS)}; fields: {SHARD_COLUMNS}"
            )


def text(value: Any) -> Any:
    """A value as it was written: connections of a store hand texts out as bytes."""
    return value.decode() if isinstance(value, bytes) else value


def well_formed(value: Any) -> Any:
    """A value as it can be written: providers' words may hold half a character."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _insert(connection: Connection, table: str, record: object, names: tuple[str, ...], worker: int) -> int:
    marks = ", ".join("?" * (len(names) + 1))
    statement = f"INSERT INTO {table} ({', '.join(names)}, worker) VALUES ({marks})"  # noqa: S608 - our own names
    inserted = connection.execute(
        statement, (*(well_formed(getattr(record, name)) for name in names), worker)
    ).lastrowid
    assert inserted is not None  # noqa: S101 - a row was inserted, or it raised
    return inserted
