"""Where a ledger is kept."""

from __future__ import annotations

import dataclasses
import gc
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from llmframe.stores.answers import look_up
from llmframe.stores.base import MemoryStore, Stored
from llmframe.stores.books import BesideStore, FileBooks, MemoryBooks
from llmframe.stores.connections import Connections, Waits
from llmframe.stores.jobs import JobRecord
from llmframe.stores.ledger import SqlLedger, ledger_of

JOB = JobRecord(id="job-a", created=1.0, provider="openai", identity="", model="m", question="q")


@pytest.fixture
def connections(tmp_path: Path):
    connections = Connections(tmp_path / "a.sqlite", waits=Waits(record=0.05, tend=0.05, claim=0.05))
    yield connections
    connections.close()


def test_what_is_recorded_is_on_the_disk_when_that_returns(connections):
    def settings(connection: sqlite3.Connection) -> tuple[int, ...]:
        pragmas = ("synchronous", "fullfsync")
        return tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)

    books = FileBooks(connections)
    found: list[tuple[int, ...]] = []
    assert books.record(settings) == (2, 1)  # FULL
    books.settle([], lambda connection: found.append(settings(connection)))
    assert found == [(1, 0)]  # NORMAL: what a power cut takes is downloaded again
    assert connections.run("write", settings) == (1, 0)


def test_nothing_is_read_and_no_table_made_before_the_first_record(connections):
    books = FileBooks(connections)
    assert books.read(lambda _: 1, nothing=0) == 0
    books.record(lambda _: None)
    assert books.read(lambda _: 1, nothing=0) == 1
    books.record(lambda _: None)


def test_of_two_that_record_the_first_job_at_once_both_find_the_tables_and_both_jobs(connections):
    other = Connections(connections.path)
    told: list[str] = []

    def overtake(statement: str) -> None:
        told.append(statement)
        if statement == "BEGIN IMMEDIATE" and told.count(statement) == 1:
            SqlLedger(FileBooks(other)).open_job(dataclasses.replace(JOB, id="job-b"))

    connections.run("record", lambda connection: connection.set_trace_callback(overtake))
    SqlLedger(FileBooks(connections)).open_job(JOB)
    connections.run("record", lambda connection: connection.set_trace_callback(None))
    assert {job.id for job in SqlLedger(FileBooks(other)).jobs()} == {"job-a", "job-b"}
    assert not [each for each in told if each.startswith("CREATE")]
    other.close()


def test_answers_are_not_kept_without_what_became_of_their_lines(connections):
    def fail(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        FileBooks(connections).settle([(b"k" * 32, Stored("x"))], fail)
    assert connections.run("read", lambda connection: look_up(connection, [b"k" * 32])) == {}


def test_what_fails_in_memory_leaves_everything_as_it_was():
    books = MemoryBooks()
    ledger = SqlLedger(BesideStore(books, MemoryStore()))
    ledger.open_job(JOB)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM jobs")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        books.record(fail)
    assert ledger.jobs() == [JOB]


def test_threads_take_turns_in_memory():
    books = MemoryBooks()
    ledger = SqlLedger(BesideStore(books, MemoryStore()))
    ids = [f"job-{i}" for i in range(80)]

    def write(names: list[str]) -> None:
        for name in names:
            ledger.open_job(JobRecord(id=name, created=1.0, provider="x", identity="", model="m", question="q"))

    threads = [threading.Thread(target=write, args=(ids[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job.id for job in ledger.jobs()) == sorted(ids)


def test_a_worker_that_is_collected_within_a_transaction_does_not_stop_it():
    store = MemoryStore()
    ledger = ledger_of(store)
    gone = [ledger_of(store)]
    assert ledger is not None
    assert gone[0] is not None
    gone[0].open_job(JOB)
    books = ledger._books  # type: ignore[attr-defined]

    def drop(_: sqlite3.Connection) -> None:
        gone.clear()
        gc.collect()

    books.record(drop)
    assert ledger.is_worked_on("job-a")  # it couldn't say so: its process is there, so ten minutes tell it


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # from 3.12 on: of any fork beside a thread
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_childs_jobs_in_memory_are_its_own():
    store = MemoryStore()
    ledger = ledger_of(store)
    assert ledger is not None
    ledger.open_job(JOB)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            before = len(ledger.jobs())
            ledger.open_job(JOB)
            ledger.settle("none", [], [(b"k" * 32, Stored("x"))])
            os.write(write, repr((before, len(ledger.jobs()))).encode())
        finally:
            os._exit(0)
    os.close(write)
    told = os.read(read, 100)
    os.close(read)
    os.waitpid(child, 0)
    assert told == b"(0, 1)"
    assert ledger.jobs() == [JOB]
    assert ledger.is_worked_on("job-a")
