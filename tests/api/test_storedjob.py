from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llmframe.api.batch_access import Access
from llmframe.api.storedjob import StoredJob
from llmframe.errors import UsageError
from llmframe.stores.base import MemoryStore, Stored
from llmframe.stores.jobs import JobRecord, LineOutcome, LineRecord, Shard
from llmframe.stores.ledger import ledger_of

KEYS = [bytes([number]) * 32 for number in range(4)]
MINE = JobRecord(
    id="job-0123456789", created=0.0, provider="openai", identity="https://x/v1", model="m", question="q", requests=4
)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def job_of(store: MemoryStore, *shards: dict[str, Any], worked_on: bool = False, **record: Any) -> StoredJob:
    """A job with shards of two lines each."""
    ledger = ledger_of(store)
    assert ledger is not None
    ledger.open_job(MINE)
    for number, fields in enumerate(shards):
        intent = f"{number:016x}"
        lines = [LineRecord(line, 0, KEYS[2 * number + line]) for line in range(2)]
        ledger.plan_shard(Shard(intent=intent, job=MINE.id, number=number, execution="planned", lines=2), lines)
        ledger.update_shard(intent, **fields)
    if record:
        ledger.update_job(MINE.id, **record)
    if not worked_on:
        ledger.leave()
    return StoredJob(MINE, ledger=ledger, store=store, access=Access())


RUNNING = {"execution": "running", "batch_id": "b", "status": "in_progress", "total": 2, "done": 1, "failed": 0}
ENDED = {"execution": "ended", "batch_id": "b", "status": "completed", "total": 2, "done": 2, "failed": 0}


@pytest.mark.parametrize(
    ("shards", "record", "status"),
    [
        ([], {}, "done"),
        ([RUNNING], {}, "running"),
        ([ENDED, RUNNING], {"cancelled": True}, "running"),
        ([ENDED], {"cancelled": True}, "cancelled"),
        ([ENDED, {"execution": "creating"}], {}, "interrupted"),
        ([ENDED, {"execution": "uploaded"}], {}, "interrupted"),
        ([ENDED, {"execution": "failed"}], {}, "done"),
        ([{"execution": "failed"}], {}, "failed"),
        ([{"execution": "lost"}], {}, "failed"),
        ([ENDED], {"finished": True}, "done"),
    ],
)
def test_the_status_is_what_the_batches_say(store: MemoryStore, shards: Any, record: Any, status: str):
    job = job_of(store, *shards, **record)
    assert (job.status, job.done()) == (status, status not in ("running", "interrupted"))


def test_a_job_that_somebody_works_on_is_running(store: MemoryStore):
    assert job_of(store, {"execution": "creating"}, worked_on=True).status == "running"


def test_progress_counts_what_is_settled_and_what_the_provider_tells(store: MemoryStore):
    job = job_of(store, ENDED, RUNNING)
    ledger = ledger_of(store)
    assert ledger is not None
    outcomes = [(KEYS[0], LineOutcome(state="kept")), (KEYS[1], LineOutcome(state="failed", kind="server", detail="x"))]
    ledger.settle(f"{0:016x}", outcomes, [(KEYS[0], Stored("yes"))])
    ledger.update_shard(f"{0:016x}", collection="done")
    # two settled, of which one failed; of the other batch one of two is done
    progress = job.progress()
    assert (progress.rows, progress.done, progress.failed, progress.in_flight) == (4, 3, 1, 1)
    assert [shard.status for shard in job.shards()] == ["completed", "in_progress"]


def test_progress_of_embeddings_counts_texts_where_the_provider_tells_lines(store: MemoryStore):
    ledger = ledger_of(store)
    assert ledger is not None
    record = replace(MINE, kind="embeddings", requests=0)
    ledger.open_job(record)
    keys = [bytes([number]) * 32 for number in range(8)]
    for number in range(2):  # two lines of two texts each
        shard = Shard(intent=f"{number:016x}", job=MINE.id, number=number, execution="planned", lines=2)
        lines = [
            LineRecord(line, place, keys[4 * number + 2 * line + place]) for line in range(2) for place in range(2)
        ]
        ledger.plan_shard(shard, lines)
    ledger.update_shard(f"{0:016x}", **ENDED)
    ledger.update_shard(f"{1:016x}", **RUNNING)
    ledger.leave()
    job = StoredJob(record, ledger=ledger, store=store, access=Access())
    progress = job.progress()
    assert (progress.rows, progress.done, progress.failed, progress.in_flight) == (8, 6, 0, 2)
    ledger.update_shard(f"{1:016x}", **{**ENDED, "done": 1, "failed": 1})
    progress = job.progress()
    assert (progress.rows, progress.done, progress.failed, progress.in_flight) == (8, 8, 2, 0)


def test_answers_are_a_row_a_request(store: MemoryStore):
    job = job_of(store, ENDED)
    ledger = ledger_of(store)
    assert ledger is not None
    outcomes = [(KEYS[0], LineOutcome(state="kept")), (KEYS[1], LineOutcome(state="failed", kind="server", detail="x"))]
    ledger.settle(f"{0:016x}", outcomes, [(KEYS[0], Stored("yes"))])
    assert job.answers().to_pylist() == [
        {"fingerprint": KEYS[0].hex(), "response": "yes", "error": None},
        {"fingerprint": KEYS[1].hex(), "response": None, "error": "server: x"},
    ]


def test_its_table_has_a_line_a_batch(store: MemoryStore):
    shown = repr(job_of(store, ENDED, {"execution": "uploaded"}))
    assert shown.splitlines()[0] == "llmframe job job-0123456789 · m · interrupted"
    assert "b completed (2 requests)" in shown
    assert "uploaded" in shown
    assert "1970-01-01 00:00" in shown


def test_a_job_that_was_forgotten_says_so(store: MemoryStore):
    job = job_of(store, {"execution": "failed", "collection": "done"}, finished=True)
    ledger = ledger_of(store)
    assert ledger is not None
    ledger.forget(MINE.id)
    with pytest.raises(UsageError, match="in the ledger no more"):
        _ = job.status
