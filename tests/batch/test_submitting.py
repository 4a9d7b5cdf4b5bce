"""From a written intent to a batch, through every fault and every end of a process: never a second one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llmframe.batch import submitting
from llmframe.batch.desk import Desk, NotOursError
from llmframe.batch.submitting import LATE_SECONDS, SETTLE_SECONDS, UNSEEN_TRIES, adopt, create, find, upload
from llmframe.clients.base import RequestError
from llmframe.clients.batch import NO_BATCH_API, UndecidedError
from llmframe.stores.jobs import Shard
from tests.batch.doubles import (
    BUSY,
    DOWN,
    INTENT,
    JOB,
    KEYLESS,
    REFUSED,
    RESET,
    UNKNOWN,
    Bench,
    LostError,
    at_desk,
    now,
    plan,
)

LINES = Path("lines.jsonl")


async def sent(desk: Desk) -> Shard:
    shard = await upload(desk, plan(desk), LINES)
    return await create(desk, shard, shard.file_id or "")


def test_each_step_is_written_down_before_the_next():
    seen: list[Any] = []

    class Watched(Bench):
        async def upload(self, lines: Path, *, intent: str) -> str:
            seen.append(self.shard())
            return await super().upload(lines, intent=intent)

        async def create(self, source: str | Path, *, intent: str) -> Any:
            seen.append(self.shard())
            return await super().create(source, intent=intent)

        def shard(self) -> Any:
            (found,) = self.desk.ledger.shards(job=JOB.id)
            return found.execution, found.file_id, found.batch_id

    async def work(desk: Desk, bench: Watched) -> None:
        bench.desk = desk
        shard = await sent(desk)
        assert await desk.again(shard) == shard
        assert (shard.execution, shard.file_id, shard.batch_id, shard.attempts) == (
            "running",
            f"file-{INTENT}",
            "batch-1",
            1,
        )

    at_desk(work, Watched())
    assert seen == [("planned", None, None), ("creating", f"file-{INTENT}", None)]


PASSING = [[DOWN], [RESET], [BUSY], [DOWN, RESET, BUSY], [BUSY] * 30]


@pytest.mark.parametrize("faults", PASSING, ids=repr)
@pytest.mark.parametrize("call", ["upload", "create"])
def test_faults_that_pass_are_waited_out(call: str, faults: list[Any]):
    bench = Bench()
    bench.fault(call, *faults)

    async def work(desk: Desk, _: Bench) -> Shard:
        return await sent(desk)

    assert at_desk(work, bench).execution == "running"
    assert (bench.made, bench.calls[call]) == ([INTENT], len(faults) + 1)


@pytest.mark.parametrize("error", [RESET, DOWN, RequestError("timeout", "late")], ids=lambda error: error.kind)
@pytest.mark.parametrize("hidden", [0, 3])
def test_a_batch_whose_answer_was_lost_is_found_and_not_made_again(error: RequestError, hidden: int):
    bench = Bench()
    bench.fault("create", LostError(error))
    bench.hidden = hidden

    async def work(desk: Desk, _: Bench) -> tuple[Shard, float]:
        return await sent(desk), now()

    shard, seconds = at_desk(work, bench)
    assert (shard.execution, shard.batch_id, bench.made) == ("running", "batch-1", [INTENT])
    assert seconds < SETTLE_SECONDS


def test_one_that_no_list_names_for_a_while_is_made_again():
    bench = Bench()
    bench.fault("create", RESET)

    async def work(desk: Desk, _: Bench) -> tuple[Shard, float]:
        return await sent(desk), now()

    shard, seconds = at_desk(work, bench)
    assert (shard.execution, bench.made, bench.calls["create"]) == ("running", [INTENT], 2)
    assert seconds >= SETTLE_SECONDS


@pytest.mark.parametrize("error", [DOWN, RESET, BUSY, UndecidedError()], ids=repr)
def test_while_nobody_can_tell_nothing_is_made(error: Exception):
    bench = Bench()
    bench.fault("create", LostError())
    bench.fault("find", *[error] * 200)

    async def work(desk: Desk, _: Bench) -> Shard:
        return await sent(desk)

    assert at_desk(work, bench).batch_id == "batch-1"
    assert (bench.made, bench.calls["find"]) == ([INTENT], 201)


@pytest.mark.parametrize("error", [REFUSED, KEYLESS], ids=lambda error: error.kind)
def test_a_refused_batch_is_none_and_stands_where_it_stood(error: RequestError):
    bench = Bench()
    bench.fault("create", error)

    async def work(desk: Desk, _: Bench) -> None:
        with pytest.raises(RequestError) as caught:
            await sent(desk)
        assert caught.value is error
        (shard,) = desk.ledger.shards(job=JOB.id)
        assert (shard.execution, shard.file_id, shard.batch_id) == ("uploaded", f"file-{INTENT}", None)

    at_desk(work, bench)
    assert (bench.calls["create"], bench.calls["find"]) == (1, 0)


def test_an_outcome_that_stays_unknown_stays_written_down():
    bench = Bench()
    bench.fault("create", LostError())
    bench.fault("find", KEYLESS)

    async def work(desk: Desk, _: Bench) -> None:
        with pytest.raises(RequestError):
            await sent(desk)
        (shard,) = desk.ledger.shards(job=JOB.id)
        assert shard.execution == "creating"
        assert (await adopt(desk, shard)).batch_id == "batch-1"  # with another key

    at_desk(work, bench)
    assert bench.made == [INTENT]


def test_a_file_that_is_not_seen_yet_is_tried_again_and_not_for_ever():
    bench = Bench()
    bench.fault("create", *[UNKNOWN] * (UNSEEN_TRIES - 1))

    async def work(desk: Desk, _: Bench) -> Shard:
        return await sent(desk)

    assert at_desk(work, bench).execution == "running"
    bench = Bench()
    bench.fault("create", *[UNKNOWN] * UNSEEN_TRIES)
    with pytest.raises(RequestError, match="no such thing"):
        at_desk(work, bench)
    assert (bench.made, bench.calls["create"]) == ([], UNSEEN_TRIES)


def test_an_endpoint_without_a_batch_api_is_asked_once():
    bench = Bench()
    bench.fault("create", RequestError("not_found", "none", status=404, code=NO_BATCH_API))

    async def work(desk: Desk, _: Bench) -> Shard:
        return await sent(desk)

    with pytest.raises(RequestError, match="none"):
        at_desk(work, bench)
    assert bench.calls["create"] == 1


def test_a_queue_that_refuses_for_hours_is_waited_for():
    bench = Bench()
    bench.fault("create", *[RequestError("rate_limit", "full", status=429, retry_after=120.0)] * 100)

    async def work(desk: Desk, _: Bench) -> tuple[Shard, float]:
        return await sent(desk), now()

    shard, seconds = at_desk(work, bench)
    assert shard.execution == "running"
    assert seconds > 2 * 3600


# Going on where another call was left ------------------------------------------------------------------------------


async def left(desk: Desk, execution: Any, **changes: Any) -> Shard:
    return await desk.move(plan(desk), execution, **changes)


def test_what_was_only_planned_is_given_up():
    async def work(desk: Desk, _: Bench) -> str:
        return (await adopt(desk, plan(desk))).execution

    assert at_desk(work) == "abandoned"


def test_an_uploaded_file_becomes_a_batch():
    async def work(desk: Desk, bench: Bench) -> None:
        shard = await adopt(desk, await left(desk, "uploaded", file_id="file-1"))
        assert (shard.execution, bench.made) == ("running", [INTENT])

    at_desk(work)


def test_a_file_whose_requests_were_answered_meanwhile_becomes_none():
    async def work(desk: Desk, bench: Bench) -> None:
        shard = await adopt(desk, await left(desk, "uploaded", file_id="file-1"), wanted=lambda _: False)
        assert (shard.execution, bench.made) == ("abandoned", [])

    at_desk(work)


def test_a_file_that_is_gone_is_given_up():
    async def work(desk: Desk, bench: Bench) -> None:
        bench.fault("create", *[UNKNOWN] * UNSEEN_TRIES)
        shard = await adopt(desk, await left(desk, "uploaded", file_id="file-1"))
        assert (shard.execution, bench.made) == ("abandoned", [])
        assert (await desk.again(shard)).execution == "abandoned"

    at_desk(work)


@pytest.mark.parametrize("file_id", ["file-1", None])
def test_a_call_whose_outcome_nobody_saw_is_looked_for_first(file_id: str | None):
    async def work(desk: Desk, bench: Bench) -> None:
        bench.made.append(INTENT)
        shard = await adopt(desk, await left(desk, "creating", file_id=file_id, created=0.0))
        assert (shard.execution, shard.batch_id, bench.made) == ("running", "batch-1", [INTENT])

    at_desk(work)


def test_one_that_was_never_made_is_made_of_its_file_or_given_up():
    async def work(desk: Desk, bench: Bench) -> None:
        shard = await adopt(desk, await left(desk, "creating", file_id="file-1", created=0.0))
        assert (shard.execution, bench.made) == ("running", [INTENT])

    async def without(desk: Desk, bench: Bench) -> None:
        shard = await adopt(desk, await left(desk, "creating", created=0.0))
        assert (shard.execution, bench.made) == ("abandoned", [])

    at_desk(work)
    at_desk(without)


def test_a_cancelled_jobs_batch_is_cancelled_when_it_is_found():
    async def work(desk: Desk, bench: Bench) -> None:
        bench.made.append(INTENT)
        shard = await left(desk, "creating", file_id="file-1", created=0.0)
        desk.ledger.update_job(JOB.id, cancelled=True)
        await adopt(desk, shard)
        assert bench.calls["cancel"] == 1

    at_desk(work)


def test_a_batch_whose_job_is_cancelled_while_it_is_being_made_is_stopped_at_once():
    class Cancelled(Bench):
        async def create(self, source: str | Path, *, intent: str) -> Any:
            desks[0].ledger.update_job(JOB.id, cancelled=True)
            return await super().create(source, intent=intent)

    desks: list[Desk] = []

    async def work(desk: Desk, bench: Bench) -> None:
        desks.append(desk)
        assert (await sent(desk)).execution == "running"
        assert (bench.calls["create"], bench.calls["cancel"]) == (1, 1)

    at_desk(work, Cancelled())


@pytest.mark.parametrize("execution", ["running", "ended"])
def test_what_the_provider_has_stays_as_it_is(execution: Any):
    async def work(desk: Desk, bench: Bench) -> None:
        shard = await left(desk, execution, batch_id="batch-1")
        assert await adopt(desk, shard) == shard
        assert not bench.calls

    at_desk(work)


def test_a_call_of_long_ago_has_come_to_all_that_it_will():
    async def work(desk: Desk, _: Bench) -> float:
        await asyncio.sleep(LATE_SECONDS + 1)
        begun = now()
        assert await find(desk, await left(desk, "creating", created=0.0)) is None
        return now() - begun

    assert at_desk(work) < 0.1


def test_a_batch_that_is_known_as_anothers_is_not_taken():
    async def work(desk: Desk, bench: Bench) -> None:
        bench.made.append(INTENT)
        await desk.move(plan(desk, intent="00000000000000bb"), "running", batch_id="batch-1")
        assert await find(desk, await left(desk, "creating", created=0.0)) is None

    at_desk(work)


def test_only_one_of_two_that_go_on_with_a_shard_makes_its_batch():
    async def work(desk: Desk, bench: Bench) -> None:
        shard = await left(desk, "uploaded", file_id="file-1")
        results = await asyncio.gather(*[adopt(desk, shard) for _ in range(3)], return_exceptions=True)
        assert [type(each) for each in results].count(NotOursError) == 2
        assert bench.made == [INTENT]

    at_desk(work)


def test_an_interrupt_amid_the_paid_call_lets_it_be_written_down():
    class Slow(Bench):
        async def create(self, source: str | Path, *, intent: str) -> Any:
            await asyncio.sleep(submitting.GRACE_SECONDS / 2)
            return await super().create(source, intent=intent)

    async def work(desk: Desk, bench: Bench) -> None:
        task = asyncio.create_task(sent(desk))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (shard,) = desk.ledger.shards(job=JOB.id)
        assert (shard.execution, shard.batch_id, bench.made) == ("running", "batch-1", [INTENT])

    at_desk(work, Slow())
