"""The provider's queue: learnt from its refusals, and kept to."""

from __future__ import annotations

import asyncio

import pytest

from llmframe.batch.enqueued import HALVINGS, SAFE_SHARE, Queue, is_token_limit, limit_told
from llmframe.clients.batch import BatchState, Problem
from tests.batch.doubles import running, state

FULL = (
    "Enqueued token limit reached for gpt-4o in organization org-x. Limit: 1,350,000 enqueued tokens. Please try again."
)


def failed(message: str = "", code: str = "token_limit_exceeded") -> BatchState:
    return state("failed", "failed", problems=(Problem("other", "x"), Problem(code, message)))


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (FULL, 1_350_000),
        ("limit: 90000 enqueued tokens", 90_000),
        ("Limit 2_000 enqueued tokens", 2_000),
        ("Limit: 1.350.000 enqueued tokens", 1_350_000),
        ("The queue is full.", None),
        ("Limit: none enqueued tokens", None),
        ("", None),
    ],
)
def test_the_limit_is_read_from_the_providers_words(message: str, limit: int | None):
    assert limit_told(failed(message)) == limit


def test_only_a_failed_batch_found_the_queue_full():
    assert is_token_limit(failed())
    assert not is_token_limit(failed(code="invalid_file"))
    assert not is_token_limit(state("completed", "ended", problems=failed().problems))


def test_as_long_as_nothing_was_refused_everybody_enters():
    async def main() -> None:
        queue = Queue()
        for number in range(9):
            await queue.enter(str(number), 10**9)
        assert not queue.alone

    running(main())


def test_the_told_limit_is_kept_to_and_whoever_leaves_makes_room():
    entered: list[str] = []

    async def main() -> None:
        queue = Queue()
        await queue.enter("a", 50)
        await queue.enter("b", 50)
        assert not queue.refused("b", failed("Limit: 100 enqueued tokens"))
        assert queue.limit == SAFE_SHARE * 100

        async def enter(name: str, tokens: int) -> None:
            await queue.enter(name, tokens)
            entered.append(name)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(enter("b", 50))
            tasks.create_task(enter("c", 40))
            await asyncio.sleep(1)
            assert entered == ["c"]  # 50 + 50 is more than 95, 50 + 40 isn't
            queue.leave("a")
            await asyncio.sleep(1)
            assert entered == ["c", "b"]

    running(main())


def test_one_that_is_alone_may_always_try():
    async def main() -> None:
        queue = Queue()
        await queue.enter("a", 50)
        assert queue.refused("a", failed("Limit: 10 enqueued tokens"))
        assert queue.alone
        await asyncio.wait_for(queue.enter("a", 50), 1)

    running(main())


def test_without_a_word_on_the_limit_it_is_what_the_others_have():
    async def main() -> None:
        queue = Queue()
        await queue.enter("a", 30)
        await queue.enter("b", 40)
        await queue.enter("c", 50)
        assert not queue.refused("c", failed())
        assert queue.limit == 70
        assert not queue.refused("b", failed())
        assert queue.limit == 30
        assert queue.refused("a", failed())
        assert queue.limit == 30

    running(main())


def test_who_waits_for_room_hears_of_it_once_a_batch_has_left():
    async def main() -> None:
        queue = Queue()
        await queue.enter("a", 30)
        freed = asyncio.create_task(queue.freed())
        await asyncio.sleep(1)
        assert not freed.done()
        queue.leave("a")
        queue.leave("a")
        await asyncio.wait_for(freed, 1)

    running(main())


def test_batches_are_halved_so_often_and_no_more():
    queue = Queue()
    assert [queue.halve(800 >> each) for each in range(HALVINGS + 1)] == [True] * HALVINGS + [False]
    assert queue.limit == 800 / 2**HALVINGS
    other = Queue()
    other.limit = 50.0
    assert other.halve(800)
    assert other.limit == 50.0
