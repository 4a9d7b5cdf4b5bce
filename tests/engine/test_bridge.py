"""From synchronous code to the private loop and back."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, util
from types import FrameType
from typing import Any

import pytest

from llmframe.engine import bridge
from llmframe.engine.bridge import LoopThread, Post, arun, private_loop, run, run_here
from llmframe.errors import LlmframeWarning, UsageError

WORD: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="nothing")


def never() -> None:
    msg = "nobody interrupts here"
    raise AssertionError(msg)


def call(make: Callable[[Post], Any], *, interrupt: Callable[[], None] = never) -> Any:
    return run(make, interrupt=interrupt, verb="map")


class Stoppable:
    """Work that goes on until it is interrupted."""

    def __init__(self) -> None:
        self.interrupted = False
        self.ended = False
        self._stop: asyncio.Event | None = None

    async def work(self, *, begun: Callable[[], None] = lambda: None) -> str:
        self._stop = asyncio.Event()
        begun()
        await self._stop.wait()
        self.ended = True
        return "stopped"

    def interrupt(self) -> None:
        self.interrupted = True
        if self._stop is not None:
            private_loop().call_soon_threadsafe(self._stop.set)


def test_a_coroutine_runs_on_the_one_private_loop_and_its_result_comes_back():
    async def work() -> tuple[asyncio.AbstractEventLoop, str]:
        return asyncio.get_running_loop(), threading.current_thread().name

    for _ in range(2):
        assert call(lambda post: work()) == (private_loop(), "llmframe")


def test_its_exception_comes_back_as_it_is():
    async def work() -> None:
        raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        call(lambda post: work())


def test_context_variables_are_copied_in():
    async def work() -> str:
        seen = WORD.get()
        WORD.set("changed inside")
        return seen

    token = WORD.set("something")
    assert call(lambda post: work()) == "something"
    assert WORD.get() == "something"
    WORD.reset(token)


def test_posted_calls_run_in_the_callers_thread_in_their_order():
    seen: list[tuple[int, threading.Thread]] = []

    async def work(post: Post) -> None:
        for number in range(3):
            post(lambda number=number: seen.append((number, threading.current_thread())))

    call(work)
    assert seen == [(number, threading.current_thread()) for number in range(3)]


def test_a_posted_call_that_raises_stops_the_work_and_is_raised():
    stoppable = Stoppable()

    def broken() -> None:
        raise LookupError("a bar of the user's own")

    with pytest.raises(LookupError, match="a bar of the user's own"):
        call(lambda post: stoppable.work(begun=lambda: post(broken)), interrupt=stoppable.interrupt)
    assert stoppable.ended


def test_whoever_patches_asyncio_meanwhile_does_not_confuse_the_caller(monkeypatch: pytest.MonkeyPatch):
    """Nesting a loop replaces `asyncio.Task`, and another thread's call may be under way."""

    class Patched(asyncio.Task):  # type: ignore[type-arg]
        pass

    async def work(post: Post) -> str:
        post(lambda: monkeypatch.setattr(asyncio, "Task", Patched))
        return "answered"

    assert call(work) == "answered"


def test_four_threads_call_at_once():
    barrier = threading.Barrier(4)
    inside: list[int] = []
    results: dict[int, int] = {}

    async def work(number: int) -> int:
        inside.append(number)
        while len(inside) < 4:  # noqa: ASYNC110 - all four are in, or none gets out
            await asyncio.sleep(0)
        return number * 10

    def thread(number: int) -> None:
        barrier.wait(timeout=60)
        results[number] = call(lambda post: work(number))

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=60)
    assert results == {0: 0, 1: 10, 2: 20, 3: 30}
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_a_call_from_inside_the_loop_names_the_twin():
    async def work() -> None:
        run(lambda post: asyncio.sleep(0), interrupt=never, verb="map")

    with pytest.raises(
        UsageError, match=r"`map` was called inside llmframe's own event loop; use `await llmframe\.amap"
    ):
        call(lambda post: work())


def test_an_interrupt_ends_the_work_before_it_is_raised():
    stoppable = Stoppable()
    with pytest.raises(KeyboardInterrupt):
        call(lambda post: stoppable.work(begun=_thread.interrupt_main), interrupt=stoppable.interrupt)
    assert stoppable.interrupted
    assert stoppable.ended


def test_after_an_interrupt_no_progress_is_shown_any_more():
    shown: list[str] = []
    stoppable = Stoppable()

    async def work(post: Post) -> None:
        await stoppable.work(begun=_thread.interrupt_main)
        post(lambda: shown.append("late"))

    with pytest.raises(KeyboardInterrupt):
        call(work, interrupt=stoppable.interrupt)
    assert shown == []


def test_work_that_does_not_end_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge, "GRACE_SECONDS", 0.01)
    stoppable = Stoppable()
    with pytest.raises(KeyboardInterrupt):
        call(lambda post: stoppable.work(begun=_thread.interrupt_main), interrupt=lambda: None)
    assert not stoppable.ended
    stoppable.interrupt()


def interrupted_at(line: int, work: Callable[[], Any]) -> bool:
    """Whether `work` comes to so many lines of the bridge in this thread; before that one it is interrupted."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != bridge.__file__:
            return None
        lines += event == "line"
        if lines == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("posts", [0, 1])
def test_interrupted_before_any_line_it_raises_that_at_once_and_leaves_nothing_going(
    posts: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bridge, "GRACE_SECONDS", 1e6)  # waiting for what has ended or never began, it would hang
    works: list[Any] = []

    async def work(post: Post) -> None:
        for _ in range(posts):
            post(lambda: None)
        await asyncio.sleep(0)

    def make(post: Post) -> Any:
        works.append(work(post))
        return works[-1]

    assert private_loop().is_running()

    def interrupt_before_every_line() -> int:
        lines = 1
        while interrupted_at(lines, lambda: call(make, interrupt=lambda: None)):
            lines += 1
        return lines

    with ThreadPoolExecutor(1) as thread:  # a trace that raises leaves CPython 3.11 a handled exception in its thread
        assert thread.submit(interrupt_before_every_line).result() > 20
    assert {inspect.getcoroutinestate(each) for each in works} == {inspect.CORO_CLOSED}


def test_the_grace_of_work_that_goes_on_showing_progress_ends_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge, "GRACE_SECONDS", 0.01)
    stop = asyncio.Event()

    async def work(post: Post) -> None:
        post(_thread.interrupt_main)
        while not stop.is_set():
            post(lambda: None)
            await asyncio.sleep(0)

    with pytest.raises(KeyboardInterrupt):
        call(work, interrupt=lambda: None)
    private_loop().call_soon_threadsafe(stop.set)


def test_a_second_interrupt_ends_the_grace(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge, "GRACE_SECONDS", 1e6)
    stoppable, main = Stoppable(), threading.get_ident()

    def press() -> None:
        signal.pthread_kill(main, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        call(
            lambda post: stoppable.work(begun=_thread.interrupt_main),
            interrupt=lambda: private_loop().call_soon_threadsafe(press),
        )
    assert not stoppable.ended
    stoppable.interrupt()


def test_a_call_inside_a_running_loop_warns_once_and_names_the_twin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge, "_warned", False)

    async def blocking() -> int:
        with pytest.warns(LlmframeWarning, match=r"`map` blocks the running event loop .* `await llmframe.amap"):
            call(lambda post: asyncio.sleep(0, 1))
        return call(lambda post: asyncio.sleep(0, 2))  # a second warning would be an error

    assert asyncio.run(blocking()) == 2


@pytest.mark.parametrize("runner", ["asyncio", "uvloop"])
def test_awaited_from_any_loop_it_runs_on_the_private_one(runner: str):
    runs = asyncio.run if runner == "asyncio" else pytest.importorskip("uvloop").run

    async def work() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def main() -> tuple[Any, bool]:
        return await arun(lambda post: work(), interrupt=never), asyncio.get_running_loop() is private_loop()

    assert runs(main()) == (private_loop(), False)


def test_posted_calls_run_in_the_awaiting_loops_thread():
    seen: list[threading.Thread] = []

    async def main() -> None:
        told = asyncio.Event()

        async def work(post: Post) -> None:
            post(lambda: (seen.append(threading.current_thread()), told.set()))

        await arun(work, interrupt=never)
        await told.wait()

    asyncio.run(main())
    assert seen == [threading.current_thread()]


def test_a_posted_call_that_raises_stops_awaited_work_too():
    stoppable = Stoppable()

    def broken() -> None:
        raise LookupError("a bar of the user's own")

    with pytest.raises(LookupError, match="a bar of the user's own"):
        asyncio.run(
            arun(lambda post: stoppable.work(begun=lambda: post(broken)), interrupt=stoppable.interrupt),
        )
    assert stoppable.ended


def test_awaited_inside_the_private_loop_it_runs_there():
    async def outer() -> str:
        async def work(post: Post) -> str:
            post(lambda: None)
            return threading.current_thread().name

        return await arun(work, interrupt=never)

    assert call(lambda post: outer()) == "llmframe"


def test_cancelling_the_awaiting_task_ends_the_work_first():
    stoppable = Stoppable()

    async def main() -> None:
        here, begun = asyncio.get_running_loop(), asyncio.Event()
        task = asyncio.create_task(
            arun(
                lambda post: stoppable.work(begun=lambda: here.call_soon_threadsafe(begun.set)),
                interrupt=stoppable.interrupt,
            )
        )
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stoppable.ended

    asyncio.run(main())


def test_a_failure_after_a_cancelling_makes_no_noise(caplog: pytest.LogCaptureFixture):
    gc.collect()  # what earlier tests left behind is no matter of this one
    caplog.clear()

    async def failing(stoppable: Stoppable, begun: Callable[[], None]) -> None:
        await stoppable.work(begun=begun)
        raise ZeroDivisionError

    async def main() -> None:
        stoppable, here, begun = Stoppable(), asyncio.get_running_loop(), asyncio.Event()
        task = asyncio.create_task(
            arun(
                lambda post: failing(stoppable, lambda: here.call_soon_threadsafe(begun.set)),
                interrupt=stoppable.interrupt,
            )
        )
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    gc.collect()
    call(lambda post: asyncio.sleep(0))
    assert [record.getMessage() for record in caplog.records] == []


def test_neither_way_patches_asyncio():
    before = (asyncio.run, asyncio.Task, asyncio.Future, asyncio.get_event_loop_policy())

    async def main() -> None:
        await arun(lambda post: asyncio.sleep(0), interrupt=never)

    call(lambda post: asyncio.sleep(0))
    asyncio.run(main())
    assert (asyncio.run, asyncio.Task, asyncio.Future, asyncio.get_event_loop_policy()) == before
    assert not hasattr(asyncio, "_nest_patched")


def test_where_no_loop_runs_the_callers_own_is_asyncio_run():
    async def work() -> bool:
        return asyncio.get_running_loop() is private_loop()

    assert run_here(work, interrupt=never) is False


def test_the_callers_own_loop_is_refused_on_uvloop_before_anything_is_made():
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        run_here(never, interrupt=never)  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=r"`loop='current'` can't nest into a uvloop loop; use `await llmframe.amap"):
        uvloop.run(main())


@pytest.mark.parametrize("version", ["7.0.0", "7.3.1"])
def test_a_kernel_that_would_lose_queued_cells_is_refused(version: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    monkeypatch.setattr(metadata, "version", lambda name: version)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)

    async def main() -> None:
        run_here(never, interrupt=never)  # type: ignore[arg-type]

    with pytest.raises(UsageError, match="pip install nest-asyncio2"):
        asyncio.run(main())


def in_a_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.stdout


def test_nested_into_the_running_loop_it_runs_there():
    code = """
import asyncio
from llmframe.engine.bridge import run_here

async def work():
    await asyncio.sleep(0)
    return asyncio.get_running_loop()

async def main():
    return run_here(work, interrupt=None) is asyncio.get_running_loop()

print(asyncio.run(main()))
"""
    assert in_a_process(code) == "True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
def test_a_forked_process_has_a_loop_of_its_own():
    code = """
import asyncio, os
from llmframe.engine.bridge import private_loop, run

def call():
    return run(lambda post: asyncio.sleep(0, "answered"), interrupt=None, verb="map")

before = (call(), private_loop())
pid = os.fork()
if not pid:
    fine = call() == "answered" and private_loop() is not before[1]
    os._exit(0 if fine else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), call(), private_loop() is before[1])
"""
    assert in_a_process(code) == "0 answered True\n"


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_inside_the_loop_is_the_callers_and_the_loop_goes_on(end: BaseException):
    """A validator or a prompt function may call `sys.exit()`."""

    async def leave() -> None:
        raise end

    before = private_loop()
    with pytest.raises(type(end)):
        call(lambda post: leave(), interrupt=lambda: None)
    assert call(lambda post: asyncio.sleep(0, "answered")) == "answered"
    assert private_loop() is before


def test_a_loop_that_died_is_made_anew():
    thread = LoopThread()
    first = thread.loop()
    assert thread.loop() is first
    first.call_soon_threadsafe(first.stop)
    dead = thread._thread
    assert dead is not None
    dead.join(timeout=60)
    second = thread.loop()
    assert second is not first
    assert second.is_running()
    first.close()
    second.call_soon_threadsafe(second.stop)
    thread._thread.join(timeout=60)
    second.close()
