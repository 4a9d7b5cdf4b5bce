"""The ways of shards: where they stand, whose they are, and the provider's queue."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.batch import ways
from llmframe.batch.ways import is_open
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchLimits, BatchState, Problem
from llmframe.stores.base import MemoryStore
from llmframe.stores.jobs import Shard
from tests.batch.doubles import KEYLESS, UNKNOWN, Bench, Call, called, label, now, running, state

FULL = Problem("token_limit_exceeded", "Enqueued token limit reached. Limit: 100,000 enqueued tokens.")


def full(number: int = 1) -> BatchState:
    return state("failed", "failed", id=f"batch-{number}", problems=(FULL,))


def bench_of(lines: int = 1000) -> Bench:
    bench = Bench()
    bench.answer = label
    bench.limits = BatchLimits(lines=lines, bytes=10**6)
    return bench


@pytest.mark.parametrize(
    ("execution", "collection", "open_"),
    [
        ("planned", "none", True),
        ("running", "none", True),
        ("ended", "partial", True),
        ("ended", "done", False),
        ("ended", "gone", False),
        ("failed", "none", False),
        ("abandoned", "done", False),
        ("lost", "none", False),
    ],
)
def test_a_shard_is_open_as_long_as_it_may_come_to_something(execution: Any, collection: Any, open_: bool):  # noqa: FBT001
    assert is_open(Shard(intent="i", job="j", number=0, execution=execution, collection=collection)) == open_


def test_where_batches_stand_is_told_in_a_line():
    bench = bench_of(lines=2)
    bench.states.extend([state(id="batch-1", done=1, failed=0), state(id="batch-2", done=0, failed=1)])
    told: list[str] = []

    async def main() -> None:
        call = Call(range(4), bench)
        assert call.filling._ways.text() == ""
        task = asyncio.create_task(call.end())
        await asyncio.sleep(0.1)
        told.append(call.filling._ways.text())
        await task
        assert call.filling._ways.text() == ""

    running(main())
    assert told == ["2 batches: 2 of 4 requests done (in_progress)"]


def test_it_is_told_when_every_batch_is_at_the_provider():
    bench = bench_of(lines=1)
    bench.states.extend([state(id=f"batch-{1 + number % 3}") for number in range(30)])

    async def main() -> None:
        call = Call(range(3), bench)
        task = asyncio.create_task(call.end())
        while not call.run.batches_at_provider.is_set():
            assert not task.done()
            await asyncio.sleep(0.01)
        assert len(bench.made) == 3
        task.cancel()

    running(main())


def test_a_queue_that_is_full_takes_the_same_file_later():
    bench = bench_of()
    bench.states.extend([full()] * 5)

    async def main() -> float:
        call = await Call(range(3), bench).end()
        assert call.answered == [0, 1, 2]
        assert (len(bench.made), bench.calls["upload"]) == (6, 1)
        assert len(set(bench.made)) == 1
        return now()

    # 5 s, and each pause half as long again: 5 + 7.5 + 11.25 + 16.9 + 25.3
    assert 60 < running(main()) < 80


def test_a_queue_that_stays_full_has_its_own_budget_of_tries(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ways, "ALONE_TRIES", 1000)
    monkeypatch.setattr(ways, "QUEUE_ATTEMPTS", 20)
    bench = bench_of()
    bench.states.extend([full()] * 1000)
    call = called(range(3), bench)
    assert (len(bench.made), bench.calls["upload"]) == (20, 1)
    assert call.run.stop is not None
    assert call.run.stop.kind == "rate_limit"


def test_a_batch_that_fits_nowhere_is_made_smaller_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ways, "ALONE_TRIES", 1)
    monkeypatch.setattr(ways, "QUEUE_ATTEMPTS", 5)
    bench = bench_of()
    bench.states.extend([full()] * 1000)
    call = called(range(16), bench)
    assert call.answered == []
    sizes = [len(batch) for batch in bench.asked]
    assert sizes[:3] == [16, 16, 8]
    # halves, quarters and eighths of the whole, each time with a remainder
    assert len(set(bench.made)) <= 1 + 3 + 5 + 9


def test_a_batch_that_the_provider_does_not_know_is_given_up_and_asked_again():
    class Forgets(Bench):
        async def state(self, batch_id: str) -> BatchState:
            if batch_id == "batch-1":
                raise UNKNOWN
            return await super().state(batch_id)

    bench = Forgets()
    bench.answer = label
    call = called(range(3), bench)
    assert call.answered == [0, 1, 2]
    assert bench.asked == [[0, 1, 2]] * 2
    assert ["batch-1" in note and "paid again" in note for note in call.run.metrics.notes] == [True]


def test_results_that_are_gone_are_noted():
    bench = bench_of()
    bench.answer = label
    bench.fault("results", *[UNKNOWN] * 100)
    notes = called(range(1), bench, fallback=None).run.metrics.notes
    assert ["results of the batch batch-1 are there no more" in note for note in notes] == [True]


def test_a_word_that_is_not_known_is_noted_once():
    bench = bench_of()
    bench.states.extend([state("dreaming")] * 50 + [state("paused")] * 50)
    notes = called(range(1), bench).run.metrics.notes
    assert [("'dreaming'" in note, "'paused'" in note) for note in notes] == [(True, False), (False, True)]


@pytest.mark.parametrize("call_", ["upload", "create", "state", "results"])
def test_what_the_provider_refuses_for_good_stops_the_run_and_other_batches_end(call_: str):
    bench = bench_of(lines=2)
    bench.fault(call_, *[KEYLESS] * (1 if call_ != "results" else 16))
    call = called(range(4), bench)
    assert call.run.stop is not None
    assert call.run.stop.kind == "auth"
    assert len(call.answered) in (0, 2)


def test_a_fault_that_would_pass_says_how_to_go_on():
    bench = bench_of()
    bench.fault("upload", *[RequestError("server", "down", status=500)] * 8)
    call = called(range(2), bench)
    assert "the same call again goes on where the batches stand" in call.run.metrics.notes


def test_a_batch_of_another_worker_is_watched_and_taken_over_when_that_one_leaves():
    store, bench = MemoryStore(), bench_of()
    bench.states.extend([state()] * 300)

    async def main() -> None:
        first = Call(range(3), bench, store=store)
        working = asyncio.create_task(first.end())
        await asyncio.sleep(1)
        second = Call(range(3), bench, store=store)
        watching = asyncio.create_task(second.end())
        await asyncio.sleep(60)
        assert not watching.done()
        assert second.run.metrics.batches == 0
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        bench.states.clear()
        await watching
        assert (second.answered, bench.made, second.run.metrics.batches) == ([0, 1, 2], bench.made[:1], 1)

    running(main())


def test_what_another_worker_collects_is_there_without_a_look_of_ones_own():
    store, bench = MemoryStore(), bench_of()
    bench.states.extend([state()] * 5)

    async def main() -> None:
        calls = [Call(range(3), bench, store=store) for _ in range(2)]
        await asyncio.gather(*[call.end() for call in calls])
        assert [call.answered for call in calls] == [[0, 1, 2]] * 2
        assert bench.calls["results"] == 1

    running(main())
