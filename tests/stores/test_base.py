"""Answers of this process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.stores.base import _ENTRY_BYTES, MemoryStore, Stored

ENTRY = Stored('{"label":"pos"}', Usage(10, 2, 0), "m-2024", "stop")


def test_what_was_put_comes_back_and_the_rest_is_left_out():
    store = MemoryStore()
    store.put_many([(b"a", ENTRY), (b"b", Stored("x"))])
    assert store.get_many([b"b", b"missing", b"a"]) == {b"b": Stored("x"), b"a": ENTRY}
    assert store.get_many([]) == {}
    assert len(store) == 2


def test_a_later_answer_takes_the_place_of_an_earlier_one():
    store = MemoryStore()
    store.put_many([(b"a", Stored("old")), (b"a", Stored("new"))])
    assert store.get_many([b"a"]) == {b"a": Stored("new")}
    assert len(store) == 1


def test_past_the_limit_the_longest_unused_go_first():
    text = "x" * 100
    store = MemoryStore(limit_bytes=3 * (100 + _ENTRY_BYTES))
    store.put_many([(key, Stored(text)) for key in (b"a", b"b", b"c")])
    store.get_many([b"a"])  # used last
    store.put_many([(b"d", Stored(text))])
    assert set(store.get_many([b"a", b"b", b"c", b"d"])) == {b"a", b"c", b"d"}


def test_an_answer_over_the_limit_is_not_kept():
    store = MemoryStore(limit_bytes=1000)
    store.put_many([(b"a", Stored("x" * 5000))])
    assert len(store) == 0
    store.put_many([(b"b", Stored("x"))])
    assert len(store) == 1


@given(st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.integers(0, 3000)), max_size=30))
def test_the_bytes_kept_never_pass_the_limit(puts: list[tuple[bytes, int]]):
    limit = 4000
    store = MemoryStore(limit_bytes=limit)
    for key, size in puts:
        store.put_many([(key, Stored("x" * size))])
        kept = store.get_many([b"a", b"b", b"c", b"d"]).values()
        assert sum(len(entry.text) + _ENTRY_BYTES for entry in kept) == store._bytes <= limit


def test_clearing_forgets_everything():
    store = MemoryStore()
    store.put_many([(b"a", ENTRY)])
    store.clear()
    assert (len(store), store.get_many([b"a"]), store._bytes) == (0, {}, 0)


def test_threads_may_put_and_get_at_once():
    store = MemoryStore(limit_bytes=50 * (10 + _ENTRY_BYTES))
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(name: int) -> None:
        try:
            barrier.wait(timeout=60)
            for number in range(300):
                key = b"%d-%d" % (name, number % 40)
                store.put_many([(key, Stored("x" * 10))])
                store.get_many([key, b"0-1", b"1-1"])
        except BaseException as error:  # noqa: BLE001 - a thread's failure is looked at below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store._bytes == len(store) * (10 + _ENTRY_BYTES)
    assert len(store) == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
def test_a_process_forked_while_a_thread_is_storing_can_look_up():
    code = """
import os, signal, threading, warnings
from llmframe.stores.base import MemoryStore, Stored

warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on Python itself warns of any fork beside a thread
store, inside, go_on = MemoryStore(), threading.Event(), threading.Event()
store.hold_over_forks()
store.put_many([(b"k", Stored("x"))])

def slowly():
    inside.set()
    go_on.wait()
    yield b"l", Stored("y")

threading.Thread(target=store.put_many, args=(slowly(),)).start()
inside.wait()
threading.Timer(0.2, go_on.set).start()
pid = os.fork()
if not pid:
    signal.alarm(60)
    os._exit(0 if len(store.get_many([b"k", b"l"])) == 2 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(store.get_many([b"k", b"l"])))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("0 2\n", "")
