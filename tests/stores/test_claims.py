"""Claims of several processes, each a store object on one file."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from llmframe.core.outcome import Usage
from llmframe.stores.base import Stored
from llmframe.stores.connections import Waits
from llmframe.stores.sqlite import SqliteStore

CHILD = """
import sys
from llmframe.stores.sqlite import SqliteStore

store = SqliteStore(sys.argv[1], clock=lambda: 1e6)
print(sorted(store.claim([b"a", b"b"])), flush=True)
sys.stdin.read()
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
def stores(tmp_path: Path, clock: Clock):
    opened = [SqliteStore(tmp_path / "a.sqlite", clock=clock, waits=Waits(claim=0.02, tend=0.02)) for _ in range(2)]
    yield opened
    for store in opened:
        store.close()


def sql(path: Path, statement: str, *values) -> list[tuple]:
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement, values).fetchall()
    connection.close()
    return rows


def test_what_one_has_claimed_the_other_is_told(stores):
    one, two = stores
    assert one.claim([b"a", b"b"]) == set()
    assert two.claim([b"b", b"c", b"a"]) == {b"a", b"b"}
    assert one.claim([b"c", b"a"]) == {b"c"}  # its own it may claim again
    assert one.claim([]) == set()


def test_a_key_named_twice_is_claimed_once(stores):
    one, two = stores
    assert one.claim([b"a", b"a"]) == set()
    assert two.claim([b"a", b"a", b"b"]) == {b"a"}
    assert sql(one.path, "SELECT count(*) FROM claims") == [(2,)]


def test_a_thousand_keys_are_claimed_at_once(stores):
    one, two = stores
    keys = [b"%d" % i for i in range(1300)]
    assert one.claim(keys[:1000]) == set()
    assert two.claim(keys) == set(keys[:1000])
    assert one.claim(keys) == set(keys[1000:])


def test_what_is_released_is_free_and_others_claims_stay(stores):
    one, two = stores
    one.claim([b"a", b"b"])
    two.claim([b"c"])
    one.release(key for key in (b"a", b"c"))
    assert two.claim([b"a", b"b"]) == {b"b"}
    assert one.claim([b"c"]) == {b"c"}


def test_what_is_kept_is_released_with_the_same_commit_whoever_claimed_it(stores):
    one, two = stores
    one.claim([b"a", b"b", b"c"])
    one.put_many([(b"a", Stored("x", Usage()))])
    two.put_many([(b"b", Stored("x", Usage()))])
    assert two.claim([b"a", b"b", b"c"]) == {b"c"}


def test_a_closed_store_leaves_no_claims(stores):
    one, two = stores
    one.claim([b"a"])
    two.claim([b"b"])
    one.close()
    assert two.claim([b"a"]) == set()
    assert sql(two.path, "SELECT count(*) FROM owners") == [(1,)]
    assert one.claim([b"b"]) == {b"b"}  # and may go on


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't tell without ending the process")
def test_the_claims_of_a_killed_process_are_taken_over_at_once_and_swept(stores):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(stores[0].path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "[]\n"
        assert stores[0].claim([b"a", b"c"]) == {b"a"}
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=60)
    assert stores[0].claim([b"a", b"c"]) == set()
    assert sql(stores[0].path, "SELECT key FROM claims ORDER BY key") == [(b"a",), (b"c",)]
    assert sql(stores[0].path, "SELECT count(*) FROM owners") == [(1,)]


def test_a_process_elsewhere_lives_as_long_as_it_gives_signs_of_life(stores, clock):
    one, two = stores
    one.claim([b"a"])
    sql(one.path, "UPDATE owners SET place = 'another machine', pid = 999999999")
    clock.now += 59
    assert two.claim([b"a"]) == {b"a"}
    one.beat()
    clock.now += 59
    assert two.claim([b"a"]) == {b"a"}
    clock.now += 2
    assert two.claim([b"a"]) == set()


def test_a_clock_that_was_set_back_costs_a_needless_question_at_most(stores, clock):
    one, two = stores
    one.claim([b"a"])
    clock.now -= 3600
    assert two.claim([b"a"]) == set()
    assert one.claim([b"a"]) == {b"a"}


def test_signs_of_life_are_written_every_five_seconds_at_most(stores, clock):
    one, _ = stores
    beats = "SELECT beat FROM owners"
    one.beat()
    assert sql(one.path, beats) == []  # nothing claimed, nobody to tell
    one.claim([b"a"])
    clock.now += 4.9
    one.beat()
    assert sql(one.path, beats) == [(1_000_000_000,)]
    clock.now += 0.2
    one.beat()
    assert sql(one.path, beats) == [(1_000_005_100,)]
    clock.now += 6
    one.claim([b"b"])  # as good as a beat
    assert sql(one.path, beats) == [(1_000_011_100,)]


def test_a_process_that_was_taken_for_dead_is_known_again_by_its_next_sign(stores, clock):
    one, two = stores
    one.claim([b"a"])
    clock.now += 61  # a laptop that slept
    assert two.claim([b"a"]) == set()
    one.beat()
    assert one.claim([b"b", b"a"]) == {b"a"}
    assert two.claim([b"b"]) == {b"b"}


def test_a_claim_whose_owner_is_unknown_is_free(stores):
    one, two = stores
    one.claim([b"a"])
    sql(one.path, "DELETE FROM owners")
    assert two.claim([b"a"]) == set()


def test_where_the_lock_cannot_be_had_nothing_is_claimed(stores):
    one, two = stores
    one.claim([b"a"])
    holder = sqlite3.connect(one.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert two.claim([b"a", b"b"]) == set()
    holder.execute("ROLLBACK")
    holder.close()
    assert two.claim([b"a", b"b"]) == {b"a"}
    assert one.claim([b"b"]) == {b"b"}


def test_claims_hold_in_a_store_that_was_begun_anew(stores):
    one, two = stores
    one.claim([b"a"])
    one.path.unlink()
    assert one.claim([b"b"]) == set()
    assert two.claim([b"a", b"b"]) == {b"b"}
