from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from llmframe.engine import background
from llmframe.engine.background import Background, on_loop
from llmframe.engine.bridge import Post, private_loop


class Gate:
    """Work that goes on until it's opened, from any thread."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._open: asyncio.Event = asyncio.Event()

    async def work(self, post: Post) -> str:
        await self._open.wait()
        return "cancelled" if self.cancelled.is_set() else "open"

    def open(self) -> None:
        private_loop().call_soon_threadsafe(self._open.set)

    def cancel(self) -> None:
        self.cancelled.set()
        self.open()


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


def done(work: Callable[[Post], Coroutine[Any, Any, Any]], **options: Any) -> Background[Any]:
    """Work that has ended."""
    begun = Background(work, cancel=lambda: None, **options)
    assert begun.wait(30)
    return begun


def test_it_goes_on_while_its_beginner_does_something_else(gate: Gate):
    begun = Background(gate.work, cancel=gate.cancel)
    assert not begun.done()
    assert not begun.wait(0)
    gate.open()
    assert begun.wait()
    assert (begun.done(), begun.error()) == (True, None)


def test_it_has_made_its_first_step_when_it_is_begun(gate: Gate):
    steps: list[str] = []

    async def work(post: Post) -> None:
        steps.append("first")
        await gate.work(post)

    Background(work, cancel=gate.cancel)
    assert steps == ["first"]


def test_a_dropped_handle_ends_nothing(gate: Gate):
    ended = threading.Event()
    Background(gate.work, cancel=gate.cancel, finished=ended.set)
    gc.collect()
    gate.open()
    assert ended.wait(30)
    assert not gate.cancelled.is_set()


def test_what_it_raised_is_kept():
    async def work(post: Post) -> None:
        raise ValueError("it")

    error = done(work).error()
    assert isinstance(error, ValueError)


def test_work_that_the_loop_ended_has_an_error():
    async def work(post: Post) -> None:
        raise asyncio.CancelledError

    assert isinstance(done(work).error(), concurrent.futures.CancelledError)


def test_the_callers_context_is_its_own():
    said: ContextVar[str] = ContextVar("said", default="nothing")
    found: list[str] = []

    async def work(post: Post) -> None:
        found.append(said.get())

    said.set("here")
    done(work)
    assert found == ["here"]


def test_posted_calls_run_in_order_in_a_thread_of_their_own():
    found: list[tuple[int, bool]] = []

    async def work(post: Post) -> None:
        for number in range(3):
            post(lambda number=number: found.append((number, threading.current_thread() is threading.main_thread())))

    done(work, last=lambda: found.append((3, False)))
    assert found == [(0, False), (1, False), (2, False), (3, False)]


def test_nothing_is_called_last_where_nothing_was_posted():
    found: list[str] = []

    async def work(post: Post) -> None:
        pass

    done(work, last=lambda: found.append("last"))
    assert found == []


def test_a_posted_call_that_raises_cancels_the_work(gate: Gate):
    async def work(post: Post) -> None:
        post(lambda: 1 // 0)
        await gate.work(post)

    begun = Background(work, cancel=gate.cancel)
    assert begun.wait(30)
    assert gate.cancelled.is_set()
    assert isinstance(begun.error(), ZeroDivisionError)


def test_several_loops_wait_for_its_end(gate: Gate):
    begun = Background(gate.work, cancel=gate.cancel)
    waiting = threading.Barrier(3)
    ended: list[bool] = []

    def wait() -> None:
        async def main() -> None:
            task = asyncio.ensure_future(begun.ended())
            await asyncio.to_thread(waiting.wait)
            await task
            ended.append(begun.done())

        asyncio.run(main())

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    waiting.wait(30)
    gate.open()
    for thread in threads:
        thread.join(30)
    assert ended == [True, True]


async def test_who_is_cancelled_while_waiting_leaves_it_going_on(gate: Gate):
    begun = Background(gate.work, cancel=gate.cancel)
    task = asyncio.ensure_future(begun.ended())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (begun.done(), gate.cancelled.is_set()) == (False, False)
    gate.open()
    await begun.ended()
    await begun.ended()  # of an ended one at once


def test_the_loop_answers_between_two_steps(gate: Gate):
    begun = Background(gate.work, cancel=gate.cancel)
    assert begun.call(asyncio.get_running_loop) is private_loop()
    assert on_loop(lambda: begun.call(begun.inside))
    gate.open()
    assert begun.wait(30)
    assert begun.call(begun.inside) is False
    with pytest.raises(TimeoutError):  # the call's own, not that of waiting for it
        on_loop(lambda: (_ for _ in ()).throw(TimeoutError))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # from 3.12 on: of any fork beside a thread
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_in_a_forked_process_it_is_lost(gate: Gate):
    begun = Background(gate.work, cancel=gate.cancel)
    child = os.fork()
    if child == 0:  # no test of its own goes on there
        os._exit(0 if begun.lost and begun.call(lambda: 1) == 1 and not background._going else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not begun.lost


ENDING = """
import asyncio
from llmframe.engine.background import Background

async def work(post):
    await gate.wait()
    print(await asyncio.get_running_loop().run_in_executor(None, lambda: "written"), flush=True)

async def closed():
    gate.set()

gate = asyncio.Event()
begun = Background(work, cancel=lambda: asyncio.run_coroutine_threadsafe(closed(), begun._loop))
"""


def test_at_the_processs_end_it_is_cancelled_while_executors_still_work():
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("written\n", "", 0)
