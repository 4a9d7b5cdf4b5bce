"""Ctrl-C while the main thread is inside a library that doesn't listen."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from llmframe.core.prices import Price
from llmframe.engine import interrupts
from llmframe.engine.bridge import private_loop
from llmframe.engine.interrupts import watch
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run
from llmframe.testing import Provider
from tests.engine.doubles import plan_of

SECONDS = 30.0
"""Longest that something is waited for which should come at once."""


@pytest.fixture(autouse=True)
def quiet_signal() -> Iterator[None]:
    """SIGINT without Python's own `KeyboardInterrupt`, and the wake-up socket as it was."""
    handler = signal.signal(signal.SIGINT, lambda number, frame: None)
    fd = signal.set_wakeup_fd(-1)
    yield
    signal.signal(signal.SIGINT, handler)
    signal.set_wakeup_fd(fd, warn_on_full_buffer=False)


def new_run() -> Run:
    return Run(Metrics(model="m", price=Price(None, "m")), clock=private_loop().time, rows=None)


class Active:
    """A run with a part that goes on until it's cancelled, on the private loop."""

    def __init__(self) -> None:
        self.run = new_run()
        begun = threading.Event()

        async def work() -> None:
            begun.set()
            await asyncio.Event().wait()

        async def execute() -> None:
            await self.run.execute(plan_of([], identity="x"), lambda: asyncio.create_task(work()))

        self.ended = asyncio.run_coroutine_threadsafe(execute(), private_loop())
        assert begun.wait(SECONDS)

    def end(self) -> None:
        self.run.cancel()
        self.ended.result(SECONDS)


def settled() -> None:
    """After this the private loop has read what a signal wrote."""
    for _ in range(3):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), private_loop()).result(SECONDS)


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_an_interrupt_cancels_a_watched_run_while_a_part_of_it_goes_on():
    active = Active()
    watch(active.run)
    signal.raise_signal(signal.SIGINT)
    active.ended.result(SECONDS)
    assert active.run.interrupted
    assert active.run.report().state == "interrupted"


def test_a_run_that_rests_is_left_alone():
    resting, active = new_run(), Active()
    watch(resting)
    watch(active.run)
    signal.raise_signal(signal.SIGINT)
    active.ended.result(SECONDS)
    assert not resting.interrupted


def test_another_signal_cancels_nothing():
    active = Active()
    watch(active.run)
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    signal.raise_signal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)
    settled()
    assert not active.run.interrupted
    active.end()


def test_a_library_that_listens_to_signals_itself_keeps_its_place():
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    watch(new_run())
    assert signal.set_wakeup_fd(-1) == theirs.fileno()
    ours.close()
    theirs.close()


def test_a_run_made_in_another_thread_is_watched_once_the_main_thread_watches():
    active = Active()
    in_a_thread(lambda: watch(active.run))
    watch(new_run())
    signal.raise_signal(signal.SIGINT)
    active.ended.result(SECONDS)
    assert active.run.interrupted


def test_a_run_that_nobody_holds_is_forgotten():
    watch(new_run())
    import gc

    gc.collect()
    assert not any(not run.active and run.ended is None for run in list(interrupts._watched))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
def test_a_signal_to_a_forked_process_cancels_no_run_of_its_parent():
    """The wake-up socket would be the parent's: what the child's signal handler wrote, the parent would read."""
    code = """
import asyncio, os, signal, threading
from llmframe.core.prices import Price
from llmframe.engine.bridge import private_loop
from llmframe.engine.interrupts import watch
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run

def new_run():
    return Run(Metrics(model="m", price=Price(None, "m")), clock=private_loop().time, rows=None)

def begin(run):
    begun = threading.Event()
    async def work():
        begun.set()
        await asyncio.Event().wait()
    async def execute():
        await run.execute(object(), lambda: asyncio.create_task(work()))
    ended = asyncio.run_coroutine_threadsafe(execute(), private_loop())
    begun.wait(30)
    return ended

signal.signal(signal.SIGINT, lambda number, frame: None)
run = new_run()
watch(run)
ended = begin(run)
pid = os.fork()
if not pid:
    signal.raise_signal(signal.SIGINT)
    own = new_run()
    watch(own)
    over = begin(own)
    signal.raise_signal(signal.SIGINT)
    over.result(30)
    os._exit(0 if own.interrupted else 1)
child = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
for _ in range(3):
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), private_loop()).result(30)
print(child, run.interrupted)
run.cancel()
ended.result(30)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("0 False\n", "")


def test_ctrl_c_inside_a_lazy_query_closes_the_requests_while_they_are_withheld():
    code = """
import os
import polars as pl
import llmframe

lf = pl.LazyFrame({"t": ["row-1", "row-2", "row-3"]})
query = lf.llm.map("A {t}", model="m", base_url=os.environ["URL"], api_key="k", cache=False)
print("ready", flush=True)
query.collect()
"""
    with Provider() as provider:
        provider.hold()
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "URL": provider.base_url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                provider.wait_in_flight(3)
                process.send_signal(signal.SIGINT)
                provider.wait_closed(3)  # no answer was released
                _, told = process.communicate(timeout=60)
            finally:
                process.kill()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in told
