"""A desk writes down, takes over or learns that a shard is another's; what it does in a thread comes to its end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from llmframe.batch.desk import Desk, NotOursError, within_thread
from llmframe.errors import StoreError
from llmframe.stores.base import MemoryStore
from llmframe.stores.ledger import ledger_of
from tests.batch.doubles import JOB, Bench, at_desk, plan, running


def test_what_is_noted_and_moved_is_what_comes_back():
    async def work(desk: Desk, _: Bench) -> None:
        shard = plan(desk)
        moved = await desk.move(shard, "uploaded", file_id="file-1")
        assert (moved.execution, moved.file_id) == ("uploaded", "file-1")
        noted = await desk.note(moved, status="x")
        assert await desk.again(shard) == noted

    at_desk(work)


def test_a_shard_that_is_elsewhere_does_not_move():
    async def work(desk: Desk, _: Bench) -> None:
        shard = plan(desk)
        await desk.move(shard, "uploaded")
        with pytest.raises(NotOursError, match=shard.intent):
            await desk.move(shard, "creating")
        await desk.move(shard, "creating", of=["planned", "uploaded"])

    at_desk(work)


def test_a_shard_of_another_living_worker_does_not_move():
    store = MemoryStore()
    mine, others = ledger_of(store), ledger_of(store)
    assert mine is not None
    assert others is not None
    others.open_job(JOB)
    shard = plan(Desk(ledger=others, batches=Bench()))

    async def work() -> None:
        desk = Desk(ledger=mine, batches=Bench())
        with pytest.raises(NotOursError):
            await desk.move(shard, "uploaded")
        others.leave()
        await desk.move(shard, "uploaded")

    running(work())


def test_a_ledger_that_was_cleared_is_told():
    async def work(desk: Desk, _: Bench) -> None:
        shard = plan(desk)
        desk.ledger.update_job(JOB.id, finished=True)
        await desk.move(shard, "abandoned", collection="done")
        desk.ledger.forget(JOB.id)
        with pytest.raises(StoreError, match="doesn't know the batch"):
            await desk.again(shard)

    at_desk(work)


def test_what_was_begun_in_a_thread_ends_before_its_caller_is_cancelled():
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(60)
        ended.set()

    async def main() -> None:
        task = asyncio.create_task(within_thread(work))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(main())


def test_what_a_thread_raises_or_returns_comes_through():
    assert running(within_thread(lambda: 7)) == 7
    with pytest.raises(ValueError, match="odd"):
        running(within_thread(lambda: _raise(ValueError("odd"))))


def _raise(error: Exception) -> None:
    raise error
