"""Which jobs may still come to something, and removing those that don't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from llmframe.stores.connections import Connection
from llmframe.stores.ledger_lines import delete_lines

Result = TypeVar("Result")
Record = Callable[[Callable[[Connection], list[int]]], list[int]]
"""Does something as one transaction."""

_HELD: Final = "execution IN ('creating', 'running', 'ended') AND collection IN ('none', 'partial')"
"""Shards that may have been paid for, and whose results may still be had."""

_COUNT_HELD: Final = f"SELECT count(*) FROM shards WHERE job = ? AND {_HELD}"  # noqa: S608 - from above
_OPEN: Final = f"(NOT finished OR id IN (SELECT job FROM shards WHERE {_HELD}))"  # noqa: S608 - from above
_COUNT_OPEN: Final = f"SELECT count(*) FROM jobs WHERE {_OPEN}"  # noqa: S608 - from above
_DONE_WITH: Final = f"SELECT id FROM jobs WHERE NOT {_OPEN} AND created < ? ORDER BY created, number"  # noqa: S608


def open_jobs(connection: Connection) -> int:
    """How many jobs may still come to something."""
    return int(connection.execute(_COUNT_OPEN).fetchone()[0])


def finished_jobs(connection: Connection, *, before: float) -> list[str]:
    """The jobs that are done with and were begun before a time (seconds since 1970), the oldest first."""
    rows = connection.execute(_DONE_WITH, (before,))
    return [job.decode() for (job,) in rows.fetchall()]


def unfinished_because(connection: Connection, job_id: str) -> str | None:
    """Why a job mustn't be removed; `None` if it may be, or isn't there."""
    row = connection.execute("SELECT finished FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None:
        return None
    if not row[0]:
        return "it isn't finished"
    held = connection.execute(_COUNT_HELD, (job_id,)).fetchone()[0]
    return f"{held} of its batches may still bring results" if held else None


def remove_job(record: Record, job_id: str) -> None:
    """Remove a job, one shard after the other, so that others get their turn; unless it's open by now."""

    def look(connection: Connection) -> list[int]:
        if unfinished_because(connection, job_id) is not None:
            return []
        rows = connection.execute("SELECT id FROM shards WHERE job = ?", (job_id,)).fetchall()
        if not rows:
            connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
        return [number for (number,) in rows]

    def remove(connection: Connection, shard: int) -> list[int]:
        delete_lines(connection, shard)
        connection.execute("DELETE FROM shards WHERE id = ?", (shard,))
        return []

    while shards := record(look):
        for shard in shards:
            record(lambda connection, shard=shard: remove(connection, shard))
