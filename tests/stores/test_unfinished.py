"""Clearing and pruning a store that has batch jobs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from llmframe.stores.base import Stored
from llmframe.stores.jobs import JobRecord, LineRecord, Shard
from llmframe.stores.ledger import SqlLedger
from llmframe.stores.sqlite import SqliteStore

NOW = 1_700_000_000.0


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite", clock=lambda: NOW)
    yield store
    store.close()


def begin(
    ledger: SqlLedger, name: str, *, age: float = 0.0, finished: bool = False, lines: int = 2, **of_shard: Any
) -> None:
    """A job with one shard, which runs unless something else is said."""
    ledger.open_job(
        JobRecord(
            id=name, created=NOW - age, provider="openai", identity="", model="m", question="q", finished=finished
        )
    )
    ledger.plan_shard(
        Shard(**{"intent": f"{name}-1", "job": name, "number": 0, "execution": "running"} | of_shard),
        [LineRecord(i, 0, key(i)) for i in range(lines)],
    )


def left(ledger: SqlLedger) -> list[str]:
    return sorted(job.id for job in ledger.jobs())


def test_clearing_a_store_loses_no_track_of_what_may_have_been_paid(store):
    ledger = store.open_ledger()
    begin(ledger, "open")
    begin(ledger, "planned", execution="planned")
    begin(ledger, "done", finished=True, collection="done")
    begin(ledger, "given up", finished=True, execution="planned")
    begin(ledger, "refused", finished=True, execution="failed")
    for execution in ("creating", "running", "ended"):
        begin(ledger, execution, finished=True, execution=execution)
    store.put_many([(key(1), Stored("x"))])
    assert store.info().jobs == 5
    assert store.clear() == 1
    assert left(ledger) == ["creating", "ended", "open", "planned", "running"]
    assert store.info().jobs == 5
    assert ledger.open_shards([key(1)]) == {key(1): "open-1"}
    assert ledger.counts("open") == {"open": 2}


def test_pruning_by_age_removes_finished_jobs_as_old(store):
    ledger = store.open_ledger()
    begin(ledger, "old", age=100, finished=True, collection="done")
    begin(ledger, "old and open", age=100)
    begin(ledger, "young", age=10, finished=True, collection="done")
    assert store.prune(older_than=50.0) == 0
    assert left(ledger) == ["old and open", "young"]


def test_pruning_by_size_removes_finished_jobs_before_answers_the_oldest_first(store):
    ledger = store.open_ledger()
    store.put_many([(key(i), Stored("x" * 1000)) for i in range(50)])
    begin(ledger, "young", finished=True, collection="done")
    small = store.prune(max_bytes=10**9) + store.info().bytes
    begin(ledger, "old", age=100, finished=True, collection="done", lines=5000)
    assert store.prune(max_bytes=small + 20_000) == 0
    assert left(ledger) == ["young"]
    assert store.info().entries == 50


def test_pruning_to_nothing_ends_where_jobs_are_open(store):
    ledger = store.open_ledger()
    begin(ledger, "open", lines=3000)
    store.put_many([(key(i), Stored("x" * 1000)) for i in range(50)])
    assert store.prune(max_bytes=0) == 50
    assert left(ledger) == ["open"]
    assert len(ledger.lines("open-1")) == 3000


def test_a_store_without_jobs_is_cleared_as_ever(store):
    assert store.info().jobs == 0
    assert store.clear() == 0
    assert store.prune(older_than=0.0) == 0
