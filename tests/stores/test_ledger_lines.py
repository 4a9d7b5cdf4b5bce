"""The ledger's lines: how they are found among many."""

from __future__ import annotations

import hashlib

import pytest

from llmframe.stores.base import MemoryStore
from llmframe.stores.books import BesideStore, MemoryBooks
from llmframe.stores.jobs import JobRecord, LineOutcome, LineRecord, Shard
from llmframe.stores.ledger import SqlLedger
from llmframe.stores.ledger_lines import STATES, insert_lines

KEYS = [hashlib.sha256(b"%d" % number).digest() for number in range(600)]


@pytest.fixture
def books() -> MemoryBooks:
    return MemoryBooks()


@pytest.fixture
def ledger(books: MemoryBooks) -> SqlLedger:
    ledger = SqlLedger(BesideStore(books, MemoryStore()))
    ledger.open_job(JobRecord(id="job-a", created=1.0, provider="openai", identity="", model="m", question="q"))
    for number, intent in enumerate("ij"):
        ledger.plan_shard(
            Shard(intent=intent, job="job-a", number=number, execution="running"),
            [LineRecord(line, 0, key) for line, key in enumerate(KEYS[number * 300 : number * 300 + 300])],
        )
    return ledger


def test_states_are_kept_by_their_place():
    """What is written in files: only ever to be added to."""
    assert STATES == ("open", "kept", "failed", "expired", "cancelled", "missing")


def test_nothing_looks_through_all_lines(ledger: SqlLedger, books: MemoryBooks):
    seen: list[str] = []
    books.record(lambda connection: connection.set_trace_callback(seen.append))
    ledger.plan_shard(Shard(intent="k", job="job-a", number=2, execution="planned"), [LineRecord(0, 0, KEYS[0])])
    ledger.open_shards(KEYS)
    ledger.outcomes("job-a", KEYS)
    ledger.lines("i")
    ledger.counts("job-a")
    ledger.settle("i", [(key, LineOutcome(state="kept")) for key in KEYS], [])
    ledger.settle_rest("j", LineOutcome(state="missing"))
    ledger.update_job("job-a", finished=True)
    ledger.update_shard("i", execution="failed")
    ledger.update_shard("j", execution="failed")
    ledger.forget("job-a")
    books.record(lambda connection: connection.set_trace_callback(None))
    asked = [statement for statement in seen if " lines " in statement]
    plans = [
        detail.decode()
        for statement in asked
        for *_, detail in books.record(lambda c, s=statement: c.execute(f"EXPLAIN QUERY PLAN {s}").fetchall())
    ]
    assert len(asked) > 8
    searches = [plan for plan in plans if any(name in plan.split() for name in ("lines", "l", "old", "new"))]
    assert len(searches) > 8
    assert [plan for plan in searches if not plan.startswith("SEARCH")] == []


def test_outcomes_of_two_shards_do_not_mix(ledger: SqlLedger):
    ledger.settle("i", [(key, LineOutcome(state="kept")) for key in KEYS], [])
    assert ledger.counts("job-a") == {"kept": 300, "open": 300}
    assert ledger.settle_rest("i", LineOutcome(state="missing")) == 0
    assert ledger.settle_rest("j", LineOutcome(state="missing")) == 300
    assert {
        KEYS.index(key) // 300 for key, outcome in ledger.outcomes("job-a", KEYS).items() if outcome.intent == "j"
    } == {1}


def test_more_lines_than_a_shard_has_numbers_for_are_refused(books: MemoryBooks):
    class Many(list[LineRecord]):
        def __len__(self) -> int:
            return 2**24 + 1

    with pytest.raises(ValueError, match="at most 16777216 requests, this one 16777217"):
        books.record(lambda connection: insert_lines(connection, 1, "job-a", Many()))
