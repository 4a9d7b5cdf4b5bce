"""The line that workers pull from, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine.queue import WorkQueue
from llmframe.testing import run_in_fake_time


def now() -> float:
    return asyncio.get_running_loop().time()


def queue_of(jobs: Iterable[str | None]) -> WorkQueue[str]:
    return WorkQueue(iter(jobs), clock=now)


def test_fresh_jobs_come_in_order_and_then_the_end():
    async def main() -> list[str | None]:
        queue = queue_of("abc")
        taken: list[str | None] = []
        for _ in range(4):
            taken.append(await queue.take())
            if taken[-1]:
                queue.done()
        return taken

    assert run_in_fake_time(main()) == ["a", "b", "c", None]


def test_nothing_is_drawn_before_a_worker_asks():
    drawn: list[str] = []

    def fresh() -> Iterator[str]:
        for name in "abc":
            drawn.append(name)
            yield name

    async def main() -> None:
        queue = WorkQueue(fresh(), clock=now)
        assert drawn == []
        await queue.take()
        assert drawn == ["a"]

    run_in_fake_time(main())


def test_an_answer_does_not_wake_those_who_have_nothing_to_do():
    """Thousands of workers that all look up at every answer took minutes."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return now()

    async def main() -> None:
        queue = WorkQueue(iter(range(200)), clock=clock)

        async def worker() -> None:
            while (job := await queue.take()) is not None:
                await asyncio.sleep(1 + job)
                queue.done()

        await asyncio.gather(*(worker() for _ in range(200)))

    run_in_fake_time(main())
    assert looks <= 3 * 200  # for a job, for another, at the end


def test_a_job_that_is_due_wakes_one_of_those_who_wait():
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return now()

    async def main() -> float:
        queue = WorkQueue(iter(range(200)), clock=clock)

        async def worker() -> None:
            again: set[int] = set()
            while (job := await queue.take()) is not None:
                if job >= 0 and job not in again:
                    again.add(job)
                    queue.again(-1 - job, delay=60 + job)
                else:
                    queue.done()

        await asyncio.gather(*(worker() for _ in range(200)))
        return now()

    assert run_in_fake_time(main()) == 60 + 199
    assert looks <= 10 * 200  # for a job, to put it back, before the wait, when it's due, for the next one's time


def test_whoever_is_cancelled_as_it_is_woken_leaves_the_job_to_another():
    async def main() -> tuple[str | None, float]:
        queue = queue_of("a")
        job = await queue.take()
        assert job is not None
        first, second = (asyncio.create_task(queue.take()) for _ in range(2))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_at(6.0, lambda: asyncio.get_running_loop().call_soon(first.cancel))
        queue.again(job, delay=6.0)
        return await second, now()

    assert run_in_fake_time(main()) == ("a", pytest.approx(6.0))


def test_a_due_job_comes_before_a_fresh_one():
    async def main() -> list[tuple[str | None, float]]:
        queue = queue_of("abcd")
        job = await queue.take()
        assert job is not None
        queue.again(job, delay=5)
        taken = [(await queue.take(), now())]
        await asyncio.sleep(5)
        taken += [(await queue.take(), now()), (await queue.take(), now())]
        return taken

    assert run_in_fake_time(main()) == [("b", 0.0), ("a", 5.0), ("c", 5.0)]


def test_delayed_jobs_come_by_the_time_they_are_due():
    async def main() -> list[tuple[str, float]]:
        queue = queue_of("abc")
        for delay in (9.0, 3.0, 6.0):
            job = await queue.take()
            assert job is not None
            queue.again(job, delay=delay)
        taken: list[tuple[str, float]] = []
        while (job := await queue.take()) is not None:
            taken.append((job, now()))
            queue.done()
        return taken

    assert run_in_fake_time(main()) == [("b", 3.0), ("c", 6.0), ("a", 9.0)]


def test_a_worker_without_a_job_waits_for_those_that_may_come_back():
    async def main() -> tuple[str | None, float]:
        queue = queue_of("a")
        job = await queue.take()
        assert job is not None
        idle = asyncio.create_task(queue.take())
        await asyncio.sleep(4)
        assert not idle.done()
        queue.again(job, delay=2)
        return await idle, now()

    assert run_in_fake_time(main()) == ("a", 6.0)


def test_all_workers_are_told_of_the_end():
    async def main() -> list[str | None]:
        queue = queue_of("a")
        await queue.take()
        idle = [asyncio.create_task(queue.take()) for _ in range(5)]
        await asyncio.sleep(1)
        queue.done()
        async with asyncio.timeout(1):
            return await asyncio.gather(*idle)

    assert run_in_fake_time(main()) == [None] * 5


def test_an_empty_line_ends_at_once():
    assert run_in_fake_time(queue_of([]).take()) is None


def test_hurry_makes_every_delayed_job_due_now_in_the_order_they_came():
    async def main() -> tuple[list[str | None], float]:
        queue = queue_of("abc")
        for delay in (900.0, 300.0, 600.0):
            job = await queue.take()
            assert job is not None
            queue.again(job, delay=delay)
        idle = [asyncio.create_task(queue.take()) for _ in range(3)]
        await asyncio.sleep(1)
        queue.hurry()
        return await asyncio.gather(*idle), now()

    assert run_in_fake_time(main()) == (["a", "b", "c"], 1.0)


def test_where_the_line_has_a_pause_others_on_the_loop_have_their_turn():
    async def main() -> list[str]:
        queue = queue_of([None, None, "a"])
        log: list[str] = []

        async def other() -> None:
            for _ in range(2):
                log.append("other")
                await asyncio.sleep(0)

        ticking = asyncio.create_task(other())
        log.append(str(await queue.take()))
        await ticking
        return log

    assert run_in_fake_time(main()) == ["other", "other", "a"]


@given(
    workers=st.integers(1, 5),
    jobs=st.lists(st.lists(st.floats(0, 50), max_size=3), max_size=12),
    seconds=st.floats(0, 5),
)
def test_every_job_is_done_as_often_as_it_is_put_back_and_then_all_workers_end(
    workers: int, jobs: list[list[float]], seconds: float
):
    """A job is the list of delays with which it comes back."""

    async def main() -> int:
        fresh: list[tuple[int, int]] = [(number, 0) for number in range(len(jobs))]
        queue = WorkQueue(iter(fresh), clock=now)
        visits = 0

        async def work() -> None:
            nonlocal visits
            while (job := await queue.take()) is not None:
                await asyncio.sleep(seconds)
                visits += 1
                number, round_ = job
                if round_ < len(jobs[number]):
                    queue.again((number, round_ + 1), delay=jobs[number][round_])
                else:
                    queue.done()

        async with asyncio.timeout(10_000):
            await asyncio.gather(*(work() for _ in range(workers)))
        return visits

    assert run_in_fake_time(main()) == sum(1 + len(delays) for delays in jobs)
