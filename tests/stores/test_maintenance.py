"""What a store holds in sum, and taking answers out of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.stores.base import Stored
from llmframe.stores.connections import Waits
from llmframe.stores.maintenance import ModelCount, StoreInfo
from llmframe.stores.sqlite import SqliteStore

NOW = 1_700_000_000.0
EMPTY_BYTES = 60_000
"""More than a store without answers takes."""


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite", clock=lambda: NOW, waits=Waits(tend=0.05))
    yield store
    store.close()


def key(number: int) -> bytes:
    return number.to_bytes(4, "big") * 8


def fill(store: SqliteStore, count: int, size: int = 1000) -> None:
    """Answers that were kept a second after each other, the last one now."""
    store.put_many([(key(i), Stored("x" * size, created=NOW - count + 1 + i)) for i in range(count)])


def numbers(store: SqliteStore) -> list[int]:
    return [int.from_bytes(found[:4], "big") for found, _ in store.entries()]


def test_an_empty_store_holds_nothing(store):
    info = store.info()
    assert (info.entries, info.oldest, info.newest, info.models, info.claims) == (0, None, None, {}, 0)


def test_answers_and_tokens_are_counted_by_model(store):
    store.put_many(
        [
            (key(1), Stored("x", Usage(10, 2, 4), "small", created=100.0)),
            (key(2), Stored("x", Usage(20, None, None), "small", created=50.5)),
            (key(3), Stored("x", Usage(), None, created=75.0)),
        ]
    )
    other = SqliteStore(store.path, clock=lambda: NOW)
    other.claim([key(4), key(5)])
    files = [store.path, store.path.with_name("a.sqlite-wal")]
    assert store.info() == StoreInfo(
        path=store.path,
        entries=3,
        bytes=sum(path.stat().st_size for path in files),
        oldest=50.5,
        newest=100.0,
        models={
            "small": ModelCount(entries=2, input_tokens=30, output_tokens=2, cached_tokens=4),
            None: ModelCount(entries=1, input_tokens=0, output_tokens=0, cached_tokens=0),
        },
        claims=2,
    )
    other.close()
    assert store.info().claims == 0


def test_claims_of_dead_processes_are_not_counted(store):
    store.claim([key(1)])
    later = SqliteStore(store.path, clock=lambda: NOW + 100)
    assert later.info().claims == 0
    later.close()


def test_older_answers_are_pruned_and_the_file_shrinks(store):
    fill(store, 5000)
    store.close()
    before = store.path.stat().st_size
    assert store.prune(older_than=100) == 4899  # the last was kept now, so 101 are no older than 100 s
    assert numbers(store) == list(range(4899, 5000))
    assert store.info().bytes < before / 10


def test_the_oldest_go_first_whenever_they_were_put(store):
    store.put_many([(key(i), Stored("x" * 2000, created=NOW - age)) for i, age in enumerate([5, 500, 50, 5000] * 100)])
    store.prune(max_bytes=store.info().bytes // 2)
    ages = [entry.created for _, entry in store.entries()]
    assert ages
    assert min(ages) >= NOW - 50  # half is room for those of 5 and 50 s


@pytest.mark.parametrize("max_bytes", [2_000_000, 500_000, 100_000])
def test_a_store_is_pruned_to_the_size_that_was_asked_for(store, max_bytes):
    fill(store, 3000)
    removed = store.prune(max_bytes=max_bytes)
    assert store.info().bytes <= max_bytes
    left = numbers(store)
    assert left == list(range(removed, 3000))
    assert store.info().bytes > 0.8 * max_bytes - EMPTY_BYTES  # and not much further


def test_what_is_small_enough_stays(store):
    fill(store, 100)
    assert store.prune(max_bytes=10_000_000) == 0
    assert store.prune(older_than=1000) == 0
    assert store.prune() == 0
    assert len(numbers(store)) == 100


def test_a_size_below_that_of_an_empty_store_removes_everything(store):
    fill(store, 300)
    assert store.prune(max_bytes=0) == 300
    assert store.info().bytes < EMPTY_BYTES
    assert store.prune(max_bytes=0) == 0


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20_000)), max_size=12), st.integers(0, 300_000))
def test_pruning_keeps_the_newest(tmp_path_factory, answers, max_bytes):
    folder = tmp_path_factory.mktemp("prune")
    store = SqliteStore(folder / "a.sqlite", clock=lambda: NOW)
    store.put_many([(key(i), Stored("x" * size, created=NOW - age)) for i, (age, size) in enumerate(answers)])
    removed = store.prune(max_bytes=max_bytes)
    oldest_first = sorted(range(len(answers)), key=lambda i: (-answers[i][0], i))
    assert sorted(numbers(store)) == sorted(oldest_first[removed:])
    assert store.info().bytes <= max(max_bytes, EMPTY_BYTES)
    store.close()


def test_clearing_removes_every_answer_and_says_how_many(store):
    fill(store, 2500)
    store.claim([key(9999)])
    assert store.clear() == 2500
    assert (store.clear(), numbers(store)) == (0, [])
    assert store.info().bytes < EMPTY_BYTES
    assert store.info().claims == 1  # somebody still asks
    fill(store, 3)
    assert numbers(store) == [0, 1, 2]


def test_removed_text_is_not_left_in_the_file(store):
    store.put_many([(key(i), Stored(f"secret {i} " + "y" * 300)) for i in range(50)])
    store.clear()
    store.close()
    assert b"secret" not in store.path.read_bytes()


def test_a_running_reader_keeps_what_it_sees_and_the_file_shrinks_later(store):
    fill(store, 1000)
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    rows = reader.execute("SELECT key FROM answers ORDER BY id")
    assert rows.fetchone() == (key(0),)
    assert store.prune(older_than=10) == 989
    assert len(rows.fetchall()) == 999
    reader.execute("COMMIT")
    reader.close()
    store.prune()
    assert store.info().bytes < EMPTY_BYTES + 11 * 1000


def test_all_answers_are_exported_in_the_order_they_came(store):
    fill(store, 1234, size=10)
    exported = list(store.entries())
    assert [int.from_bytes(found[:4], "big") for found, _ in exported] == list(range(1234))
    assert dict(exported) == store.get_many([found for found, _ in exported])


def test_an_export_goes_on_while_answers_are_kept_and_removed(store):
    fill(store, 1500, size=10)
    export = store.entries()
    assert next(export)[0] == key(0)
    fill(store, 1600, size=10)
    assert store.prune(max_bytes=0) == 1600
    assert len(list(export)) == 499  # what had been read at once
