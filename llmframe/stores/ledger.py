"""The ledger in SQL tables, beside the answers."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from llmframe.core.outcome import Usage
from llmframe.errors import StoreError, UsageError
from llmframe.stores.base import MemoryStore, Store, Stored
from llmframe.stores.books import BesideStore, Books, MemoryBooks
from llmframe.stores.chunks import chunks
from llmframe.stores.connections import Connection
from llmframe.stores.jobs import Execution, JobRecord, Ledger, LineOutcome, LineRecord, LineState, Shard
from llmframe.stores.ledger_lines import (
    count_lines,
    find_open,
    find_taken,
    insert_lines,
    read_lines,
    read_outcomes,
    settle_lines,
    settle_span,
    sum_usage,
)
from llmframe.stores.ledger_tables import (
    JOB_COLUMNS,
    SHARD_COLUMNS,
    change_shard,
    check_changes,
    insert_job,
    insert_shard,
    job_record,
    last_shard,
    shard_record,
)
from llmframe.stores.unfinished import remove_job, unfinished_because
from llmframe.stores.workers import Worker

Result = TypeVar("Result")


def ledger_of(store: Store) -> Ledger | None:
    """A ledger for one call, kept where the store keeps its answers; `None` if that store has no place for one.

    Each object that this returns is a worker of its own: a call takes one, and leaves it at its end. Those of one store
    see the same jobs. A `MemoryStore`'s jobs end with it.
    """
    if isinstance(store, MemoryStore):
        books = _in_memory.setdefault(store, MemoryBooks())
        return SqlLedger(BesideStore(books, store))
    opener = getattr(store, "open_ledger", None)
    return None if opener is None else opener()


class SqlLedger:
    """Jobs, shards and lines in the tables of `books`, as one worker.

    Parameters
    ----------
    clock
        Seconds since 1970, to tell dead workers.
    """

    def __init__(self, books: Books, *, clock: Callable[[], float] = time.time) -> None:
        self._books = books
        self._worker = Worker(clock)
        self._leave = weakref.finalize(self, _leave, books, self._worker)

    def __repr__(self) -> str:
        return f"SqlLedger({self._books.name!r})"

    def open_job(self, job: JobRecord) -> None:
        """Write a new job, and that this one works on it."""
        self._work(lambda connection: insert_job(connection, job, self._worker.enter(connection)))

    def job(self, job_id: str) -> JobRecord | None:
        """A job by its id."""
        found = self._jobs("WHERE id = ?", (job_id,))
        return found[0] if found else None

    def jobs(self) -> list[JobRecord]:
        """All jobs, the latest first."""
        return self._jobs("ORDER BY created DESC, number DESC", ())

    def adopt_job(self, question: str) -> JobRecord | None:
        """The latest unfinished job of this question that no living one works on; it's this one's now."""

        def adopt(connection: Connection) -> JobRecord | None:
            select = (
                f"SELECT worker, {JOB_COLUMNS} FROM jobs"  # noqa: S608 - our own names
                " WHERE question = ? AND NOT finished ORDER BY created DESC, number DESC"
            )
            for worker, *row in connection.execute(select, (question,)).fetchall():
                if not self._worker.lives(connection, worker):
                    job = job_record(tuple(row))
                    self._hold(connection, job.id)
                    return job
            return None

        return self._work(adopt)

    def take_job(self, job_id: str) -> bool:
        """Make a job this one's, unless there is none or another living one works on it; returns whether it is."""

        def take(connection: Connection) -> bool:
            row = connection.execute("SELECT worker FROM jobs WHERE id = ?", (job_id,)).fetchone()
            if row is None or not self._worker.may_take(connection, row[0]):
                return False
            self._hold(connection, job_id)
            return True

        return self._work(take)

    def is_worked_on(self, job_id: str) -> bool:
        """Whether a living one works on the job, this one or another."""

        def look(connection: Connection) -> bool:
            row = connection.execute("SELECT worker FROM jobs WHERE id = ?", (job_id,)).fetchone()
            return row is not None and self._worker.lives(connection, row[0])

        return self._books.read(look, nothing=False)

    def beat(self) -> None:
        """Tell the others that this one lives, if it has work and hasn't told them within five seconds."""
        if self._worker.due:
            self._books.tend(self._worker.beat, patient=True)

    def leave(self) -> None:
        """Give up all work: others may go on with it at once."""
        if self._worker.known:
            self._books.tend(self._worker.leave, patient=True)

    def update_job(
        self,
        job_id: str,
        *,
        requests: int | None = None,
        rows: int | None = None,
        cancelled: bool | None = None,
        finished: bool | None = None,
    ) -> None:
        """Change what is said."""
        said = {"requests": requests, "rows": rows, "cancelled": cancelled, "finished": finished}
        changes = {name: int(value) for name, value in said.items() if value is not None}
        if not changes:
            return
        names = ", ".join(f"{name} = ?" for name in changes)
        statement = f"UPDATE jobs SET {names} WHERE id = ?"  # noqa: S608 - names from above

        def update(connection: Connection) -> None:
            if not connection.execute(statement, (*changes.values(), job_id)).rowcount:
                raise self._unknown("job", job_id)

        self._work(update)

    def mark(self) -> int:
        """How far planning has got, for `plan_shard`."""
        return self._books.read(last_shard, nothing=0)

    def plan_shard(self, shard: Shard, lines: Sequence[LineRecord], *, seen: int | None = None) -> set[bytes]:
        """Write the intent of a shard with its lines, as one; this one works on it.

        Parameters
        ----------
        seen
            A `mark`. Write it only when none of the fingerprints stands in another shard that may still come to
            something, or has got an answer from one that was planned after the mark.

        Returns
        -------
        set of bytes
            Those that do: where there are any, nothing was written.
        """

        def plan(connection: Connection) -> set[bytes]:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (shard.job,)).fetchone() is None:
                raise self._unknown("job", shard.job)
            elsewhere = set[bytes]() if seen is None else find_taken(connection, [each.key for each in lines], seen)
            if not elsewhere:
                number = insert_shard(connection, shard, self._worker.enter(connection))
                insert_lines(connection, number, shard.job, lines)
            return elsewhere

        return self._work(plan)

    def update_shard(self, intent: str, **changes: object) -> None:
        """Change fields of a shard, by the names of `Shard`; whoever works on it.

        Raises
        ------
        UsageError
            If there is no such field.
        StoreError
            If there is no such shard: the file was replaced.
        """
        check_changes(changes)

        def update(connection: Connection) -> None:
            if not change_shard(connection, intent, changes):
                raise self._unknown("batch", intent)

        self._work(update)

    def move_shard(self, intent: str, *, of: Iterable[Execution], to: Execution, **changes: object) -> bool:
        """Change a shard's execution if it is one `of` these and no other living one works on it.

        It is this one's then. Of several that try only one gets True. No batch of a cancelled job is made any more.
        """
        allowed = set(of)
        check_changes(changes)

        def move(connection: Connection) -> bool:
            row = connection.execute(_STANDING, (intent,)).fetchone()
            if row is None or row[0].decode() not in allowed or not self._worker.may_take(connection, row[1]):
                return False
            if to == "creating" and row[0] != b"creating" and row[2]:
                return False
            mine = self._worker.enter(connection)
            return change_shard(connection, intent, {**changes, "execution": to, "worker": mine})

        return self._work(move)

    def shards(self, *, job: str | None = None, intents: Iterable[str] | None = None) -> list[Shard]:
        """The shards of a job, or those named, or all, in the order in which they were planned."""
        named = None if intents is None else [each.encode() for each in intents]

        def look(connection: Connection) -> list[tuple[int, Shard]]:
            select = f"SELECT id, {SHARD_COLUMNS} FROM shards"  # noqa: S608 - our own names
            if job is not None:
                rows = connection.execute(f"{select} WHERE job = ?", (job,)).fetchall()
            elif named is not None:
                rows = [
                    row
                    for marks, lot in chunks(named)
                    for row in connection.execute(f"{select} WHERE CAST(intent AS BLOB) IN ({marks})", lot)
                ]
            else:
                rows = connection.execute(select).fetchall()
            return [(row[0], shard_record(row[1:])) for row in rows]

        found = dict(self._books.read(look, nothing=[]))
        return [found[number] for number in sorted(found)]

    def batch_ids(self, *, since: float) -> list[str]:
        """The batches of all shards planned since then."""
        select = "SELECT batch_id FROM shards WHERE planned >= ? AND batch_id IS NOT NULL ORDER BY id"
        return self._books.read(
            lambda connection: [batch.decode() for (batch,) in connection.execute(select, (since,))], nothing=[]
        )

    def is_ours(self, intent: str) -> bool:
        """Whether no other living one works on the shard."""

        def look(connection: Connection) -> bool:
            row = connection.execute("SELECT worker FROM shards WHERE intent = ?", (intent,)).fetchone()
            return row is not None and self._worker.may_take(connection, row[0])

        return self._books.read(look, nothing=False)

    def lines(self, intent: str) -> list[LineRecord]:
        """The lines of a shard, in their order."""

        def look(connection: Connection) -> list[LineRecord]:
            shard = _number(connection, intent)
            return [] if shard is None else read_lines(connection, shard)

        return self._books.read(look, nothing=[])

    def open_shards(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Of `keys` those that wait in a shard that may still come to something, with its intent."""
        return self._books.read(lambda connection: find_open(connection, keys), nothing={})

    def settle(
        self, intent: str, outcomes: Sequence[tuple[bytes, LineOutcome]], entries: Sequence[tuple[bytes, Stored]]
    ) -> None:
        """Keep answers in the store and what became of their lines, as one. A line that is settled stays as it is."""

        def write(connection: Connection) -> None:
            shard = _number(connection, intent)
            if shard is not None:
                settle_lines(connection, shard, outcomes)

        self._books.settle(entries, write)

    def settle_rest(self, intent: str, outcome: LineOutcome) -> int:
        """Settle all open lines of a shard in the same way; returns how many."""

        def write(connection: Connection) -> int:
            shard = _number(connection, intent)
            return 0 if shard is None else settle_span(connection, shard, outcome)

        return self._work(write)

    def outcomes(self, job: str, keys: Sequence[bytes]) -> dict[bytes, LineOutcome]:
        """What became of requests in a job, by its latest settled line; those without one are left out."""
        return self._books.read(lambda connection: read_outcomes(connection, job, keys), nothing={})

    def counts(self, job: str) -> dict[LineState, int]:
        """Requests of a job by what became of their latest line; states that none is in are left out."""
        return self._books.read(lambda connection: count_lines(connection, job), nothing={})

    def usage(self, job: str) -> Usage:
        """The tokens that a job's settled lines took, as far as they are known."""
        return self._books.read(lambda connection: sum_usage(connection, job), nothing=Usage(0, 0, 0))

    def forget(self, job_id: str) -> None:
        """Remove a finished job with its shards and lines; answers stay.

        Raises
        ------
        UsageError
            If the job isn't finished, or the provider may still have results of it.
        """
        reason = self._books.read(lambda connection: unfinished_because(connection, job_id), nothing=None)
        if reason is not None:
            raise UsageError(f"job {job_id!r} can't be forgotten: {reason}; collect or cancel it first")
        remove_job(self._books.record, job_id)

    def _jobs(self, rest: str, parameters: tuple[str, ...]) -> list[JobRecord]:
        statement = f"SELECT {JOB_COLUMNS} FROM jobs {rest}"  # noqa: S608 - our own names
        return self._books.read(
            lambda connection: [job_record(row) for row in connection.execute(statement, parameters)], nothing=[]
        )

    def _hold(self, connection: Connection, job_id: str) -> None:
        connection.execute("UPDATE jobs SET worker = ? WHERE id = ?", (self._worker.enter(connection), job_id))

    def _work(self, work: Callable[[Connection], Result]) -> Result:
        done = False
        try:
            result = self._books.record(work)
            done = True
        finally:
            if not done:
                self._worker.undone()
        return result

    def _unknown(self, what: str, name: str) -> StoreError:
        text = f"the store {self._books.name!r} doesn't know the {what} {name!r} any more: it was replaced or cleared"
        return StoreError(text, reason="io")


def _number(connection: Connection, intent: str) -> int | None:
    """The number of a shard in this file."""
    row = connection.execute("SELECT id FROM shards WHERE intent = ?", (intent,)).fetchone()
    return None if row is None else row[0]


def _leave(books: Books, worker: Worker) -> None:
    if worker.known:
        with contextlib.suppress(StoreError):
            books.tend(worker.leave, patient=False)


_STANDING: Final = (
    "SELECT s.execution, s.worker, j.cancelled FROM shards AS s LEFT JOIN jobs AS j ON j.id = s.job WHERE s.intent = ?"
)

_in_memory: Final[weakref.WeakKeyDictionary[Store, MemoryBooks]] = weakref.WeakKeyDictionary()
