"""Limits that one call states hold for all calls of the process, from whichever thread or loop they come."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest

from llmframe.api import keeping
from llmframe.engine import bridge, sharing
from llmframe.engine.gate import Gate
from llmframe.engine.pace import BURST_SECONDS
from llmframe.testing import Provider

SECONDS = 30.0
"""Longest that something is waited for which should come soon."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    keeping._process_store.clear()
    with Provider() as provider:
        yield provider


@pytest.fixture
def pool(provider: Provider) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(6) as pool:
        yield pool
        provider.release()  # a test that fails in the middle ends all the same


def frame(name: str, rows: int) -> pd.DataFrame:
    return pd.DataFrame({"t": [f"{name} {row}" for row in range(rows)]})


def ask(provider: Provider, name: str, rows: int, **options: Any) -> int:
    """`map` from this thread; returns how many rows were answered."""
    return int(frame(name, rows).llm.map("J {t}", schema=bool, client=provider, **options)["error"].isna().sum())


def ask_in_a_loop(provider: Provider, name: str, rows: int, **options: Any) -> int:
    """As `ask`, with `amap` in a loop of this thread's own."""

    async def main() -> int:
        out = await frame(name, rows).llm.amap("J {t}", schema=bool, client=provider, **options)
        return int(out["error"].isna().sum())

    return asyncio.run(main())


def on_the_private_loop(look: Callable[[], Any]) -> Any:
    async def work() -> Any:
        return look()

    return asyncio.run_coroutine_threadsafe(work(), bridge.private_loop()).result(SECONDS)


def gate_of(provider: Provider) -> Gate:
    gates = on_the_private_loop(lambda: sharing.shared_here()._gates)
    (found,) = [gate for key, gate in gates.items() if key[0] == provider.identity]
    return found


def wait_for(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not on_the_private_loop(reached):
        assert time.monotonic() < until
        threading.Event().wait(0.001)


def is_at_rest(gate: Gate) -> bool:
    return not (gate.in_flight or gate._flows or gate._line or gate._alarm or gate._turns)


def test_a_rate_that_one_call_states_holds_for_three_threads_and_two_loops(
    provider: Provider, pool: ThreadPoolExecutor
):
    rate = 100.0  # a second
    provider.hold()
    begun = time.monotonic()  # the clock of the provider's arrivals
    first = pool.submit(ask, provider, "first", 30, requests_per_minute=60 * rate)
    provider.wait_requests(1)  # from here on the rate is known
    others: list[Future[int]] = [
        pool.submit(ask, provider, "second", 30),
        pool.submit(ask, provider, "third", 30, requests_per_minute=600 * rate),
        pool.submit(ask_in_a_loop, provider, "fourth", 30),
        pool.submit(ask_in_a_loop, provider, "fifth", 30),
    ]
    gate = gate_of(provider)
    wait_for(lambda: sum(len(flow.waiting) > 0 for flow in gate._flows) == 4)  # the first has all places
    provider.release()
    assert first.result(SECONDS) == 30
    assert [each.result(SECONDS) for each in others] == [30] * 4
    assert provider.requests == 150
    last = max(
        number for number, prompt in enumerate(provider.prompts, 1) if "first" in prompt
    )  # with it the rate ends
    assert last > 60  # the others had turns meanwhile
    # a slow machine is late, never early: from the beginning no more can have come than the rate and one burst
    for number, arrival in enumerate(provider.arrivals[:last], 1):
        assert number <= rate * (arrival - begun) + rate * BURST_SECONDS + 1
    wait_for(lambda: is_at_rest(gate))


def test_a_rate_is_gone_with_the_call_that_stated_it(provider: Provider, pool: ThreadPoolExecutor):
    """At one a minute the forty rows of the others would take most of an hour."""

    async def slow() -> None:
        await frame("slow", 5).llm.amap("J {t}", schema=bool, client=provider, requests_per_minute=1)

    async def main() -> None:
        task = asyncio.create_task(slow())
        await asyncio.to_thread(provider.wait_requests, 1)
        gate = await asyncio.to_thread(gate_of, provider)
        others = [pool.submit(ask, provider, "other", 20), pool.submit(ask_in_a_loop, provider, "another", 20)]
        await asyncio.to_thread(wait_for, lambda: sum(len(flow.waiting) > 0 for flow in gate._flows) == 3)
        assert provider.requests == 1
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert [await asyncio.to_thread(each.result, SECONDS) for each in others] == [20, 20]
        await asyncio.to_thread(wait_for, lambda: is_at_rest(gate))
        assert gate.limits.pace.rate is None

    asyncio.run(main())


def test_the_same_question_from_every_thread_and_loop_is_sent_once(provider: Provider, pool: ThreadPoolExecutor):
    provider.hold()
    calls = [pool.submit(each, provider, "same", 10) for each in (ask, ask, ask, ask_in_a_loop, ask_in_a_loop)]
    provider.wait_in_flight(8)
    gate = gate_of(provider)
    wait_for(lambda: len(gate._flows) == 5)
    provider.release()
    assert [each.result(SECONDS) for each in calls] == [10] * 5
    assert provider.requests == 10
    wait_for(lambda: is_at_rest(gate))
