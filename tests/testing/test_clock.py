from __future__ import annotations

import asyncio
import time

import pytest
from aiolimiter import AsyncLimiter

from llmframe.testing import clock, run_in_fake_time


def test_a_day_of_sleep_passes_at_once_and_ends_exactly():
    async def main() -> float:
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    started = time.monotonic()
    assert run_in_fake_time(main()) == 86_400.0
    assert time.monotonic() - started < 60


def test_timers_fire_in_the_order_of_their_instants():
    async def main() -> list[tuple[str, float]]:
        loop, seen = asyncio.get_running_loop(), []

        async def nap(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append((name, loop.time()))

        await asyncio.gather(nap("c", 3), nap("a", 1), nap("b", 2))
        return seen

    assert run_in_fake_time(main()) == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


def test_work_that_waits_for_nothing_takes_no_time():
    async def main() -> float:
        for _ in range(100):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == 0.0


def test_a_timeout_fires_at_its_simulated_instant():
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == 30.0


def test_a_limiter_paces_in_simulated_time():
    async def main() -> float:
        limiter = AsyncLimiter(1, 60)  # one a minute
        for _ in range(10):
            await limiter.acquire()
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == pytest.approx(9 * 60, rel=0.01)


def test_threads_may_report_into_simulated_time():
    async def main() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert run_in_fake_time(main()) == 7


def test_tasks_that_all_wait_for_ever_are_a_deadlock(monkeypatch):
    monkeypatch.setattr(clock, "DEADLOCK_SECONDS", 0.05)

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="deadlock in simulated time"):
        run_in_fake_time(main())


def test_an_exception_of_the_coroutine_comes_out():
    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        run_in_fake_time(main())


@pytest.mark.parametrize("start", [0.0, 3600.0, 1e6])
def test_timers_for_this_instant_let_time_pass(start: float):
    """Whoever waits once more because a sum of floats fell short by a hair isn't asked for ever at one instant."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(start)
        goal = loop.time() + 1e-12
        while loop.time() <= goal:
            done = loop.create_future()
            loop.call_at(loop.time(), done.set_result, None)
            await done
        return loop.time() - start

    assert 0 < run_in_fake_time(main()) < 1e-6
