"""Who works on a job, told by process and signs of life."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from llmframe.stores.jobs import JobRecord, LineRecord, Shard
from llmframe.stores.ledger import SqlLedger
from llmframe.stores.sqlite import SqliteStore

JOB = JobRecord(id="job-a", created=1.0, provider="openai", identity="", model="m", question="q")
SHARD = Shard(intent="i", job="job-a", number=0, execution="uploaded")
LINE = LineRecord(0, 0, b"k" * 32)

CHILD = """
import sys
from llmframe.stores.sqlite import SqliteStore
from llmframe.stores.jobs import JobRecord

ledger = SqliteStore(sys.argv[1], clock=lambda: 1e6).open_ledger()
ledger.open_job(JobRecord(id="job-a", created=1.0, provider="openai", identity="", model="m", question="q"))
print("ready", flush=True)
sys.stdin.read()
"""

RACER = """
import sys
from llmframe.stores.sqlite import SqliteStore

ledger = SqliteStore(sys.argv[1]).open_ledger()
print("ready", flush=True)
sys.stdin.readline()
adopted = ledger.adopt_job("q") is not None
moved = ledger.move_shard("i", of=["uploaded"], to="creating")
print(int(adopted), int(moved), flush=True)
sys.stdin.readline()
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock):
    store = SqliteStore(tmp_path / "a.sqlite", clock=clock)
    yield store
    store.close()


@pytest.fixture
def one(store: SqliteStore) -> SqlLedger:
    ledger = store.open_ledger()
    ledger.open_job(JOB)
    ledger.plan_shard(SHARD, [LINE])
    return ledger


def sql(store: SqliteStore, statement: str) -> list[tuple]:
    connection = sqlite3.connect(store.path)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_worker_elsewhere_lives_as_long_as_it_gives_signs_of_life(store, one, clock):
    two = store.open_ledger()
    sql(store, "UPDATE workers SET place = 'another machine', pid = 999999999")
    clock.now += 59
    assert not two.is_ours("i")
    one.beat()
    clock.now += 59
    assert two.adopt_job("q") is None
    clock.now += 2
    assert two.is_ours("i")
    assert two.adopt_job("q") == JOB


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system doesn't tell when a process started")
def test_a_process_of_this_machine_that_is_there_but_silent_is_left_its_work_for_ten_minutes(store, one, clock):
    two = store.open_ledger()
    clock.now += 599
    assert not two.is_ours("i")
    clock.now += 2
    assert two.is_ours("i")
    one.beat()  # it wakes before another has taken its work
    assert not two.is_ours("i")
    clock.now += 601
    assert two.move_shard("i", of=["uploaded"], to="creating")
    assert not one.move_shard("i", of=["uploaded", "creating"], to="running")
    assert not one.is_ours("i")


def test_without_a_start_time_silence_decides(store, one, clock):
    two = store.open_ledger()
    sql(store, "UPDATE workers SET started = NULL")
    clock.now += 59
    assert not two.is_ours("i")
    clock.now += 2
    assert two.is_ours("i")


def test_signs_of_life_are_written_every_five_seconds_at_most(store, one, clock):
    beats = "SELECT beat FROM workers"
    clock.now += 4.9
    one.beat()
    assert sql(store, beats) == [(1_000_000_000,)]
    clock.now += 0.2
    one.beat()
    assert sql(store, beats) == [(1_000_005_100,)]
    clock.now += 6
    one.move_shard("i", of=["uploaded"], to="creating")  # as good as a beat
    assert sql(store, beats) == [(1_000_011_100,)]


def test_who_has_no_work_gives_no_sign_and_who_leaves_takes_the_dead_along(store, one, clock):
    store.open_ledger().beat()
    assert sql(store, "SELECT count(*) FROM workers") == [(1,)]
    sql(store, "UPDATE workers SET place = 'another machine'")
    clock.now += 61
    two = store.open_ledger()
    assert two.take_job("job-a")
    two.leave()
    assert sql(store, "SELECT count(*) FROM workers") == [(0,)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't tell without ending the process")
def test_the_job_of_a_killed_process_is_free_at_once(store):
    child = start(CHILD, store.path)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        ledger = store.open_ledger()
        assert ledger.is_worked_on("job-a")
        assert ledger.adopt_job("q") is None
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=60)
    assert not ledger.is_worked_on("job-a")
    assert ledger.adopt_job("q") == JOB


def test_of_processes_that_try_at_once_one_gets_the_job_and_the_shard(store, one):
    one.leave()
    racers = [start(RACER, store.path) for _ in range(3)]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        won = [racer.stdout.readline().split() for racer in racers if racer.stdout is not None]
    finally:
        for racer in racers:
            racer.communicate("end\n", timeout=60)
    assert sorted(adopted for adopted, _ in won) == ["0", "0", "1"]
    assert sorted(moved for _, moved in won) == ["0", "0", "1"]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # from 3.12 on: of any fork beside a thread
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_child_is_another_worker_and_has_no_work(store, one):
    told_read, told_write = os.pipe()
    end_read, end_write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            told = [one.is_ours("i"), one.take_job("job-a"), one.adopt_job("q") is not None]
            one.beat()
            one.leave()
            one.open_job(replace(JOB, id="job-b"))
            os.write(told_write, repr(told).encode())
            os.read(end_read, 1)
        finally:
            os._exit(0)
    os.close(told_write)
    told = os.read(told_read, 100)
    os.close(told_read)
    taken = one.take_job("job-b"), one.take_job("job-a")
    os.write(end_write, b"e")
    os.close(end_write)
    os.close(end_read)
    os.waitpid(child, 0)
    assert told == b"[False, False, False]"
    assert taken == (False, True)
    assert one.take_job("job-b")
    assert not store.open_ledger().is_ours("i")
