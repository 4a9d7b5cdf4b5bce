"""Connections between threads, forks and files that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from llmframe.errors import StoreError
from llmframe.stores.connections import Connections, Waits
from llmframe.stores.layout import number

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")


@pytest.fixture
def connections(tmp_path: Path):
    connections = Connections(tmp_path / "a.sqlite", waits=Waits(read=30, claim=0.05))
    yield connections
    connections.close()


def run(code: str, *arguments: str) -> tuple[str, str]:
    options = ["-X", "dev", "-W", "error::ResourceWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout, done.stderr


def test_a_thread_after_another_uses_the_same_connection(connections):
    seen = [connections.run("read", id)]
    thread = threading.Thread(target=lambda: seen.append(connections.run("read", id)))
    thread.start()
    thread.join()
    assert seen[0] == seen[1]


def test_threads_at_the_same_time_use_one_each(connections):
    barrier, seen = threading.Barrier(3), []

    def look(connection) -> None:
        seen.append(connection)
        barrier.wait(timeout=60)

    threads = [threading.Thread(target=connections.run, args=("read", look)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, seen))) == 3


def test_a_look_up_does_not_wait_for_a_write(connections):
    def write(connection) -> int:
        connection.execute("BEGIN IMMEDIATE")
        return connections.run("read", lambda reader: number(reader, "SELECT count(*) FROM answers"))

    assert connections.run("write", write) == 0


def test_a_thread_that_writes_too_long_makes_others_give_up(connections):
    def write(_connection) -> None:
        with pytest.raises(StoreError, match="by another thread") as caught:
            connections.run("claim", lambda _: None)
        assert caught.value.reason == "locked"

    connections.run("write", write)


def test_a_transaction_is_whole_or_not_there(connections):
    def half(connection) -> None:
        connection.execute("INSERT INTO claims VALUES (x'00', 1)")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        connections.transact("write", half)
    assert connections.run("read", lambda reader: number(reader, "SELECT count(*) FROM claims")) == 0
    connections.transact("write", lambda connection: connection.execute("INSERT INTO claims VALUES (x'00', 1)"))
    assert connections.run("read", lambda reader: number(reader, "SELECT count(*) FROM claims")) == 1


def test_a_file_that_was_deleted_is_begun_again(connections):
    connections.transact("write", lambda connection: connection.execute("INSERT INTO claims VALUES (x'00', 1)"))
    connections.path.unlink()
    connections.transact("write", lambda connection: connection.execute("INSERT INTO claims VALUES (x'01', 1)"))
    keys = connections.run("read", lambda reader: reader.execute("SELECT key FROM claims").fetchall())
    assert keys == [(b"\x01",)]


def test_what_is_closed_is_opened_again_when_needed(connections):
    connections.run("read", id)
    connections.close()
    connections.close()
    assert connections.run("read", lambda reader: number(reader, "SELECT 7")) == 7


def test_a_mistake_in_a_statements_values_is_no_trouble_of_the_store(connections):
    from sqlite3 import ProgrammingError

    with pytest.raises(ProgrammingError):
        connections.run("read", lambda reader: reader.execute("SELECT ?", ()))


@fork
def test_parent_and_forked_child_both_go_on_with_connections_of_their_own(tmp_path: Path):
    code = """
import os, sys, warnings
from llmframe.stores.base import Stored
from llmframe.stores.connections import Waits
from llmframe.stores.sqlite import SqliteStore

store = SqliteStore(sys.argv[1], waits=Waits(opening=30, read=30, claim=30))  # both write without a pause
store.put_many([(b"a", Stored("parent"))])
store.claim([b"c"])
claimed, tell = os.pipe()
pid = os.fork()
if not pid:
    assert store.claim([b"c"]) == {b"c"}  # the parent's
    os.write(tell, b".")
    for i in range(50):
        store.put_many([(b"child%d" % i, Stored("child"))])
    sys.exit(0 if store.get_many([b"a"]) else 1)
for i in range(50):
    store.put_many([(b"parent%d" % i, Stored("parent"))])
os.read(claimed, 1)
store.close()  # the last connection of this process, while the child may still write
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), store.info().entries)
"""
    assert run(code, str(tmp_path / "a.sqlite")) == ("0 101\n", "")


@fork
def test_a_child_forked_in_the_middle_of_a_threads_work_is_told_so(tmp_path: Path):
    code = """
import os, sys, threading, warnings
from llmframe.errors import StoreError
from llmframe.stores import connections
from llmframe.stores.sqlite import SqliteStore

warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on Python itself warns of any fork beside a thread
connections.FORK_SECONDS = 0
store, inside, go_on = SqliteStore(sys.argv[1]), threading.Event(), threading.Event()

def slowly(connection):
    inside.set()
    go_on.wait()

thread = threading.Thread(target=store._connections.run, args=("read", slowly))
thread.start()
inside.wait()
pid = os.fork()
if not pid:
    try:
        store.get_many([b"a"])
    except StoreError as error:
        os._exit(7 if error.reason == "io" and "spawn" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), store.get_many([b"a"]))
go_on.set()
thread.join()
store.close()
"""
    assert run(code, str(tmp_path / "a.sqlite")) == ("7 {}\n", "")


@fork
def test_a_fork_waits_until_a_write_of_another_thread_is_whole(tmp_path: Path):
    code = """
import os, sys, threading, warnings
from llmframe.stores import connections
from llmframe.stores.sqlite import SqliteStore

warnings.simplefilter("ignore", DeprecationWarning)
connections.FORK_SECONDS = 60  # however slow the machine is
store, inside = SqliteStore(sys.argv[1]), threading.Event()

def write(connection):
    inside.set()
    connection.execute("BEGIN IMMEDIATE")
    for i in range(2000):
        connection.execute("INSERT INTO claims VALUES (?, 1)", (b"%d" % i,))
    connection.execute("COMMIT")

thread = threading.Thread(target=store._connections.run, args=("write", write))
thread.start()
inside.wait()
pid = os.fork()
if not pid:
    count = store._connections.run("read", lambda c: c.execute("SELECT count(*) FROM claims").fetchone()[0])
    os._exit(0 if count == 2000 else 1)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
store.close()
"""
    assert run(code, str(tmp_path / "a.sqlite")) == ("0\n", "")


def test_nothing_is_warned_of_when_a_store_is_dropped_or_the_process_ends(tmp_path: Path):
    code = """
import gc, sys
from llmframe.stores.base import Stored
from llmframe.stores.sqlite import SqliteStore

dropped = SqliteStore(sys.argv[1])
dropped.put_many([(b"a", Stored("x"))])
dropped.claim([b"b"])
del dropped
gc.collect()
kept = SqliteStore(sys.argv[1])
print(kept.get_many([b"a"])[b"a"].text, kept.info().claims)
kept.claim([b"c"])
"""
    assert run(code, str(tmp_path / "a.sqlite")) == ("x 0\n", "")
    left = Connections(tmp_path / "a.sqlite")
    assert left.run("read", lambda reader: number(reader, "SELECT count(*) FROM claims")) == 0
    left.close()
