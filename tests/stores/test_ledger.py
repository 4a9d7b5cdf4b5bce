"""The ledger's contract, in a store's file and in memory."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from llmframe.core.outcome import Usage
from llmframe.errors import StoreError, UsageError
from llmframe.stores.base import MemoryStore, Store, Stored
from llmframe.stores.jobs import JobRecord, Ledger, LineOutcome, LineRecord, Shard
from llmframe.stores.ledger import ledger_of
from llmframe.stores.sqlite import SqliteStore

JOB = JobRecord(
    id="job-aaaaaaaaaa", created=1_700_000_000.5, provider="openai", identity="https://x", model="m", question="q"
)
KEPT = LineOutcome(state="kept", usage=Usage(10, 2, 0))
FAILED = LineOutcome(state="failed", kind="server", detail="status 500")
ANSWER = Stored('{"label":"pos"}', Usage(10, 2, 0), "m-2024", "stop", 1_700_000_000.123)


def key(name: object) -> bytes:
    return hashlib.sha256(str(name).encode()).digest()


def job(name: str, **changes: Any) -> JobRecord:
    return dataclasses.replace(JOB, id=name, **changes)


def shard(intent: str, **changes: Any) -> Shard:
    values: dict[str, Any] = {"job": JOB.id, "number": 0, "execution": "planned", "planned": 100.0} | changes
    return Shard(intent=intent, **values)


def lines(*names: object) -> list[LineRecord]:
    return [LineRecord(number, 0, key(name)) for number, name in enumerate(names)]


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "memory":
        yield MemoryStore()
        return
    with_file = SqliteStore(tmp_path / "a.sqlite")
    yield with_file
    with_file.close()


@pytest.fixture
def one(store: Store) -> Ledger:
    ledger = ledger_of(store)
    assert ledger is not None
    return ledger


@pytest.fixture
def two(store: Store) -> Ledger:
    ledger = ledger_of(store)
    assert ledger is not None
    return ledger


@pytest.fixture
def planned(one: Ledger) -> Ledger:
    one.open_job(JOB)
    one.plan_shard(shard("i"), lines("a", "b", "c"))
    return one


def test_before_the_first_job_everything_is_empty(one):
    assert one.jobs() == one.shards() == one.lines("i") == one.batch_ids(since=0) == []
    assert one.job("job-x") is one.adopt_job("q") is None
    assert one.open_shards([key("a")]) == one.outcomes("job-x", [key("a")]) == one.counts("job-x") == {}
    assert not one.is_ours("i")
    assert not one.is_worked_on("job-x")
    assert not one.take_job("job-x")
    assert not one.move_shard("i", of=["planned"], to="creating")
    assert one.settle_rest("i", LineOutcome(state="missing")) == 0
    one.forget("job-x")
    one.beat()
    one.leave()


def test_a_job_comes_back_as_it_was_written_and_the_latest_first(one, two):
    whole = job("job-b", created=JOB.created + 1, kind="embeddings", requests=3, rows=5, cancelled=True, finished=True)
    one.open_job(JOB)
    one.open_job(whole)
    one.open_job(job("job-c", created=JOB.created - 1))
    assert [each.id for each in two.jobs()] == ["job-b", JOB.id, "job-c"]
    assert two.job("job-b") == whole
    assert two.job(JOB.id) == JOB


def test_what_is_said_of_a_job_changes_and_the_rest_stays(one, two):
    one.open_job(JOB)
    one.update_job(JOB.id, requests=7, rows=9)
    one.update_job(JOB.id, cancelled=True)
    one.update_job(JOB.id)
    assert two.job(JOB.id) == dataclasses.replace(JOB, requests=7, rows=9, cancelled=True)
    two.update_job(JOB.id, cancelled=False, finished=True)
    assert one.job(JOB.id) == dataclasses.replace(JOB, requests=7, rows=9, finished=True)


def test_a_shard_comes_back_as_it_was_written_with_its_lines_in_their_order(planned, two):
    assert two.shards() == [shard("i")]
    assert two.lines("i") == lines("a", "b", "c")
    whole = Shard(
        intent="j",
        job=JOB.id,
        number=1,
        execution="running",
        collection="partial",
        mode="tools",
        max_tokens_name="max_completion_tokens",
        tool="Sentiment",
        lines=3,
        bytes=2**40,
        tokens=12,
        file_id="file-1",
        batch_id="batch_1",
        status="in_progress",
        attempts=2,
        planned=0.1,
        created=1_700_000_000.123456,
        polled=0.3,
        total=3,
        done=2,
        failed=1,
        detail="what the provider said: \ud800ü",
    )
    texts = [LineRecord(0, 1, key(1)), LineRecord(1, 0, key(2)), LineRecord(0, 0, key(3))]
    planned.plan_shard(whole, texts)
    (read,) = two.shards(intents=["j"])
    assert read == dataclasses.replace(whole, detail="what the provider said: ?ü")
    assert two.lines("j") == [texts[2], texts[0], texts[1]]


def test_shards_are_told_by_job_or_name_in_the_order_of_planning(planned, two):
    planned.open_job(job("job-b"))
    planned.plan_shard(shard("h", job="job-b"), [])
    planned.plan_shard(shard("g", number=1), [])
    assert [each.intent for each in two.shards(job=JOB.id)] == ["i", "g"]
    assert [each.intent for each in two.shards(intents=["g", "none", "h", "i"])] == ["i", "h", "g"]
    assert [each.intent for each in two.shards()] == ["i", "h", "g"]
    assert two.shards(intents=[]) == two.shards(job="none") == []


def test_a_shard_of_an_unknown_job_is_refused_and_nothing_of_it_is_there(one):
    with pytest.raises(StoreError, match=r"doesn't know the job 'job-aaaaaaaaaa'"):
        one.plan_shard(shard("i"), lines("a"))
    assert one.shards() == []
    assert one.open_shards([key("a")]) == {}


def test_a_shard_is_planned_whole_or_not_at_all(planned, two):
    with pytest.raises(ValueError, match="a key has 32 bytes, this one 5"):
        planned.plan_shard(shard("j"), [*lines("d"), LineRecord(1, 0, b"short")])
    assert [each.intent for each in two.shards()] == ["i"]
    assert two.open_shards([key("d")]) == {}
    planned.plan_shard(shard("j"), lines("d"))
    assert two.open_shards([key("d")]) == {key("d"): "j"}


def test_fields_of_a_shard_are_changed_by_name_whoever_works_on_it(planned, two):
    two.update_shard("i", batch_id="batch_1", status="in_progress", created=1.25, execution="running")
    assert planned.shards() == [shard("i", batch_id="batch_1", status="in_progress", created=1.25, execution="running")]
    planned.update_shard("i")
    with pytest.raises(StoreError, match="doesn't know the batch 'j'"):
        planned.update_shard("j", status="x")


@pytest.mark.parametrize(
    ("name", "told"),
    [("batch", "no field 'batch'; did you mean 'batch_id'"), ("job", "'job' is what"), ("worker", "no field")],
)
def test_other_fields_are_refused_by_name(planned, name, told):
    with pytest.raises(UsageError, match=told):
        planned.update_shard("i", **{name: "x"})
    with pytest.raises(UsageError, match=told):
        planned.move_shard("i", of=["planned"], to="creating", **{name: "x"})
    assert planned.shards() == [shard("i")]


def test_a_shard_moves_only_from_where_it_is(planned):
    assert not planned.move_shard("i", of=("uploaded", "creating"), to="running")
    assert planned.move_shard("i", of=("uploaded", "planned"), to="creating", attempts=1)
    assert not planned.move_shard("i", of=("uploaded", "planned"), to="creating", attempts=2)
    assert planned.shards() == [shard("i", execution="creating", attempts=1)]


def test_what_a_living_worker_has_no_other_takes(planned, two):
    assert planned.is_ours("i")
    assert not two.is_ours("i")
    assert not two.move_shard("i", of=["planned"], to="creating")
    assert not two.take_job(JOB.id)
    assert two.adopt_job("q") is None
    assert planned.adopt_job("q") is None  # it has it already
    assert planned.take_job(JOB.id)
    assert two.is_worked_on(JOB.id)


def test_what_a_worker_leaves_is_the_next_ones(planned, two):
    planned.leave()
    assert planned.is_ours("i")
    assert two.is_ours("i")
    assert not two.is_worked_on(JOB.id)
    assert two.adopt_job("q") == JOB
    assert two.move_shard("i", of=["planned"], to="creating")
    assert not planned.is_ours("i")
    assert not planned.take_job(JOB.id)
    assert planned.adopt_job("q") is None
    two.leave()
    assert planned.take_job(JOB.id)  # and who has left may come again
    assert not two.take_job(JOB.id)


def test_a_worker_that_nobody_holds_has_left(store, two):
    gone = ledger_of(store)
    assert gone is not None
    gone.open_job(JOB)
    assert two.adopt_job("q") is None
    del gone
    gc.collect()
    assert two.adopt_job("q") == JOB


def test_a_worker_whose_first_write_failed_is_known_by_its_next(two, store):
    two.open_job(JOB)
    one = ledger_of(store)
    assert one is not None
    with pytest.raises(StoreError, match="SQLITE_CONSTRAINT"):
        one.open_job(JOB)
    one.open_job(job("job-b"))
    assert two.is_worked_on("job-b")
    assert not two.take_job("job-b")


def test_the_latest_unfinished_job_of_a_question_that_is_free_is_adopted(one, two, store):
    one.open_job(job("job-a", created=1.0))
    one.open_job(job("job-b", created=2.0))
    one.open_job(job("job-c", created=3.0, finished=True))
    one.open_job(job("job-d", created=4.0, question="other"))
    one.leave()
    three = ledger_of(store)
    assert three is not None
    assert two.adopt_job("q") == job("job-b", created=2.0)
    assert three.adopt_job("q") == job("job-a", created=1.0)
    assert two.adopt_job("q") is three.adopt_job("q") is None


def test_batches_are_told_by_when_they_were_meant(planned, two):
    planned.plan_shard(shard("j", batch_id="b2", planned=200.0), [])
    planned.plan_shard(shard("k", batch_id="b3", planned=300.0), [])
    planned.update_shard("i", batch_id="b1")
    assert two.batch_ids(since=0.0) == ["b1", "b2", "b3"]
    assert two.batch_ids(since=200.0) == ["b2", "b3"]


def test_a_request_waits_in_a_shard_as_long_as_that_may_come_to_something(planned, two):
    keys = [key("a"), key("b"), key("nowhere"), key("a")]
    waiting = {key("a"): "i", key("b"): "i"}
    assert two.open_shards(keys) == waiting
    for execution in ("uploaded", "creating", "running", "ended"):
        planned.update_shard("i", execution=execution)
        assert two.open_shards(keys) == waiting
    planned.update_shard("i", collection="partial")
    assert two.open_shards(keys) == waiting
    for collection in ("done", "gone"):
        planned.update_shard("i", collection=collection)
        assert two.open_shards(keys) == {}
    for execution in ("failed", "lost", "abandoned"):
        planned.update_shard("i", execution=execution, collection="none")
        assert two.open_shards(keys) == {}
    assert two.open_shards([]) == {}


def test_of_two_shards_that_ask_the_same_the_first_is_waited_for(planned, two):
    planned.open_job(job("job-b"))
    planned.plan_shard(shard("j", job="job-b"), lines("a", "d"))
    assert two.open_shards([key("a"), key("d")]) == {key("a"): "i", key("d"): "j"}
    planned.settle("i", [(key("a"), FAILED)], [])
    assert two.open_shards([key("a")]) == {key("a"): "j"}


def test_a_shard_of_requests_that_another_has_is_not_written(planned, two):
    two.open_job(job("job-b"))
    seen = two.mark()
    other = shard("j", job="job-b")
    assert two.plan_shard(other, lines("a", "d"), seen=seen) == {key("a")}
    assert two.shards(intents=["j"]) == []
    planned.settle("i", [(key("a"), KEPT), (key("b"), FAILED)], [(key("a"), ANSWER)])
    assert two.plan_shard(other, lines("b", "c", "d"), seen=seen) == {key("c")}
    assert two.plan_shard(other, lines("a", "b", "d"), seen=seen) == set()  # whoever looks after this mark sees `a`
    assert len(two.lines("j")) == 3


def test_a_shard_of_requests_that_were_answered_since_the_mark_is_not_written(one, two):
    two.open_job(job("job-b"))
    seen = two.mark()
    one.open_job(JOB)
    one.plan_shard(shard("i"), lines("a", "b"))
    one.settle("i", [(key("a"), KEPT), (key("b"), FAILED)], [(key("a"), ANSWER)])
    assert two.plan_shard(shard("j", job="job-b"), lines("a", "b"), seen=seen) == {key("a")}
    assert two.plan_shard(shard("j", job="job-b"), lines("a", "b"), seen=two.mark()) == set()


def test_answers_and_what_became_of_their_lines_are_kept_together(planned, two, store):
    planned.settle("i", [(key("a"), KEPT), (key("b"), FAILED)], [(key("a"), ANSWER)])
    assert store.get_many([key("a")]) == {key("a"): ANSWER}
    assert two.outcomes(JOB.id, [key("a"), key("b"), key("c"), key("nowhere")]) == {
        key("a"): dataclasses.replace(KEPT, intent="i"),
        key("b"): dataclasses.replace(FAILED, intent="i"),
    }
    assert two.counts(JOB.id) == {"kept": 1, "failed": 1, "open": 1}
    assert two.open_shards([key("a"), key("b"), key("c")]) == {key("c"): "i"}


def test_a_batchs_answer_is_kept_with_its_evidence(planned, store):
    sure = dataclasses.replace(ANSWER, evidence='{"label":[0.9,0.1]}')
    planned.settle("i", [(key("a"), KEPT), (key("b"), KEPT)], [(key("a"), sure), (key("b"), ANSWER)])
    assert store.get_many([key("a"), key("b")]) == {key("a"): sure, key("b"): ANSWER}


def test_a_line_that_is_settled_stays_as_it_is_and_late_answers_are_kept(planned, store):
    planned.settle("i", [(key("a"), FAILED), (key("a"), KEPT)], [])
    planned.settle("i", [(key("a"), KEPT)], [(key("a"), ANSWER)])
    assert planned.settle_rest("i", LineOutcome(state="missing", kind="batch_missing")) == 2
    assert planned.settle_rest("i", LineOutcome(state="missing", kind="batch_missing")) == 0
    assert planned.counts(JOB.id) == {"failed": 1, "missing": 2}
    assert store.get_many([key("a")]) == {key("a"): ANSWER}


def test_answers_of_unknown_lines_and_shards_are_kept(planned, store):
    planned.settle("i", [(key("nowhere"), KEPT)], [(key("nowhere"), ANSWER)])
    planned.settle("none", [(key("a"), KEPT)], [(key("d"), ANSWER)])
    assert store.get_many([key("nowhere"), key("d")]) == {key("nowhere"): ANSWER, key("d"): ANSWER}
    assert planned.counts(JOB.id) == {"open": 3}


def test_what_cannot_be_kept_settles_nothing(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite")
    ledger = store.open_ledger()
    ledger.open_job(JOB)
    ledger.plan_shard(shard("i"), lines("a", "b"))
    with pytest.raises(UnicodeEncodeError):
        ledger.settle("i", [(key("a"), KEPT)], [(key("b"), ANSWER), (key("a"), Stored("\ud800"))])
    assert ledger.counts(JOB.id) == {"open": 2}
    assert store.get_many([key("b")]) == {}
    store.close()


@pytest.mark.parametrize("state", ["kept", "failed", "expired", "cancelled", "missing"])
def test_every_outcome_comes_back(planned, state):
    outcome = LineOutcome(state=state, kind="context_length", detail="ü\0 1", usage=Usage(2**40, None, 3))
    planned.settle("i", [(key("b"), outcome)], [])
    assert planned.outcomes(JOB.id, [key("b")]) == {key("b"): dataclasses.replace(outcome, intent="i")}
    assert planned.counts(JOB.id) == {state: 1, "open": 2}


@pytest.mark.parametrize("kind", ["refusal", "invalid", "truncated", "tool_call"])
def test_words_that_may_quote_the_model_are_not_kept(planned, kind):
    planned.settle("i", [(key("b"), LineOutcome(state="failed", kind=kind, detail="a quote"))], [])
    assert planned.outcomes(JOB.id, [key("b")])[key("b")] == LineOutcome(state="failed", kind=kind, intent="i")


def test_half_a_character_of_a_provider_costs_no_line(planned):
    planned.settle("i", [(key("b"), LineOutcome(state="failed", kind="server", detail="\ud800"))], [])
    assert planned.outcomes(JOB.id, [key("b")])[key("b")].detail == "?"


def test_a_request_that_is_asked_again_counts_once_by_its_latest_line(planned, two):
    planned.settle("i", [(key("a"), FAILED), (key("b"), KEPT)], [])
    planned.plan_shard(shard("j", number=1), lines("a", "c"))
    assert two.counts(JOB.id) == {"kept": 1, "open": 2}
    assert two.outcomes(JOB.id, [key("a"), key("c")]) == {key("a"): dataclasses.replace(FAILED, intent="i")}
    planned.settle("j", [(key("a"), KEPT)], [])
    assert two.counts(JOB.id) == {"kept": 2, "open": 1}
    assert two.outcomes(JOB.id, [key("a")]) == {key("a"): dataclasses.replace(KEPT, intent="j")}


def test_the_same_request_in_two_jobs_has_an_outcome_in_each(planned, two):
    planned.open_job(job("job-b"))
    planned.plan_shard(shard("j", job="job-b"), lines("a"))
    planned.settle("j", [(key("a"), KEPT)], [])
    assert two.counts(JOB.id) == {"open": 3}
    assert two.outcomes(JOB.id, [key("a")]) == {}
    assert two.outcomes("job-b", [key("a")]) == {key("a"): dataclasses.replace(KEPT, intent="j")}


def test_keys_that_begin_alike_are_told_apart(one):
    alike = [b"\xff" * 8 + bytes([i]) * 24 for i in range(3)]
    one.open_job(JOB)
    one.plan_shard(shard("i"), [LineRecord(i, 0, each) for i, each in enumerate(alike[:2])])
    assert one.open_shards(alike) == dict.fromkeys(alike[:2], "i")
    one.settle("i", [(alike[1], KEPT), (alike[2], FAILED)], [])
    assert one.open_shards(alike) == {alike[0]: "i"}
    assert list(one.outcomes(JOB.id, alike)) == [alike[1]]
    one.plan_shard(shard("j"), [LineRecord(0, 0, alike[2])])
    assert one.counts(JOB.id) == {"open": 2, "kept": 1}


def test_a_thousand_lines_are_found_and_settled_at_once(one):
    names = range(1300)
    one.open_job(JOB)
    one.plan_shard(shard("i"), lines(*names))
    keys = [key(name) for name in names]
    assert one.open_shards(keys) == dict.fromkeys(keys, "i")
    one.settle("i", [(each, KEPT) for each in keys[:700]], [(each, ANSWER) for each in keys[:700]])
    assert len(one.outcomes(JOB.id, keys)) == 700
    assert one.counts(JOB.id) == {"kept": 700, "open": 600}
    assert one.lines("i") == lines(*names)


def test_a_finished_job_is_forgotten_with_its_lines_and_its_answers_stay(planned, two, store):
    planned.open_job(job("job-b"))
    planned.plan_shard(shard("j", job="job-b"), lines("a"))
    planned.settle("i", [(key("a"), KEPT)], [(key("a"), ANSWER)])
    with pytest.raises(UsageError, match="'job-aaaaaaaaaa' can't be forgotten: it isn't finished; collect or cancel"):
        two.forget(JOB.id)
    planned.update_job(JOB.id, finished=True)
    two.forget(JOB.id)
    assert [each.id for each in planned.jobs()] == ["job-b"]
    assert planned.shards(job=JOB.id) == planned.lines("i") == []
    assert planned.counts(JOB.id) == {}
    assert planned.open_shards([key("a"), key("b")]) == {key("a"): "j"}
    assert store.get_many([key("a")]) == {key("a"): ANSWER}


def test_a_job_of_which_the_provider_may_have_results_is_not_forgotten(planned):
    planned.update_job(JOB.id, finished=True)
    for execution in ("creating", "running", "ended"):
        planned.update_shard("i", execution=execution)
        with pytest.raises(UsageError, match="1 of its batches may still bring results"):
            planned.forget(JOB.id)
    planned.update_shard("i", collection="done")
    planned.forget(JOB.id)
    assert planned.jobs() == planned.shards() == []


def test_a_users_own_store_has_no_ledger():
    class Own:
        def get_many(self, keys):
            return {}

        def put_many(self, entries):
            pass

    assert ledger_of(Own()) is None


def test_jobs_in_memory_are_those_of_one_store_and_end_with_it():
    first, second = MemoryStore(), MemoryStore()
    ledger = ledger_of(first)
    assert ledger is not None
    ledger.open_job(JOB)
    again, other = ledger_of(first), ledger_of(second)
    assert again is not None
    assert other is not None
    assert again.jobs() == [JOB]
    assert other.jobs() == []


def test_a_line_takes_less_than_a_hundred_bytes(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite")
    ledger = store.open_ledger()
    ledger.open_job(JOB)
    store.prune(older_than=1e9)  # written back
    before = store.info().bytes
    for number in range(2):
        names = range(10_000 * number, 10_000 * number + 10_000)
        ledger.plan_shard(shard(f"i{number}", number=number), lines(*names))
        ledger.settle_rest(f"i{number}", LineOutcome(state="kept", usage=Usage(120, 30, 0)))
    store.prune(older_than=1e9)
    assert (store.info().bytes - before) / 20_000 < 100
    store.close()


def test_a_store_that_was_begun_before_there_were_jobs_gets_them(tmp_path: Path):
    SqliteStore(tmp_path / "a.sqlite").close()
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    assert [name for (name,) in connection.execute(tables)] == ["answers", "claims", "owners", "questions"]
    store = SqliteStore(tmp_path / "a.sqlite")
    ledger = store.open_ledger()
    assert ledger.jobs() == []
    ledger.open_job(JOB)
    assert ledger.jobs() == [JOB]
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)  # older versions go on reading their tables
    connection.close()
    store.close()


def test_a_store_that_was_replaced_says_that_it_does_not_know_the_batch(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite")
    ledger = store.open_ledger()
    ledger.open_job(JOB)
    ledger.plan_shard(shard("i"), lines("a"))
    (tmp_path / "a.sqlite").unlink()
    with pytest.raises(StoreError, match="doesn't know the batch 'i' any more"):
        ledger.update_shard("i", status="x")
    ledger.open_job(job("job-b"))
    assert ledger.is_worked_on("job-b")
    store.close()
