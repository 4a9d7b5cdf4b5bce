"""Ctrl-C while the main thread is inside a library that doesn't listen."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from llmframe.core.prices import Price
from llmframe.engine import interrupts
from llmframe.engine.bridge import private_loop
from llmframe.engine.interrupts import watched
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run
from llmframe.testing import Provider
from tests.engine.doubles import plan_of

SECONDS = 60.0
"""Longest that something is waited for which should come at once."""


@pytest.fixture(autouse=True)
def quiet_signal() -> Iterator[None]:
    """SIGINT without Python's own `KeyboardInterrupt`, and another library's descriptor as it was."""
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


def settled() -> None:
    """After this the private loop has read what a signal wrote."""
    for _ in range(3):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), private_loop()).result(SECONDS)


def once_watched(run: Run) -> None:
    with watched(run):
        pass


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_an_interrupt_cancels_a_watched_run_while_a_part_of_it_goes_on():
    active = Active()
    with watched(active.run):
        signal.raise_signal(signal.SIGINT)
        active.ended.result(SECONDS)
    assert active.run.report().state == "interrupted"


def test_a_part_that_another_thread_waits_for_is_watched_too():
    active, entered = Active(), threading.Event()

    def wait() -> None:
        with watched(active.run):
            entered.set()
            active.ended.result(SECONDS)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert entered.wait(SECONDS)
    signal.raise_signal(signal.SIGINT)
    waiting.join()
    assert active.run.interrupted


def test_a_run_is_watched_until_the_last_of_its_parts_has_ended():
    run = new_run()
    with watched(run):
        in_a_thread(lambda: once_watched(run))
        signal.raise_signal(signal.SIGINT)
        settled()
    assert run.interrupted


def test_a_run_is_left_alone_before_and_afterwards():
    before, after, active = new_run(), new_run(), Active()
    once_watched(after)
    with watched(active.run):
        signal.raise_signal(signal.SIGINT)
        active.ended.result(SECONDS)
    assert not before.interrupted
    assert not after.interrupted


def test_what_an_earlier_interrupt_left_behind_cancels_nothing():
    once_watched(new_run())
    run = new_run()
    assert interrupts._pair is not None
    interrupts._pair[1].send(b"the end of a traceback")
    with watched(run):
        settled()
    assert not run.interrupted


def test_another_signal_cancels_nothing():
    run = new_run()
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    with watched(run):
        signal.raise_signal(signal.SIGTERM)
        settled()
    signal.signal(signal.SIGTERM, before)
    assert not run.interrupted


def test_an_ignored_interrupt_cancels_nothing():
    """As in a script that a shell has started in the background."""
    run = new_run()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with watched(run):
        signal.raise_signal(signal.SIGINT)
        settled()
    assert not run.interrupted


def test_the_handler_that_was_there_hears_an_interrupt_once_inside_and_afterwards():
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with watched(new_run()):
        signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT]
    signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT] * 2


def test_a_library_that_listens_to_signals_itself_keeps_its_place_and_hears_them():
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    run = new_run()
    with watched(run):
        signal.raise_signal(signal.SIGINT)
        settled()
    assert run.interrupted
    assert ours.recv(10) == bytes([signal.SIGINT])
    assert signal.set_wakeup_fd(-1) == theirs.fileno()
    ours.close()
    theirs.close()


def test_a_run_that_nobody_holds_is_forgotten():
    run = new_run()
    once_watched(run)
    alive = weakref.ref(run)
    del run
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
def test_a_signal_to_a_forked_process_cancels_no_run_of_its_parent():
    """The socket would be the parent's: what the child's signal handler wrote, the parent would read."""
    code = """
import asyncio, os, signal, time
from llmframe.core.prices import Price
from llmframe.engine.bridge import private_loop
from llmframe.engine.interrupts import watched
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run

def new_run():
    return Run(Metrics(model="m", price=Price(None, "m")), clock=private_loop().time, rows=None)

def settle():
    for _ in range(3):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), private_loop()).result(30)

signal.signal(signal.SIGINT, lambda number, frame: None)
run = new_run()
with watched(run):
    pid = os.fork()
    if not pid:
        signal.raise_signal(signal.SIGINT)
        own = new_run()
        with watched(own):
            signal.raise_signal(signal.SIGINT)
            settle()
        os._exit(0 if own.interrupted else 1)
    child = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    settle()
    print(child, run.interrupted)
    signal.raise_signal(signal.SIGINT)
    settle()
    print(run.interrupted)
"""
    # From 3.12 on Python itself warns of any fork beside a thread.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("0 False\nTrue\n", "")


@pytest.mark.parametrize("meanwhile", ["", "signal.set_wakeup_fd(-1)", "asyncio.run(a_prompt())"])
def test_ctrl_c_inside_a_lazy_query_closes_the_requests_while_they_are_withheld(meanwhile: str):
    code = f"""
import asyncio, os, signal
import polars as pl
import llmframe

lf = pl.LazyFrame({{"t": ["row-1", "row-2", "row-3"]}})
query = lf.llm.map("A {{t}}", model="m", base_url=os.environ["URL"], api_key="k", cache=False)

async def a_prompt():
    # as IPython's at every prompt: the loop's own way of hearing Ctrl-C, and Python's back
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, print)
    asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

{meanwhile}
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
                provider.wait_in_flight(3, timeout=60)  # SDKs are imported first
                process.send_signal(signal.SIGINT)
                provider.wait_closed(3, timeout=60)  # no answer was released
                _, told = process.communicate(timeout=60)
            finally:
                process.kill()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in told
