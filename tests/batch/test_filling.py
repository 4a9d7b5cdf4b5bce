"""Rounds of batches until each request has its answer or its end, whatever a call finds when it begins."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchLimits, BatchState
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.stores.base import MemoryStore, Stored
from tests.batch.doubles import (
    DOWN,
    KEYLESS,
    REFUSED,
    RESET,
    Bench,
    Call,
    LostError,
    called,
    key,
    label,
    running,
    state,
)
from tests.engine.doubles import say

EXPIRED = RequestError("batch_expired", "late")


def bench_of(answer: Any = label, *, kind: type[Bench] = Bench, **limits: int) -> Bench:
    bench = kind()
    bench.answer = answer
    bench.limits = BatchLimits(**{"lines": 1000, "bytes": 10**6, **limits})
    return bench


def test_each_request_is_asked_once_however_often_it_is_drawn():
    bench = bench_of()
    call = called([1, 2, 1, 3, 3, 2, 1], bench)
    assert call.answered == [1, 2, 1, 3, 3, 2, 1]
    assert bench.asked == [[1, 2, 3]]


def test_without_anything_to_ask_nobody_is_asked_and_no_job_begun():
    store, bench = MemoryStore(), bench_of()
    store.put_many([(key(1), Stored('{"response":"neg"}', Usage(1, 1, 0)))])
    call = called([1], bench, store=store)
    assert (call.jobs, bench.calls.total()) == ([], 0)
    assert call.account.of([key(1)]) == {}


def test_requests_are_packed_by_the_providers_limits_in_their_order():
    bench = bench_of(lines=3)
    call = called(range(8), bench)
    assert sorted(bench.asked) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [(shard.number, shard.lines) for shard in call.ledger.shards()] == [(0, 3), (1, 3), (2, 2)]
    assert call.run.metrics.batches == 3


def test_the_job_is_finished_and_nothing_of_it_stays_on_the_disk():
    call = called(range(3), bench_of())
    (job,) = call.jobs
    assert (job.finished, job.rows, call.run.job_id) == (True, 3, job.id)
    assert not call.filling._folder.exists()
    assert call.ledger.adopt_job("q") is None


def once(error: RequestError, *numbers: int) -> Any:
    """These requests get an error the first time."""
    return lambda number, mode, times: error if number in numbers and not times else label(number)


@pytest.mark.parametrize(("fallback", "rounds"), [("batch", 3), ("live", 1), (None, 1)])
def test_what_is_left_over_goes_into_two_further_batches_at_most(fallback: Any, rounds: int):
    bench = bench_of(lambda number, *_: EXPIRED if number == 2 else label(number))
    call = called(range(4), bench, fallback=fallback)
    assert bench.asked == [[0, 1, 2, 3], [2], [2]][:rounds]
    assert call.failure(2) == (None if fallback == "live" else "batch_expired")
    assert call.account.left is None or fallback != "live"


def test_what_heals_is_answered_by_the_next_batch():
    bench = bench_of(once(DOWN, 1, 3))
    call = called(range(4), bench)
    assert (call.answered, bench.asked) == ([0, 1, 2, 3], [[0, 1, 2, 3], [1, 3]])
    assert call.account.of([key(1)])[key(1)].attempts == 2


def test_what_fails_of_itself_is_asked_once():
    bench = bench_of(lambda number, *_: REFUSED if number == 1 else label(number))
    call = called(range(3), bench)
    assert (bench.asked, call.failure(1)) == ([[0, 1, 2]], "bad_request")


def test_an_invalid_reply_is_shown_with_what_was_wrong():
    bench = bench_of(lambda number, _, times: say("odd") if number == 1 and not times else label(number))
    call = called(range(3), bench)
    assert (call.answered, bench.asked) == ([0, 1, 2], [[0, 1, 2], [1]])
    assert "'odd'" in bench.shown[-1]


def test_a_refused_form_is_a_round_that_does_not_count():
    refused = RequestError("bad_request", "no", status=400, param="response_format")
    bench = bench_of(lambda number, mode, _: label(number) if mode == "json" else refused)
    call = called(range(3), bench, fallback=None)
    assert (call.answered, bench.asked) == ([0, 1, 2], [[0, 1, 2]] * 3)
    assert [shard.mode for shard in call.ledger.shards()] == ["json_schema", "tools", "json"]


def test_lines_of_two_forms_never_share_a_batch():
    refused = RequestError("bad_request", "no", status=400, param="response_format")
    bench = bench_of(lambda number, mode, _: label(number) if mode == "tools" else refused, lines=2)
    call = called(range(12), bench, chunk=1)
    assert call.answered == list(range(12))
    forms = dict(zip(bench.made, bench.forms, strict=True))  # batches under way at once are made in any order
    for shard in call.ledger.shards():
        assert forms[shard.intent] == {shard.mode}


# Coming back -------------------------------------------------------------------------------------------------------


async def left(bench: Bench, store: MemoryStore, numbers: Any, **options: Any) -> None:
    """A call that is cancelled while its batches run, as a process ends."""
    bench.states.extend([state()] * 100)
    task = asyncio.create_task(Call(numbers, bench, store=store, **options).end())
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    bench.states.clear()


def test_the_same_call_later_waits_for_the_same_batch():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        await left(bench, store, range(3))
        call = await Call(range(3), bench, store=store).end()
        assert (call.answered, bench.asked) == ([0, 1, 2], [[0, 1, 2]])
        (job,) = call.jobs
        assert job.finished
        assert call.run.job_id == job.id

    running(main())


def test_rows_that_came_since_are_a_batch_of_the_same_job():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        await left(bench, store, range(3))
        call = await Call(range(5), bench, store=store).end()
        assert bench.asked == [[0, 1, 2], [3, 4]]
        assert len(call.jobs) == 1

    running(main())


def test_a_call_about_other_rows_waits_for_none_of_its_jobs_batches():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        await left(bench, store, range(3))
        call = await Call([7], bench, store=store).end()
        assert (call.answered, call.run.metrics.batches) == ([7], 1)
        (job,) = call.jobs
        assert not job.finished  # somebody still has to come for the other batch
        again = await Call(range(3), bench, store=store).end()
        assert (again.answered, len(bench.made)) == ([0, 1, 2], 2)
        assert again.jobs[0].finished

    running(main())


def test_another_question_is_another_job_and_a_batch_that_asks_the_same_is_shared():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        await left(bench, store, range(3))
        call = await Call(range(1, 5), bench, store=store, question="other").end()
        assert call.answered == [1, 2, 3, 4]
        assert bench.asked == [[0, 1, 2], [3, 4]]
        assert len(call.jobs) == 2

    running(main())


class OneEnds(Bench):
    """Of its batches the one that asks the request 0 ends, the others go on until `others_end`."""

    others_end = False

    async def state(self, batch_id: str) -> BatchState:
        told = await super().state(batch_id)
        asked = self.asked[int(batch_id.removeprefix("batch-")) - 1]
        return told if self.others_end or 0 in asked else state(id=batch_id)


def test_what_failed_for_good_in_an_earlier_call_of_the_job_is_told_and_not_asked():
    store = MemoryStore()
    bench = bench_of(lambda number, *_: REFUSED if number == 0 else label(number), kind=OneEnds, lines=2)

    async def main() -> None:
        task = asyncio.create_task(Call(range(4), bench, store=store).end())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bench.others_end = True
        call = await Call(range(4), bench, store=store).end()
        assert (call.answered, call.failure(0)) == ([1, 2, 3], "bad_request")
        told = call.account.of([key(0)])[key(0)]
        assert (told.attempts, told.usage, told.usd) == (0, Usage(0, 0, 0), 0.0)
        assert sorted(bench.asked) == [[0, 1], [2, 3]]
        # with the job finished the next call asks it once more
        await Call(range(4), bench, store=store).end()
        assert bench.asked[2:] == [[0]]

    running(main())


@pytest.mark.parametrize("moment", ["planned", "uploaded", "creating", "made"])
def test_wherever_an_earlier_call_ended_one_batch_is_made(moment: str):
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        error = KEYLESS if moment in ("planned", "uploaded") else LostError(RESET) if moment == "made" else RESET
        bench.fault("upload" if moment == "planned" else "create", error)
        if moment in ("creating", "made"):
            bench.fault("find", KEYLESS)  # whose outcome stays unknown
        first = await Call(range(3), bench, store=store).end()
        assert first.run.stop is not None
        assert first.answered == []
        call = await Call(range(3), bench, store=store).end()
        assert (call.answered, bench.asked) == ([0, 1, 2], [[0, 1, 2]])

    running(main())


def test_a_refresh_asks_what_the_store_has_and_a_later_call_goes_on_with_it():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        await asyncio.sleep(10)
        await Call(range(3), bench, store=store).end()
        await asyncio.sleep(10)
        await left(bench, store, range(3), fresh=True)
        await asyncio.sleep(10)
        call = await Call(range(3), bench, store=store, fresh=True).end()
        assert bench.asked == [[0, 1, 2]] * 2
        assert 19.9 < call.filling.since < 30
        await asyncio.sleep(10)
        await Call(range(3), bench, store=store, fresh=True).end()
        assert len(bench.asked) == 3

    running(main())


def test_a_cancelled_job_is_sent_no_further_and_its_rows_say_so():
    bench = bench_of(lambda number, *_: None, lines=2)
    bench.states.extend([state(id="batch-1")] * 3)

    async def main() -> None:
        call = Call(range(2), bench)
        task = asyncio.create_task(call.end())
        await asyncio.sleep(0.5)
        call.ledger.update_job(call.jobs[0].id, cancelled=True)
        await task
        assert bench.asked == [[0, 1]]
        assert call.account.left is not None
        assert call.account.left.kind == "cancelled"

    running(main())


# Faults and money --------------------------------------------------------------------------------------------------


def test_a_key_that_is_refused_stops_the_run_and_leaves_the_job_open():
    bench = bench_of()
    bench.fault("create", KEYLESS)
    call = called(range(3), bench)
    assert call.run.stop is not None
    assert call.run.stop.kind == "auth"
    assert bench.calls["close"] == 1


def test_money_is_set_aside_before_a_batch_is_made_and_given_back():
    bench = bench_of(lambda number, *_: replace(label(number), usage=Usage(6, 2, 0)))
    call = called(range(6), bench, budget={"calls": 4})
    assert call.run.budget is not None
    assert bench.asked == [[0, 1, 2, 3]]
    assert (call.run.budget.spent_calls, call.run.budget._reserved["calls"]) == (4, 0)
    assert call.run.stop is not None
    assert call.run.stop.kind == "budget"


def test_what_estimates_set_aside_too_much_is_spent_in_further_batches():
    bench = bench_of(lambda number, *_: replace(label(number), usage=Usage(6, 2, 0)))
    call = called(range(9), bench, budget={"tokens": 500}, fallback=None)
    assert call.answered == list(range(9))
    assert len(bench.made) > 1
    assert call.run.budget is not None
    assert call.run.budget.spent_tokens == 9 * 8


def test_a_call_that_is_left_takes_what_it_set_aside_for_batches_that_go_on():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        bench.states.extend([state()] * 100)
        call = Call(range(3), bench, store=store, budget={"calls": 9})
        task = asyncio.create_task(call.end())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert call.run.budget is not None
        assert (call.run.budget.spent_calls, call.run.budget._reserved["calls"]) == (3, 0)

    running(main())


def test_two_calls_at_once_make_one_batch_of_what_both_ask():
    store, bench = MemoryStore(), bench_of()

    async def main() -> None:
        calls = [Call(range(4), bench, store=store), Call(range(2, 6), bench, store=store)]
        await asyncio.gather(*[call.end() for call in calls])
        assert [call.answered for call in calls] == [[0, 1, 2, 3], [2, 3, 4, 5]]
        assert sorted(number for batch in bench.asked for number in batch) == [0, 1, 2, 3, 4, 5]

    running(main())


ANSWERS = st.sampled_from(["answer", "invalid", "down", "expired", "refused", "missing"])


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 9), max_size=20),
    st.dictionaries(st.integers(0, 9), st.lists(ANSWERS, max_size=3)),
    st.sampled_from(["batch", "live", None]),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_every_request_ends_answered_or_failed_or_is_left_to_live_asking(
    numbers: list[int], script: dict[int, list[str]], fallback: Any, lines: int, reask: int
):
    said: dict[str, Any] = {"invalid": say("odd"), "down": DOWN, "expired": EXPIRED, "refused": REFUSED}

    def answer(number: int, _: str, times: int) -> Reply | RequestError | None:
        steps = script.get(number, [])
        step = steps[times] if times < len(steps) else "answer"
        return label(number) if step == "answer" else said.get(step)

    bench = bench_of(answer, lines=lines)
    call = called(numbers, bench, fallback=fallback, reask=reask)
    asked = [number for batch in bench.asked for number in batch]
    for number in set(numbers):
        tries = [*script.get(number, []), "answer"]
        tries = tries[: tries.index("answer")]
        answered = number in call.answered
        assert 1 <= asked.count(number) <= (3 if fallback == "batch" else 1)
        assert answered == (asked.count(number) > len(tries))
        if answered or fallback == "live":
            assert answered or call.failure(number) in (None, "bad_request", "invalid")
        else:
            assert call.failure(number) is not None
    assert set(asked) == set(numbers)
    assert all(len(batch) <= lines for batch in bench.asked)
