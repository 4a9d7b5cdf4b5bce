"""Fifty runs of every kind in one process: as many descriptors, threads, tasks and objects as after the first ones."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx2
import openai
import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.api import answering, keeping, runs, streaming
from llmframe.engine import bridge, dialects, interrupts, sharing
from llmframe.errors import LlmframeWarning
from llmframe.testing import Cut, Delay, Provider, Reset, Status

Label = Literal["pos", "neg"]

OPEN = Path("/proc/self/fd")
"""The descriptors of this process."""

SECONDS = 60.0
"""Longest that something is waited for which should come at once."""

ROUNDS = 3
"""Of all `KINDS` below, after a first one: more than fifty runs."""

COUNTED = frozenset(
    {"AsyncClient", "AsyncOpenAI", "ClientSession", "Flight", "Gate", "Hedge", "Job", "Negotiation", "OpenAIClient"}
    | {"Part", "Run", "Runner", "Shared", "Stream", "Task", "WorkQueue"}
)
"""Classes whose objects are counted."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    keeping._process_store.clear()
    with Provider() as provider:
        yield provider


def frame(rows: int = 6) -> pd.DataFrame:
    return pd.DataFrame({"t": [f"row-{number} " for number in range(rows)]})


def meanwhile(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def ask(provider: Provider, rows: int = 6, **options: Any) -> pd.DataFrame:
    options = {"client": provider, "cache": False, **options}
    return frame(rows).llm.map("J {t}", schema=Label, **options)


def plainly(provider: Provider) -> None:
    assert ask(provider)["error"].isna().all()


def within_limits(provider: Provider) -> None:
    ask(provider, requests_per_minute=60_000, tokens_per_minute=6_000_000, max_concurrency=3)


def with_faults(provider: Provider) -> None:
    provider.script(Status(503, retry_after=0.001), Reset(), Cut())
    ask(provider)


def refused_at_first(provider: Provider) -> None:
    provider.script(Status(429, retry_after=0.001))
    ask(provider, rows=1, model="limited")  # a gate of its own: a 429 teaches it a rate


def failing(provider: Provider) -> None:
    provider.always(Status(401, "invalid_api_key"))
    with pytest.warns(LlmframeWarning, match="6 of 6 rows failed"):
        ask(provider)


def hedged(provider: Provider) -> None:
    provider.when("row-50 ", Delay(0.2), times=1)
    ask(provider, rows=60, hedge=True)


def streaming_tokens(provider: Provider) -> None:
    ask(provider, params={"stream": True})


def with_a_built_client(provider: Provider) -> None:
    ask(provider, client=None, model="m", base_url=provider.base_url, api_key="k")


def with_a_given_client(provider: Provider) -> None:
    ask(provider, client=openai.AsyncOpenAI(base_url=provider.base_url, api_key="k"), model="m")


def on_the_callers_loop(provider: Provider) -> None:
    async def main() -> None:
        http = httpx2.AsyncClient(trust_env=False)
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", http_client=http) as client:
            await frame().llm.amap("J {t}", schema=Label, client=client, model="m", loop="current", cache=False)

    asyncio.run(main())


def cancelled_on_the_callers_loop(provider: Provider) -> None:
    provider.hold()

    async def main() -> None:
        http = httpx2.AsyncClient(trust_env=False)
        async with openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", http_client=http) as client:
            task = asyncio.create_task(
                frame().llm.amap("J {t}", schema=Label, client=client, model="m", loop="current", cache=False)
            )
            await asyncio.to_thread(provider.wait_in_flight, 6)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def interrupted(provider: Provider) -> None:
    provider.hold()
    main = threading.get_ident()
    thread = meanwhile(lambda: (provider.wait_in_flight(6), signal.pthread_kill(main, signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        ask(provider)
    thread.join()


def interrupted_while_tokens_come(provider: Provider) -> None:
    provider.hold()
    main = threading.get_ident()
    thread = meanwhile(lambda: (provider.wait_in_flight(6), signal.pthread_kill(main, signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        ask(provider, params={"stream": True})
    thread.join()


def in_parts_that_are_left(provider: Provider) -> None:
    for _ in frame().llm.stream("J {t}", schema=Label, client=provider, rows=1, cache=False):
        break


def in_async_parts(provider: Provider) -> None:
    async def main() -> None:
        async for _ in frame().llm.astream("J {t}", schema=Label, client=provider, rows=2, cache=False):
            pass

    asyncio.run(main())


def lazily(provider: Provider) -> None:
    pl.LazyFrame(frame()).llm.map("J {t}", schema=Label, client=provider, cache=False).collect()


def lazily_and_cancelled(provider: Provider) -> None:
    provider.hold()
    thread = meanwhile(lambda: (provider.wait_in_flight(6), llmframe.cancel()))
    with pytest.warns(LlmframeWarning, match="6 cancelled"):
        pl.LazyFrame(frame()).llm.map("J {t}", schema=Label, client=provider, cache=False).collect()
    thread.join()


KINDS = [
    plainly,
    within_limits,
    with_faults,
    refused_at_first,
    failing,
    hedged,
    streaming_tokens,
    with_a_built_client,
    with_a_given_client,
    on_the_callers_loop,
    cancelled_on_the_callers_loop,
    interrupted,
    interrupted_while_tokens_come,
    in_parts_that_are_left,
    in_async_parts,
    lazily,
    lazily_and_cancelled,
]


def play(kind: Callable[[Provider], None], provider: Provider) -> None:
    kind(provider)
    provider.release()
    provider.reset()


async def quiet() -> None:
    """Wait until all that can end on the private loop has ended; a timer holds the store of another test for 5 s."""
    timers: list[asyncio.TimerHandle] = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    while len(asyncio.all_tasks()) > 1 or not all(each.cancelled() for each in timers):  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.001)


def settle(provider: Provider) -> None:
    """Wait for the ends that nobody waits for: of closed connections, and of an SDK's client that goes as garbage."""
    for _ in range(2):
        gc.collect()
        asyncio.run_coroutine_threadsafe(quiet(), bridge.private_loop()).result(SECONDS)
    provider.wait_idle()
    until = time.monotonic() + SECONDS
    while provider.connections and time.monotonic() < until:
        threading.Event().wait(0.001)


def descriptors() -> Counter[str]:
    found = Counter[str]()
    for each in OPEN.iterdir():
        with contextlib.suppress(OSError):  # the listing's own
            found[str(each.readlink()).partition(":")[0]] += 1
    return found


def threads() -> list[str]:
    """Python's own threads, without those that an executor keeps for the next one and those that polars brings."""
    kept = [each for each in threading.enumerate() if not isinstance(each, threading._DummyThread)]
    return sorted(each.name for each in kept if not each.name.startswith("asyncio_"))


def left(provider: Provider) -> dict[str, Any]:
    """All that a run could leave behind."""
    settle(provider)
    shared = sharing._of_loop[bridge.private_loop()]
    return {
        "descriptors": descriptors(),
        "threads": threads(),
        "connections": provider.connections,
        "objects": Counter(name for each in gc.get_objects() if (name := type(each).__name__) in COUNTED),
        "gates": len(shared._gates),
        "busy gates": [
            (gate.in_flight, gate._flows, gate._alarm, gate._turns)
            for gate in shared._gates.values()
            if gate.in_flight or gate._flows or gate._line or gate._alarm or gate._turns
        ],
        "flights": len(shared._flights),
        "dialects": len(dialects._remembered),
        "watched": len(interrupts._watched),
        "closing": len(answering._closing) + len(streaming._ending),
        "running": len(runs._running),
        "garbage": gc.get_threshold(),
    }


def at_rest(provider: Provider) -> dict[str, Any]:
    """What is left when it stays so: threads and tasks that have just ended take a moment to go."""
    last = None
    while (now := left(provider)) != last:
        last = now
    return now


@pytest.mark.skipif(not OPEN.is_dir(), reason="this system doesn't list open descriptors")
def test_nothing_grows_with_the_number_of_runs(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmframe.engine.rounds.OWN_SECONDS", 60.0)  # no slow machine lets fewer than 6 be in flight
    for kind in KINDS:
        play(kind, provider)
    first = at_rest(provider)
    assert first["busy gates"] == []
    assert (first["connections"], first["flights"], first["watched"], first["closing"]) == (0, 0, 0, 0)
    for _ in range(ROUNDS):
        for kind in KINDS:
            play(kind, provider)
    assert at_rest(provider) == first


class Lingering(httpx2.AsyncBaseTransport):
    """Never answers, and takes its time to be cancelled."""

    def __init__(self) -> None:
        self.asked, self.cancelled = threading.Event(), threading.Event()
        self.over = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            await self.over.wait()
            raise
        raise AssertionError(request)


def test_a_second_interrupt_does_not_wait_for_requests_that_are_slow_to_be_cancelled(provider: Provider):
    transport, main = Lingering(), threading.get_ident()
    client = openai.AsyncOpenAI(
        base_url="http://nowhere.test/v1", api_key="k", http_client=httpx2.AsyncClient(transport=transport)
    )

    def press() -> None:
        for ready in (transport.asked, transport.cancelled):
            assert ready.wait(SECONDS)
            signal.pthread_kill(main, signal.SIGINT)

    thread = meanwhile(press)
    with pytest.raises(KeyboardInterrupt) as caught:
        frame(1).llm.map("J {t}", schema=Label, client=client, model="m", cache=False)
    thread.join()
    assert caught.value.frame["error"].str.startswith("cancelled: ").all()
    assert not transport.over.is_set()
    bridge.private_loop().call_soon_threadsafe(transport.over.set)
    settle(provider)
    assert left(provider)["busy gates"] == []


def test_a_process_forked_in_the_middle_of_a_run_has_runs_of_its_own(provider: Provider):
    code = """
import gc, os, sys, threading
import pandas as pd
import llmframe

def ask(*rows):
    given = {"model": "m", "base_url": os.environ["URL"], "api_key": "k"}
    return pd.DataFrame({"t": rows}).llm.map("J {t}", schema=bool, **given)["error"].notna().sum()

ask("row-0")  # so that there are connections, a loop and threads to inherit
before, answers = gc.get_threshold(), []
parents = threading.Thread(target=lambda: answers.append(ask("row-1", "row-2")))
parents.start()
sys.stdin.readline()
pid = os.fork()
if not pid:
    llmframe.cancel()  # its parent's runs aren't its own
    fine = not ask("row-0", "row-3") and llmframe.last_run().requests == 1
    os._exit(0 if fine and gc.get_threshold() == before else 1)
child = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(child, flush=True)
parents.join()
print(*answers)
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    environment = {**os.environ, "URL": provider.base_url}
    pipe = subprocess.PIPE
    provider.hold()
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            provider.wait_requests(1, timeout=SECONDS)
            provider.release(1)
            provider.wait_in_flight(2, timeout=SECONDS)
            assert process.stdin is not None
            process.stdin.write("fork\n")
            process.stdin.flush()
            provider.wait_in_flight(3, timeout=SECONDS)  # the child's one; row-0 it has inherited
            provider.release()
            told, complaints = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (told, complaints) == ("0\n0\n", "")
    assert provider.requests == 4
