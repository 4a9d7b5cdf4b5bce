from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from pathlib import Path

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


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        await asyncio.sleep(1)
        writer.write(line)
    writer.close()


def test_bytes_between_sockets_of_the_loop_arrive_before_the_clock_jumps():
    async def main() -> float:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            async with asyncio.timeout(100.5):  # a timer that stands ready to fire
                for _ in range(100):
                    writer.write(b"x\n")
                    await reader.readline()
            took = asyncio.get_running_loop().time()
            writer.close()
            await asyncio.sleep(1)  # the other end closes, too
            return took

    assert run_in_fake_time(main()) == 100.0


def test_the_clock_stands_still_while_a_thread_works():
    async def main() -> list[float]:
        loop, seen = asyncio.get_running_loop(), []
        timer = loop.call_later(1, lambda: seen.append(loop.time()))
        await asyncio.to_thread(threading.Event().wait, 0.05)
        seen.append(loop.time())
        timer.cancel()
        return seen

    assert run_in_fake_time(main()) == [0.0]


def test_a_thread_that_never_returns_holds_the_clock_for_a_while_only(monkeypatch):
    monkeypatch.setattr(clock, "THREAD_SECONDS", 0.01)
    go_on = threading.Event()

    async def main() -> float:
        job = asyncio.ensure_future(asyncio.to_thread(go_on.wait, 60))
        await asyncio.sleep(5)
        go_on.set()
        await job
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == 5.0


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_nothing_stays_open():
    async def main() -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            await asyncio.sleep(1)
            writer.close()
            await asyncio.sleep(1)

    run_in_fake_time(main())
    gc.collect()  # what other tests left open is closed now, not between the two counts
    before = open_files()
    for _ in range(5):
        run_in_fake_time(main())
    assert open_files() <= before  # who else closes something meanwhile is free to
