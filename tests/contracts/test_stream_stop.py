"""Leaving a stream: what is in flight is cancelled, what was handed over isn't kept, no more is begun than fits."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import weakref
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Literal

import pandas as pd
import pytest

import llmframe
from llmframe.api.parts import DrawnPlan
from llmframe.engine import bridge
from llmframe.errors import LlmframeWarning
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind

Label = Literal["pos", "neg"]
ROWS = [f"row-{number} " for number in range(40)]
TWO: dict[str, Any] = {"schema": Label, "rows": 2, "max_concurrency": 2}
"""Parts of two rows, two requests in flight."""


@pytest.fixture(autouse=True)
def idle() -> None:
    """Tasks are counted, so what another test has left has to end first."""
    wait_idle()


@pytest.fixture
def held(provider: Provider) -> Provider:
    """Answers the first two requests; all others are withheld."""
    provider.hold()

    def answer_two() -> None:
        provider.wait_in_flight(2)
        provider.release(2)

    thread = threading.Thread(target=answer_two)
    thread.start()
    yield provider
    thread.join()


def tasks_of_the_private_loop() -> int:
    """Tasks that are left but the one that counts."""

    async def count() -> int:
        return len(asyncio.all_tasks()) - 1

    return asyncio.run_coroutine_threadsafe(count(), bridge.private_loop()).result(60)


def wait_idle() -> None:
    """Wait until no task is left."""
    while tasks_of_the_private_loop():
        pass


def settled(provider: Provider) -> bool:
    """Whether nothing is in flight and no task is left, once the provider has noticed."""
    provider.wait_closed(2)
    return provider.in_flight == 0 and tasks_of_the_private_loop() == 0


def leave_by_break(parts: Any, held: Provider) -> None:
    for _ in parts:
        held.wait_in_flight(2)
        break


def leave_by_an_exception(parts: Any, held: Provider) -> None:
    def consume() -> None:
        for _ in parts:
            held.wait_in_flight(2)
            raise KeyError

    with pytest.raises(KeyError):
        consume()


def leave_by_closing(parts: Any, held: Provider) -> None:
    next(parts)
    held.wait_in_flight(2)
    parts.close()
    with pytest.raises(StopIteration):
        next(parts)


@pytest.mark.parametrize("leave", [leave_by_break, leave_by_an_exception, leave_by_closing])
def test_who_leaves_the_loop_cancels_what_is_in_flight(
    library: Kind, held: Provider, leave: Callable[[Any, Provider], None]
):
    def run() -> None:  # a generator without a name is closed when the loop is left
        leave(library.make({"t": ROWS}).llm.stream("J {t}", client=held, **TWO), held)

    run()
    assert settled(held)
    assert held.requests == 4
    assert llmframe.last_run().state == "interrupted"


def test_a_stream_that_is_thrown_away_is_ended(library: Kind, held: Provider):
    parts = library.make({"t": ROWS}).llm.stream("J {t}", client=held, **TWO)
    next(parts)
    held.wait_in_flight(2)
    del parts
    gc.collect()
    assert settled(held)


def test_a_stream_may_be_thrown_away_in_the_private_loop_itself(library: Kind, held: Provider):
    """As garbage it may be found by any thread; that one can't wait for its own loop."""
    parts = library.make({"t": ROWS}).llm.stream("J {t}", client=held, **TWO)
    next(parts)
    held.wait_in_flight(2)
    bridge.private_loop().call_soon_threadsafe(parts.close)
    held.wait_closed(2)
    wait_idle()
    assert held.requests == 4


def test_a_stream_that_nobody_begins_asks_nothing(library: Kind, provider: Provider):
    library.make({"t": ROWS}).llm.stream("J {t}", client=provider, **TWO)
    assert provider.requests == 0
    assert tasks_of_the_private_loop() == 0


async def test_closing_an_async_stream_waits_for_its_end(library: Kind, held: Provider):
    async with aclosing(library.make({"t": ROWS}).llm.astream("J {t}", client=held, **TWO)) as parts:
        async for _ in parts:
            await asyncio.to_thread(held.wait_in_flight, 2)
            break
    assert await asyncio.to_thread(settled, held)
    assert held.requests == 4


async def test_breaking_out_of_an_async_stream_ends_it_too(library: Kind, held: Provider):
    async for _ in library.make({"t": ROWS}).llm.astream("J {t}", client=held, **TWO):
        await asyncio.to_thread(held.wait_in_flight, 2)
        break
    await asyncio.to_thread(held.wait_closed, 2)
    await asyncio.to_thread(wait_idle)
    assert held.requests == 4


async def test_a_cancelled_consumer_cancels_the_requests(library: Kind, held: Provider):
    taken = asyncio.Event()

    async def consume() -> None:
        async for _ in library.make({"t": ROWS}).llm.astream("J {t}", client=held, **TWO):
            taken.set()

    task = asyncio.create_task(consume())
    await taken.wait()
    await asyncio.to_thread(held.wait_in_flight, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(settled, held)
    assert llmframe.last_run().state == "interrupted"


async def test_the_callers_loop_goes_on_meanwhile(library: Kind, held: Provider):
    parts = library.make({"t": ROWS[:4]}).llm.astream("J {t}", client=held, **TWO)
    await anext(parts)
    waiting = asyncio.create_task(anext(parts))
    await asyncio.to_thread(held.wait_in_flight, 2)  # only a loop that isn't blocked gets here
    assert not waiting.done()
    held.release()
    assert len(await waiting) == 2
    with pytest.raises(StopAsyncIteration):
        await anext(parts)


def test_ctrl_c_ends_the_stream_and_the_same_call_asks_for_the_rest(library: Kind, held: Provider):
    assert threading.current_thread() is threading.main_thread()
    frame = library.make({"t": ROWS[:8]})
    taken: list[Any] = []

    def press(progress: llmframe.Progress) -> None:  # called while the main thread waits for a part
        if taken and progress.in_flight == 2:
            held.wait_in_flight(2)  # they are on their way by then, and here now
            signal.raise_signal(signal.SIGINT)

    def consume() -> None:
        for part in frame.llm.stream("J {t}", client=held, progress=press, **TWO):
            taken.append(part)  # noqa: PERF402 - `press` looks at it

    with pytest.raises(KeyboardInterrupt, match="the same call again asks only for what wasn't answered yet"):
        consume()
    assert settled(held)
    assert len(taken) == 1
    held.release()
    held.reset()
    assert len(list(frame.llm.stream("J {t}", client=held, **TWO))) == 4
    assert held.requests == 6


def test_cancelled_from_another_thread_all_parts_come_and_say_so(library: Kind, held: Provider):
    def stop() -> None:
        held.wait_requests(4)
        held.wait_in_flight(2)
        llmframe.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.warns(LlmframeWarning, match="38 of 40 rows failed: 38 cancelled"):
        parts = list(library.make({"t": ROWS}).llm.stream("J {t}", client=held, ordered=True, **TWO))
    thread.join()
    errors = [error for part in parts for error in library.to_dict(part)["error"]]
    assert errors[:2] == [None, None]
    assert {error.split(":")[0] for error in errors[2:]} == {"cancelled"}


def test_cancelled_while_nobody_takes_a_part_a_stream_asks_no_more(library: Kind, provider: Provider):
    parts = library.make({"t": ROWS}).llm.stream("J {t}", client=provider, ordered=True, **TWO)
    first = next(parts)
    provider.wait_requests(2 + 4 * 2)
    wait_idle()
    llmframe.cancel()
    with pytest.warns(LlmframeWarning, match="30 of 40 rows failed: 30 cancelled"):
        rest = list(parts)
    errors = [error for part in (first, *rest) for error in library.to_dict(part)["error"]]
    assert errors[:10] == [None] * 10
    assert {error.split(":")[0] for error in errors[10:]} == {"cancelled"}
    assert provider.requests == 10


def test_a_failure_in_a_part_that_nobody_took_is_no_news(library: Kind, provider: Provider):
    provider.when("row-7 ", Status(400, "context_length_exceeded"))
    parts = library.make({"t": ROWS}).llm.stream("J {t}", client=provider, ordered=True, **TWO)
    next(parts)
    parts.close()  # no warning: an error, by pytest's settings
    assert tasks_of_the_private_loop() == 0


def test_parts_that_were_handed_over_are_not_kept(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    seen: list[weakref.ref[Any]] = []
    for part in frame.llm.stream("J {t}", client=provider, **TWO):
        seen.append(weakref.ref(part))
        del part
        assert [each for each in seen if each() is not None] == []
    assert len(seen) == 20


async def test_parts_that_an_async_stream_handed_over_are_not_kept(provider: Provider):
    seen: list[weakref.ref[Any]] = []
    async for part in pd.DataFrame({"t": ROWS}).llm.astream("J {t}", client=provider, **TWO):
        seen.append(weakref.ref(part))
        del part
        assert [each for each in seen if each() is not None] == []
    assert len(seen) == 20


def test_of_a_long_frame_only_a_window_of_plans_is_alive(provider: Provider):
    frame = pd.DataFrame({"t": ROWS * 25})
    alive = 0
    for _ in frame.llm.stream("J {t}", Label, rows=50, client=provider, max_concurrency=8):
        gc.collect()
        alive = max(alive, sum(isinstance(each, DrawnPlan) for each in gc.get_objects()))
    assert 0 < alive <= 4 + 1  # the window, and the one that was just taken
    assert provider.requests == 40


def test_while_nobody_takes_a_part_no_more_are_begun_than_the_window_has(library: Kind, provider: Provider):
    parts = library.make({"t": ROWS}).llm.stream("J {t}", client=provider, **TWO)
    next(parts)
    provider.wait_requests(2 + 4 * 2)
    wait_idle()
    assert provider.requests == 2 + 4 * 2
    assert len(list(parts)) == 19
    assert provider.requests == 40
