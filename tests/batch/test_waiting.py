"""Looking at a batch until nothing more happens with it; what is news is written down."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.batch.desk import Desk, NotOursError
from llmframe.batch.waiting import LOST_AFTER, LOST_SECONDS, UNSEEN_SECONDS, refresh, wait
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState, Problem
from llmframe.stores.jobs import Shard
from tests.batch.doubles import BUSY, DOWN, KEYLESS, RESET, UNKNOWN, Bench, at_desk, now, plan, state


async def at_provider(desk: Desk) -> Shard:
    return await desk.move(plan(desk), "running", file_id="file-1", batch_id="batch-1", status="validating")


def waited(*states: BatchState, faults: list[Any] | None = None) -> tuple[Shard, BatchState | None, float, Bench]:
    """The shard as the ledger has it after waiting, the last state, the seconds."""
    bench = Bench()
    bench.states.extend(states)
    bench.fault("state", *(faults or []))

    async def work(desk: Desk, _: Bench) -> Any:
        shard, last = await wait(desk, await at_provider(desk))
        assert await desk.again(shard) == shard
        return shard, last, now(), bench

    return at_desk(work, bench)


def test_an_ended_batch_is_written_down_with_its_counts():
    ended = state("completed", "ended", total=3, done=2, failed=1)
    shard, last, _, _ = waited(state(total=3, done=1, failed=0), ended)
    assert last == ended
    assert (shard.execution, shard.status, shard.total, shard.done, shard.failed) == ("ended", "completed", 3, 2, 1)


def test_it_is_looked_at_less_and_less_often():
    _, _, seconds, bench = waited(*[state()] * 300)
    assert bench.calls["state"] == 301
    # 0.25 s at first, each pause half as long again, 5 minutes at the most; give or take a tenth
    assert 250 * 300 < seconds < 300 * 330


def test_words_that_nobody_knows_are_waited_through():
    shard, _, _, _ = waited(state("dreaming"), state("paused"))
    assert shard.status == "completed"


def test_what_failed_says_why_without_the_words_about_a_line():
    problems = (Problem("invalid_json_line", "secret cell", 7), Problem(None, "no quota"))
    shard, last, _, _ = waited(state("failed", "failed", problems=problems))
    assert last is not None
    assert (shard.execution, shard.detail) == ("failed", "invalid_json_line; error: no quota")


def test_one_that_found_the_queue_full_is_an_uploaded_file_again():
    full = state("failed", "failed", problems=(Problem("token_limit_exceeded", "full"),))
    shard, _, _, _ = waited(full)
    assert shard.execution == "uploaded"


@pytest.mark.parametrize("faults", [[DOWN] * 30, [RESET] * 30, [BUSY] * 100, [DOWN, RESET, BUSY]], ids=str)
def test_faults_that_pass_are_waited_out(faults: list[Any]):
    shard, _, _, bench = waited(faults=faults)
    assert (shard.execution, bench.calls["state"]) == ("ended", len(faults) + 1)


def test_a_key_that_is_not_valid_any_more_ends_the_waiting_and_not_the_batch():
    bench = Bench()
    bench.fault("state", KEYLESS)

    async def work(desk: Desk, _: Bench) -> None:
        shard = await at_provider(desk)
        with pytest.raises(RequestError, match="auth"):
            await wait(desk, shard)
        assert (await desk.again(shard)).execution == "running"

    at_desk(work, bench)


def test_a_batch_is_lost_when_the_provider_has_not_known_it_for_long():
    shard, last, seconds, _ = waited(faults=[UNKNOWN] * 1000)
    assert (shard.execution, last) == ("lost", None)
    assert LOST_SECONDS <= seconds < 2 * LOST_SECONDS


def test_a_batch_that_turns_up_again_was_not_lost():
    shard, _, _, _ = waited(faults=[*[UNKNOWN] * LOST_AFTER, None, *[UNKNOWN] * LOST_AFTER])
    assert shard.execution == "ended"


def test_whoever_may_not_lose_a_batch_is_told():
    bench = Bench()
    bench.fault("state", *[UNKNOWN] * 1000)

    async def work(desk: Desk, _: Bench) -> None:
        shard, begun = await at_provider(desk), now()
        with pytest.raises(RequestError, match="no such thing"):
            await wait(desk, shard, loses=False)
        assert UNSEEN_SECONDS <= now() - begun < 2 * UNSEEN_SECONDS
        assert (await desk.again(shard)).execution == "running"

    at_desk(work, bench)


def test_a_batch_that_stands_still_costs_no_write():
    bench = Bench()
    bench.states.append(state(total=3, done=1, failed=0))
    bench.states.extend([state(total=3, done=1, failed=0)] * 5)

    async def work(desk: Desk, _: Bench) -> None:
        shard, _ = await refresh(desk, await at_provider(desk))
        polled = shard.polled
        for _ in range(5):
            await asyncio.sleep(1)
            shard, _ = await refresh(desk, shard)
        assert (await desk.again(shard)).polled == polled

    at_desk(work, bench)


def test_a_shard_that_has_become_another_batch_is_not_ours():
    bench = Bench()

    async def work(desk: Desk, _: Bench) -> None:
        shard = await at_provider(desk)
        await desk.note(shard, batch_id="batch-2")
        with pytest.raises(NotOursError):
            await refresh(desk, shard)

    at_desk(work, bench)


def test_every_look_is_told():
    seen: list[str] = []
    bench = Bench()
    bench.states.extend([state("validating"), state()])

    async def work(desk: Desk, _: Bench) -> None:
        await wait(desk, await at_provider(desk), seen=lambda _, told: seen.append(told.status))

    at_desk(work, bench)
    assert seen == ["validating", "in_progress", "completed"]
