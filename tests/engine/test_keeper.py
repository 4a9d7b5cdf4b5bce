"""Answers on their way into a store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence

import pytest

from llmframe.core.request import Components
from llmframe.engine.keeper import BEAT_SECONDS, COMMIT_ROWS, COMMIT_SECONDS, PAUSE_SECONDS, Keeper
from llmframe.errors import StoreError
from llmframe.stores.base import Change, MemoryStore, Store, Stored
from llmframe.testing import run_in_fake_time


class Disk:
    """A store whose commits are counted, and can be held up or refused."""

    def __init__(self) -> None:
        self.commits: list[int] = []
        self.entries: dict[bytes, Stored] = {}
        self.trouble: Exception | None = None
        self.go = threading.Event()
        self.go.set()

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        return {key: self.entries[key] for key in keys if key in self.entries}

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        kept = list(entries)
        assert self.go.wait(60)
        if self.trouble is not None:
            raise self.trouble
        self.commits.append(len(kept))
        self.entries.update(kept)


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def with_keeper(store: Store, test: Callable[[Keeper], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Keeper(store, clock=asyncio.get_running_loop().time))

    run_in_fake_time(main())


def test_an_answer_is_found_at_once_and_committed_a_tenth_of_a_second_later():
    disk = Disk()

    async def test(keeper: Keeper) -> None:
        keeper.put(key(1), Stored("a"))
        assert keeper.get_many([key(1), key(2)]) == {key(1): Stored("a")}
        await asyncio.sleep(COMMIT_SECONDS / 2)
        keeper.put(key(2), Stored("b"))
        assert disk.commits == []
        await asyncio.sleep(COMMIT_SECONDS * 0.6)
        assert disk.commits == [2]

    with_keeper(disk, test)


def test_two_hundred_answers_are_committed_without_waiting_and_more_must_wait():
    disk = Disk()

    async def test(keeper: Keeper) -> None:
        for number in range(COMMIT_ROWS):
            assert not keeper.full
            keeper.put(key(number), Stored("a"))
        assert keeper.full
        await keeper.room()
        assert asyncio.get_running_loop().time() < COMMIT_SECONDS
        assert disk.commits == [COMMIT_ROWS]

    with_keeper(disk, test)


def test_a_row_counts_as_done_when_its_answer_is_safe():
    disk, done = Disk(), list[str]()

    async def test(keeper: Keeper) -> None:
        keeper.put(key(1), Stored("a"))
        keeper.after(key(1), lambda: done.append("kept"))
        keeper.after(key(2), lambda: done.append("failed"))
        assert done == ["failed"]
        await keeper.flush()
        assert (done, disk.commits) == (["failed", "kept"], [1])

    with_keeper(disk, test)


def test_a_flush_waits_for_what_was_put_until_then_however_much_others_put():
    disk = Disk()

    async def test(keeper: Keeper) -> None:
        keeper.put(key(0), Stored("a"))
        flushing = asyncio.ensure_future(keeper.flush())
        count = 1
        while not flushing.done():
            keeper.put(key(count), Stored("b"))
            count += 1
            await asyncio.sleep(0)
        assert key(0) in disk.entries
        await keeper.flush()
        assert len(disk.entries) == count

    with_keeper(disk, test)


def test_what_can_not_be_written_stays_in_memory_and_the_store_is_tried_again_later():
    disk = Disk()
    disk.trouble = StoreError("no room left", reason="full")

    async def test(keeper: Keeper) -> None:
        keeper.put(key(1), Stored("a"))
        await keeper.flush()
        assert (keeper.trouble, disk.entries) == ("no room left", {})
        assert keeper.get_many([key(1)]) == {key(1): Stored("a")}
        disk.trouble = None
        keeper.put(key(2), Stored("b"))
        await keeper.flush()
        assert disk.entries == {}
        await asyncio.sleep(PAUSE_SECONDS)
        keeper.put(key(3), Stored("c"))
        await keeper.flush()
        assert disk.entries == {key(3): Stored("c")}
        assert set(keeper.get_many([key(1), key(2), key(3)])) == {key(1), key(2), key(3)}

    with_keeper(disk, test)


def test_whatever_a_store_of_the_users_own_raises_is_told_by_its_class_alone():
    disk = Disk()
    disk.trouble = RuntimeError("secret")

    async def test(keeper: Keeper) -> None:
        keeper.put(key(1), Stored("a"))
        await keeper.flush()
        assert keeper.trouble == "the store raised RuntimeError"

    with_keeper(disk, test)


def test_a_store_in_memory_keeps_at_once():
    store = MemoryStore()

    async def test(keeper: Keeper) -> None:
        keeper.put(key(1), Stored("a"))
        assert store.get_many([key(1)])
        await keeper.flush()

    with_keeper(store, test)


def test_an_answer_that_is_put_again_while_it_is_being_written_is_safe_after_the_second_commit():
    disk, done = Disk(), list[str]()

    async def test(keeper: Keeper) -> None:
        disk.go.clear()
        keeper.put(key(1), Stored("a"))
        flushing = asyncio.ensure_future(keeper.flush())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        keeper.put(key(1), Stored("b"))
        keeper.after(key(1), lambda: done.append("kept"))
        assert keeper.get_many([key(1)]) == {key(1): Stored("b")}
        disk.go.set()
        await flushing
        await keeper.flush()
        assert (disk.entries, done) == ({key(1): Stored("b")}, ["kept"])

    with_keeper(disk, test)


@pytest.mark.parametrize("count", [1, COMMIT_ROWS, 3 * COMMIT_ROWS + 1])
def test_all_answers_arrive_once_in_groups(count: int):
    disk = Disk()

    async def test(keeper: Keeper) -> None:
        for number in range(count):
            if keeper.full:
                await keeper.room()
            keeper.put(key(number), Stored(str(number)))
        await keeper.flush()
        assert disk.entries == {key(number): Stored(str(number)) for number in range(count)}
        assert sum(disk.commits) == count
        assert max(disk.commits) <= COMMIT_ROWS

    with_keeper(disk, test)


class SharedDisk(Disk):
    """A store of several processes, of which the others claim nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.beats = 0
        self.released: set[bytes] = set()
        self.beaten = threading.Event()

    def claim(self, keys: Sequence[bytes]) -> set[bytes]:
        return set()

    def release(self, keys: Iterable[bytes]) -> None:
        self.released.update(keys)

    def beat(self) -> None:
        self.beats += 1
        self.beaten.set()

    def changes(self, digests: Sequence[bytes], components: Components) -> list[Change]:
        return []


def test_as_long_as_something_is_claimed_others_are_told_and_no_task_waits_for_that():
    disk = SharedDisk()

    async def test(keeper: Keeper) -> None:
        keeper.claim([key(1), key(2)])
        assert asyncio.all_tasks() == {asyncio.current_task()}
        for beats in (1, 2):
            disk.beaten.clear()
            await asyncio.sleep(BEAT_SECONDS)
            assert disk.beaten.wait(60)
            assert disk.beats == beats
        keeper.put(key(1), Stored("a"))
        keeper.release([key(2)])
        await asyncio.sleep(3 * BEAT_SECONDS)
        assert disk.beats == 2

    with_keeper(disk, test)


def test_after_a_flush_others_may_ask_for_what_was_released():
    """Whoever's loop ends with the run would else leave claims behind that hold others up for a minute."""
    disk = SharedDisk()

    async def test(keeper: Keeper) -> None:
        keeper.claim([key(1), key(2), key(3)])
        keeper.put(key(1), Stored("a"))
        await keeper.flush()
        keeper.release([key(2)])
        await keeper.flush()
        assert disk.released == {key(2)}
        keeper.release([key(3)])
        keeper.claim([key(3)])
        await keeper.flush()
        assert disk.released == {key(2)}
        assert keeper._task is None

    with_keeper(disk, test)
