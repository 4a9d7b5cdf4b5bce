from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llmframe.batch import by_id
from llmframe.batch.collecting import KEPT_SECONDS
from llmframe.batch.desk import Desk
from llmframe.batch.submitting import create
from llmframe.clients.base import RequestError
from llmframe.clients.batch import UndecidedError, Vectors
from llmframe.core.embeddings import unwrapped
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall
from llmframe.stores.base import MemoryStore
from llmframe.stores.jobs import JobRecord, LineRecord, Shard
from llmframe.stores.ledger import ledger_of
from tests.batch.doubles import DOWN, INTENT, JOB, KEYLESS, UNKNOWN, Bench, at_desk, now, plan, running

SHARD = Shard(intent="00000000000000aa", job="job-1", number=0, execution="planned", tool="Answer", lines=2)
KEYS = [bytes([number]) * 32 for number in range(2)]


def read(answer: Any, records: int = 1) -> list[Any]:
    lines = [LineRecord(0, place, KEYS[place]) for place in range(records)]
    return list(by_id.reader_of(SHARD, lambda: 7.0).read(lines, answer))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(text='{"label": "pos"}'), '{"label": "pos"}'),
        (Reply(text=" any text "), " any text "),
        (Reply(text=None, tool_calls=(ToolCall("Answer", '{"label": 1}'),)), '{"label": 1}'),
    ],
)
def test_a_reply_is_kept_as_it_came(reply: Reply, text: str):
    ((outcome, entry),) = read(reply)
    assert (outcome.state, entry.text, entry.created) == ("kept", text, 7.0)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(text="cut", finish_reason="length"), "truncated"),
        (Reply(text="", finish_reason="stop"), "empty"),
        (Reply(text=None, refusal="no"), "refusal"),
        (Reply(text="x", finish_reason="content_filter"), "content_filter"),
        (Reply(text=None, tool_calls=(ToolCall("Other", "{}"),)), "tool_call"),
    ],
)
def test_what_is_no_answer_is_not_kept(reply: Reply, kind: str):
    ((outcome, entry),) = read(reply)
    assert (outcome.state, outcome.kind, entry) == ("failed", kind, None)


def test_each_text_of_a_line_has_its_vector_and_its_share_of_the_tokens():
    one, two = b"\0\0\x80?", b"\0\0\0@"
    (first, second) = read(Vectors(values=(one, two), usage=Usage(9, 0, 0)), records=2)
    assert [unwrapped(entry.text) for _, entry in (first, second)] == [one, two]
    assert [outcome.usage.input_tokens for outcome, _ in (first, second)] == [4, 5]


def test_a_text_without_a_vector_has_failed():
    (_, (outcome, entry)) = read(Vectors(values=(b"\0\0\x80?",)), records=2)
    assert (outcome.state, outcome.kind, entry) == ("failed", "invalid", None)


class Nobody:
    """A provider that must not be asked."""


def desk() -> Desk:
    ledger = ledger_of(MemoryStore())
    assert ledger is not None
    ledger.open_job(
        JobRecord(id="job-1", created=0.0, provider="openai", identity="https://x/v1", model="m", question="q")
    )
    ledger.plan_shard(SHARD, [LineRecord(0, 0, KEYS[0]), LineRecord(1, 0, KEYS[1])])
    return Desk(ledger=ledger, batches=Nobody())  # type: ignore[arg-type]


def test_a_batch_that_was_never_made_is_cancelled_without_the_provider():
    here = desk()
    assert asyncio.run(by_id.cancel(here, "job-1")) == 1
    (shard,) = here.ledger.shards(job="job-1")
    job = here.ledger.job("job-1")
    assert (shard.execution, job is not None and job.cancelled) == ("abandoned", True)
    here.ledger.leave()
    assert asyncio.run(by_id.cancel(here, "job-1")) == 0


def test_a_batch_that_another_process_is_making_is_stopped_as_soon_as_it_is_made():
    class Cancelled(Bench):
        async def create(self, source: str | Path, *, intent: str) -> Any:
            other = ledger_of(store)
            assert other is not None
            assert await by_id.cancel(Desk(ledger=other, batches=self), JOB.id) == 1
            assert self.calls["cancel"] == 0
            return await super().create(source, intent=intent)

    store, bench = MemoryStore(), Cancelled()

    async def work() -> None:
        mine = ledger_of(store)
        assert mine is not None
        mine.open_job(JOB)
        here = Desk(ledger=mine, batches=bench)
        shard = await create(here, await here.move(plan(here), "uploaded", file_id="file-1"), "file-1")
        assert (shard.execution, bench.made, bench.calls["cancel"]) == ("running", [INTENT], 1)

    running(work())


@pytest.mark.parametrize("was_made", [True, False])
def test_a_batch_whose_making_was_broken_off_is_looked_for_and_stopped(was_made: bool):  # noqa: FBT001
    async def work(here: Desk, bench: Bench) -> None:
        bench.made += [INTENT] * was_made
        await here.move(plan(here), "creating", file_id="file-1", created=0.0)
        assert await by_id.cancel(here, JOB.id) == 1
        (shard,) = here.ledger.shards(job=JOB.id)
        assert (shard.execution, bench.calls["cancel"]) == (("running", 1) if was_made else ("abandoned", 0))
        assert bench.calls["create"] == 0

    at_desk(work)


def shards(desk: Desk, number: int) -> list[Shard]:
    """So many batches of two requests each."""
    intents = [f"{at:016x}" for at in range(number)]
    return [plan(desk, range(2 * at, 2 * at + 2), intent=intents[at], number=at) for at in range(number)]


@pytest.mark.parametrize("error", [DOWN, KEYLESS], ids=["for a while", "for good"])
def test_a_batch_that_will_not_be_stopped_keeps_nobody_from_stopping_the_others(error: RequestError):
    bench = Bench()
    bench.fault("cancel", error)

    async def work(here: Desk, _: Bench) -> None:
        for each in shards(here, 3):
            await here.move(each, "running", batch_id=f"batch-{each.number}")
        if error is DOWN:
            assert await by_id.cancel(here, JOB.id) == 3
        else:
            with pytest.raises(RequestError, match="no"):
                await by_id.cancel(here, JOB.id)
        told = [each.status for each in here.ledger.shards(job=JOB.id)]
        assert told == ([None] if error is KEYLESS else ["cancelling"]) + ["cancelling"] * 2

    at_desk(work, bench)


def test_a_batch_that_is_not_known_keeps_nobody_from_collecting_the_others():
    bench = Bench()
    bench.fault("state", UNKNOWN)

    async def work(here: Desk, _: Bench) -> None:
        for each in shards(here, 3):
            await here.move(each, "running", batch_id=f"batch-{each.number}", created=0.0)
        with pytest.raises(RequestError, match="no such thing"):
            await by_id.collect_ended(here, JOB.id)
        assert [each.collection for each in here.ledger.shards(job=JOB.id)] == ["none", "done", "done"]
        assert await by_id.collect_ended(here, JOB.id) == 0

    at_desk(work, bench)


def test_a_batch_that_nobody_can_tell_of_is_looked_for_so_long_and_no_longer():
    bench = Bench()
    bench.fault("find", *[UndecidedError()] * 1000)

    async def work(here: Desk, _: Bench) -> None:
        await here.move(plan(here), "creating", created=0.0)
        assert await by_id.cancel(here, JOB.id) == 1
        assert by_id.FIND_SECONDS <= now() < 2 * by_id.FIND_SECONDS
        (shard,) = here.ledger.shards(job=JOB.id)
        assert shard.execution == "creating"

    at_desk(work, bench)


@pytest.mark.parametrize("age", ["young", "old"])
@pytest.mark.parametrize("execution", ["running", "ended"])
def test_only_a_batch_as_old_as_results_may_be_is_given_up_when_it_is_not_known(execution: Any, age: str):
    bench = Bench()
    bench.fault("state", *[UNKNOWN] * 1000)

    async def work(here: Desk, _: Bench) -> None:
        await here.move(plan(here), execution, batch_id="batch-1", created=0.0)
        await asyncio.sleep(KEPT_SECONDS if age == "old" else KEPT_SECONDS / 2)
        if age == "young":
            for ask in (by_id.wait_for_end, by_id.collect_ended)[execution == "ended" :]:
                with pytest.raises(RequestError, match="no such thing"):
                    await ask(here, JOB.id)
            assert here.ledger.counts(JOB.id) == {"open": 3}
        else:
            assert await by_id.collect_ended(here, JOB.id) == 0
            assert here.ledger.counts(JOB.id) == {"missing": 3}
            assert await by_id.wait_for_end(here, JOB.id)

    at_desk(work, bench)


def test_a_job_whose_batches_are_all_given_up_is_waited_for_and_collected_at_once():
    here = desk()
    here.ledger.update_shard(SHARD.intent, execution="abandoned")
    here.ledger.leave()
    assert asyncio.run(by_id.wait_for_end(here, "job-1", timeout=0.0)) in (True, False)
    assert asyncio.run(by_id.wait_for_end(here, "job-1")) is True
    assert asyncio.run(by_id.collect_ended(here, "job-1")) == 0
    job = here.ledger.job("job-1")
    assert job is not None
    assert job.finished
    assert asyncio.run(by_id.retry(here, "job-1")) == 0


def test_as_long_as_a_process_sends_batches_the_wait_goes_on():
    here = desk()
    assert asyncio.run(by_id.wait_for_end(here, "job-1", timeout=0.01)) is False
