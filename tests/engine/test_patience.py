"""Waiting in hours: tries, pauses, and work that isn't broken off."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from itertools import islice, pairwise
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.engine import patience
from llmframe.engine.patience import every, first_of, patiently, pauses, rest, unbroken
from llmframe.testing import run_in_fake_time

DOWN = RequestError("server", "down", status=500)
BUSY = RequestError("rate_limit", "slow", status=429, retry_after=2.0)
KEYLESS = RequestError("auth", "no", status=401)


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """A call that fails of these first, and how often it was made."""
    to_come, made = list(errors), [0]

    async def call() -> str:
        made[0] += 1
        if to_come:
            raise to_come.pop(0)
        return "well"

    return call, made


@pytest.mark.parametrize("errors", [[], [DOWN], [DOWN] * (patience.ATTEMPTS - 1), [BUSY] * 20], ids=len)
def test_what_passes_is_tried_again(errors: list[Exception]):
    call, made = failing(*errors)
    assert run_in_fake_time(patiently(call)) == "well"
    assert made == [len(errors) + 1]


@pytest.mark.parametrize(
    ("errors", "tries"), [([DOWN] * 99, patience.ATTEMPTS), ([KEYLESS] * 99, 1), ([DOWN, KEYLESS], 2)]
)
def test_what_stays_is_raised_in_the_end(errors: list[Exception], tries: int):
    call, made = failing(*errors)
    with pytest.raises(RequestError):
        run_in_fake_time(patiently(call))
    assert made == [tries]


def test_a_fault_of_another_sort_is_not_waited_for():
    call, made = failing(KeyError("x"))
    with pytest.raises(KeyError):
        run_in_fake_time(patiently(call))
    assert made == [1]


def test_pauses_grow_to_the_longest_and_never_end():
    seconds = list(islice(pauses(longest=60.0), 50))
    assert 0.9 * patience.FIRST_SECONDS <= seconds[0] <= 1.1 * patience.FIRST_SECONDS
    assert all(0.9 * 60 <= each <= 1.1 * 60 for each in seconds[20:])
    middle = seconds[:15]
    assert all(1.2 < later / earlier < 1.9 for earlier, later in pairwise(middle[:-4]))


def test_two_who_wait_do_not_keep_step():
    assert list(islice(pauses(), 5)) != list(islice(pauses(), 5))


def test_every_calls_until_it_is_cancelled():
    calls: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def call() -> None:
            calls.append(loop.time())

        task = asyncio.create_task(every(10.0, call))
        await rest(35.0)
        task.cancel()

    run_in_fake_time(main())
    assert [round(each) for each in calls] == [10, 20, 30]


async def cancelled_after(seconds: float, work: Any, *, grace: float) -> float:
    """When `unbroken` ends that is cancelled after so many seconds."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(unbroken(work, seconds=grace))
    await asyncio.sleep(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return loop.time()


def test_work_that_is_not_broken_off_gives_what_it_gives():
    async def work() -> int:
        await asyncio.sleep(5)
        return 7

    assert run_in_fake_time(unbroken(work(), seconds=1.0)) == 7


def test_whoever_is_cancelled_lets_the_work_end():
    ended: list[bool] = []

    async def work() -> None:
        await asyncio.sleep(5)
        ended.append(True)

    assert round(run_in_fake_time(cancelled_after(1, work(), grace=8.0))) == 5
    assert ended == [True]


def test_but_not_for_ever():
    ended: list[bool] = []

    async def work() -> None:
        await asyncio.sleep(500)
        ended.append(True)

    assert round(run_in_fake_time(cancelled_after(1, work(), grace=8.0))) == 9
    assert ended == []


def test_work_that_fails_while_its_caller_leaves_is_no_stray_error(recwarn: pytest.WarningsRecorder):
    gc.collect()  # what earlier tests left behind is no matter of this one
    recwarn.clear()

    async def work() -> None:
        await asyncio.sleep(2)
        raise ValueError

    run_in_fake_time(cancelled_after(1, work(), grace=8.0))
    assert not recwarn.list


def test_whichever_ends_first_ends_the_waiting():
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await first_of(rest(50.0), rest(3.0), asyncio.Event().wait())  # type: ignore[arg-type]
        assert len(asyncio.all_tasks()) <= 3
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return loop.time()

    assert round(run_in_fake_time(main())) == 3
