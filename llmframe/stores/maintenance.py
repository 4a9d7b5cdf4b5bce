"""What a store holds in sum, and taking answers and finished jobs out of it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from llmframe.stores.answers import COLUMNS, stored
from llmframe.stores.base import Stored
from llmframe.stores.claims import lives
from llmframe.stores.connections import Connection, Connections
from llmframe.stores.layout import number
from llmframe.stores.ledger_tables import is_laid_out
from llmframe.stores.unfinished import finished_jobs, open_jobs, remove_job

ROWS_AT_ONCE: Final = 2000
"""Answers that one transaction removes or reads, so that others get their turn."""

_PAGES_AT_ONCE: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCount:
    """Answers of one model, with the tokens that they took; tokens that a provider didn't tell count as none."""

    entries: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """What a store holds.

    Parameters
    ----------
    entries
        Number of answers.
    bytes
        Size of the file and of its journal.
    oldest, newest
        When the first and the last answer were kept, in seconds since 1970; `None` when there is none.
    models
        Counts by the model's name, `None` where the provider didn't tell it; most answers first.
    claims
        Requests that living processes are asking at the moment.
    jobs
        Batch jobs that may still come to something; their track is kept whatever is removed.
    """

    path: Path
    entries: int
    bytes: int
    oldest: float | None
    newest: float | None
    models: dict[str | None, ModelCount]
    claims: int
    jobs: int = 0


def survey(connection: Connection, path: Path, now: float) -> StoreInfo:
    """Count what is there; `now` in seconds since 1970."""
    models = {
        None if model is None else model.decode(): ModelCount(
            entries=entries, input_tokens=input_, output_tokens=output, cached_tokens=cached
        )
        for model, entries, input_, output, cached in connection.execute(
            "SELECT model, count(*), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cached), 0)"
            " FROM answers GROUP BY model ORDER BY count(*) DESC, model"
        )
    }
    oldest, newest = connection.execute("SELECT min(created), max(created) FROM answers").fetchone()
    claims = connection.execute("SELECT owner, count(*) FROM claims GROUP BY owner").fetchall()
    return StoreInfo(
        path=path,
        entries=sum(count.entries for count in models.values()),
        bytes=size_on_disk(path),
        oldest=None if oldest is None else oldest / 1000,
        newest=None if newest is None else newest / 1000,
        models=models,
        claims=sum(count for owner, count in claims if lives(connection, owner, now)),
        jobs=open_jobs(connection) if is_laid_out(connection) else 0,
    )


def size_on_disk(path: Path) -> int:
    """Bytes of the file and of its journal."""
    total = 0
    for name in (path, path.with_name(path.name + "-wal")):
        try:
            total += name.stat().st_size
        except FileNotFoundError:
            continue
    return total


def export(connections: Connections) -> Iterator[tuple[bytes, Stored]]:
    """All answers in the order in which they were first kept, some at a time: no reader holds up the others."""
    last = -1
    select = f"SELECT id, {COLUMNS} FROM answers WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608 - nothing of anybody's

    def read(connection: Connection) -> list[tuple[int, bytes, Stored | None]]:
        rows = connection.execute(select, (last, ROWS_AT_ONCE // 4))
        return [(row[0], row[1], stored(connection, row[1:])) for row in rows]

    while lot := connections.run("read", read):
        for last, key, entry in lot:  # noqa: B007 - `read` goes on from there
            if entry is not None:
                yield key, entry


def prune_older(connections: Connections, before: float) -> int:
    """Remove what was kept earlier than `before` (seconds since 1970); returns how many answers.

    Finished jobs that were begun earlier go with it.
    """
    forget_finished(connections, before=before)
    removed, last = 0, connections.run("read", _last_id)
    for start in range(0, last + 1, ROWS_AT_ONCE):
        parameters = (start, start + ROWS_AT_ONCE, math.floor(before * 1000))
        removed += _delete(connections, "id >= ? AND id < ? AND created < ?", parameters)
    return removed


def prune_larger(connections: Connections, max_bytes: int) -> int:
    """Remove the oldest answers until the file is no larger than `max_bytes`; returns how many.

    Finished jobs go first, the oldest of them first: what is known of them costs nothing to lose.
    """
    removed = 0
    while True:
        shrink(connections)
        size, entries = connections.run("tend", _size)
        if size <= max_bytes:
            return removed
        if forget_finished(connections, most=1):
            continue
        if not entries:
            return removed
        # By the average size, and a little more when that was too few: the pages of an index empty slowly.
        wanted = min(entries, max(math.ceil(entries * (size - max_bytes) / size), entries // 200, 1))
        ids = connections.run("tend", lambda connection, wanted=wanted: _oldest(connection, wanted))
        for start in range(0, len(ids), ROWS_AT_ONCE):
            lot = ids[start : start + ROWS_AT_ONCE]
            removed += connections.transact("tend", lambda connection, lot=lot: _delete_ids(connection, lot))


def clear(connections: Connections) -> int:
    """Remove all answers and all finished jobs; returns how many answers."""
    forget_finished(connections)
    removed = _delete(connections, "1", ())
    shrink(connections)
    return removed


def forget_finished(connections: Connections, *, before: float = math.inf, most: int | None = None) -> int:
    """Remove jobs that are done with, the oldest first; returns how many.

    Parameters
    ----------
    before
        When they must have begun, in seconds since 1970.
    most
        How many at most; `None` for all.
    """

    def look(connection: Connection) -> list[str]:
        return finished_jobs(connection, before=before)[:most] if is_laid_out(connection) else []

    jobs = connections.run("tend", look)
    for job in jobs:
        remove_job(lambda work: connections.transact("tend", work), job)
    return len(jobs)


def shrink(connections: Connections) -> None:
    """Give the room of what was removed back to the system, as far as readers let it."""
    while connections.transact("tend", _vacuum_some):
        pass
    # A reader that still sees the old state keeps the journal: then the file shrinks with a later commit.
    connections.run("tend", lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


def _delete(connections: Connections, condition: str, parameters: tuple[int, ...]) -> int:
    statement = f"DELETE FROM answers WHERE {condition}"  # noqa: S608 - written in this module
    return connections.transact("tend", lambda connection: connection.execute(statement, parameters).rowcount)


def _delete_ids(connection: Connection, ids: list[tuple[int]]) -> int:
    return connection.executemany("DELETE FROM answers WHERE id = ?", ids).rowcount


def _vacuum_some(connection: Connection) -> bool:
    connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()  # a step for each page
    return number(connection, "PRAGMA freelist_count") > 0


def _size(connection: sqlite3.Connection) -> tuple[int, int]:
    """Bytes of the file when all is written back, and the number of answers."""
    pages = number(connection, "PRAGMA page_count") * number(connection, "PRAGMA page_size")
    return pages, number(connection, "SELECT count(*) FROM answers")


def _oldest(connection: Connection, count: int) -> list[tuple[int]]:
    return connection.execute("SELECT id FROM answers ORDER BY created, id LIMIT ?", (count,)).fetchall()


def _last_id(connection: Connection) -> int:
    return number(connection, "SELECT coalesce(max(id), -1) FROM answers")
