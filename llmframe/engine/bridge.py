"""From synchronous code to the event loop: one private loop in a daemon thread, or the caller's own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Coroutine
from importlib import metadata, util
from typing import Any, Final, Generic, TypeVar, cast

from llmframe.engine.progress import in_kernel
from llmframe.errors import LlmframeWarning, UsageError, callers_place

T = TypeVar("T")

GRACE_SECONDS: Final = 10.0
"""Seconds that an interrupted run has to cancel its requests and keep what came back."""

LOOK_SECONDS: Final = 0.2
"""Seconds after which a waiting caller looks whether it was interrupted. polars has the system restart waits for a lock
after Ctrl-C, so one without an end would never hear of it; the same goes for a kernel's loop, see `arun`."""

Post = Callable[[Callable[[], None]], None]
"""Hands a call over to the caller's thread."""


class LoopThread:
    """A daemon thread with an event loop: the process's own, made anew after a fork or when it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid: int | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        if not self._alive():
            with self._lock:
                if not self._alive():
                    self._start()
        self._ready.wait()  # who is interrupted here leaves a thread to the next one
        return cast("asyncio.AbstractEventLoop", self._loop)

    def inside(self) -> bool:
        """Whether the caller is in the loop's own thread."""
        return threading.current_thread() is self._thread

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and self._pid == os.getpid()

    def _start(self) -> None:
        ready = self._ready = threading.Event()

        def live() -> None:
            loop = self._loop = asyncio.new_event_loop()
            loop.call_soon(ready.set)
            ended = False
            while not ended:
                # asyncio lets these two through, from a validator that calls `sys.exit()`: others still wait here,
                # and whoever waits for the task that raised gets it from there
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
                    ended = True

        self._pid = os.getpid()
        self._thread = threading.Thread(target=live, name="llmframe", daemon=True)
        self._thread.start()


_thread = LoopThread()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=lambda: globals().update(_thread=LoopThread()))


def private_loop() -> asyncio.AbstractEventLoop:
    """The loop that engine, limits and connections live on."""
    return _thread.loop()


def run(make: Callable[[Post], Coroutine[Any, Any, T]], *, interrupt: Callable[[], None], verb: str) -> T:
    """Run a coroutine on the private loop and wait for it in this thread.

    Parameters
    ----------
    make
        Makes the coroutine; its argument hands calls (progress) over to this thread.
    interrupt
        Called when this thread is interrupted; the coroutine should then end soon, and has `GRACE_SECONDS`.
    verb
        The caller's name, for messages.

    Raises
    ------
    UsageError
        When called from the private loop itself, which would wait for ever.
    KeyboardInterrupt
        After the interrupt, when the coroutine has ended.
    """
    if _thread.inside():
        raise UsageError(f"`{verb}` was called inside llmframe's own event loop; use `{_twin(verb)}` there")
    _warn_if_blocking(verb)
    call = _Call[T]()
    try:
        call.begin(make)
        call.attend()
    except BaseException:
        interrupt()
        call.wait_quietly()
        raise
    return call.result()


async def arun(make: Callable[[Post], Coroutine[Any, Any, T]], *, interrupt: Callable[[], None]) -> T:
    """Run a coroutine on the private loop and await it on the running one; cancelling cancels it there."""
    here = asyncio.get_running_loop()
    if _thread.inside():
        return await make(lambda call: call())
    ended: asyncio.Future[asyncio.Task[T]] = here.create_future()
    shown: asyncio.Future[None] = here.create_future()

    def finish(task: asyncio.Task[T]) -> None:
        _call_on(here, lambda: None if ended.done() else ended.set_result(task))

    def show(call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the listener is the user's code: raised below, in the task that waits
            if not shown.done():
                shown.set_exception(error)

    _submit(make(lambda call: _call_on(here, lambda: show(call))), finish)
    try:
        await _first_of(ended, shown)
        if shown.done():
            shown.result()
        return ended.result().result()
    except BaseException:
        if not ended.done():
            interrupt()
            await asyncio.wait([ended], timeout=GRACE_SECONDS)
        if ended.done():
            _hush(ended.result())
        raise


def run_here(make: Callable[[], Coroutine[Any, Any, T]], *, interrupt: Callable[[], None]) -> T:
    """Run a coroutine on the caller's own loop: `asyncio.run` where none runs, else nested into the running one.

    Raises
    ------
    UsageError
        If the running loop can't be nested into (uvloop, or ipykernel 7.0-7.3 without nest-asyncio2).
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    _nest(loop)
    task = loop.create_task(make())
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        interrupt()
        loop.run_until_complete(asyncio.wait([task], timeout=GRACE_SECONDS))
        _hush(task)
        raise


async def _first_of(*futures: asyncio.Future[Any]) -> None:
    # A kernel's stop button only queues its cancelling (tornado's `add_callback` on the running loop wakes nobody):
    # a cell that waits for a bare future would go on for ever.
    look = LOOK_SECONDS if in_kernel() else None
    while not any(future.done() for future in futures):
        await asyncio.wait(futures, timeout=look, return_when=asyncio.FIRST_COMPLETED)


class _Call(Generic[T]):
    """A coroutine on the private loop, and the thread that waits for it; that one may be interrupted at any line."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._work: Coroutine[Any, Any, T] | None = None
        self._task: asyncio.Task[T] | None = None
        self._ended = threading.Event()

    def begin(self, make: Callable[[Post], Coroutine[Any, Any, T]]) -> None:
        """Make it, and start it."""
        self._work = make(self.inbox.put)
        _submit(self._work, self._end, begun=self._begun)

    def attend(self) -> None:
        """Do what is posted, until its end."""
        while True:
            try:
                posted = self.inbox.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if posted is None:
                return
            posted()

    def result(self) -> T:
        """What it returned, or its exception."""
        return cast("asyncio.Task[T]", self._task).result()

    def wait_quietly(self) -> None:
        """Wait for its end after an interrupt, without showing progress any more, and take notice of its exception."""
        _thread.loop().call_soon_threadsafe(self._look)
        until = time.monotonic() + GRACE_SECONDS
        while not self._ended.wait(min(LOOK_SECONDS, GRACE_SECONDS)) and time.monotonic() < until:
            pass
        if self._task is not None:
            _hush(self._task)

    def _begun(self, task: asyncio.Task[T]) -> None:
        self._task = task

    def _end(self, task: asyncio.Task[T]) -> None:
        del task
        self._ended.set()
        self.inbox.put(None)

    def _look(self) -> None:
        """On the loop, after the interrupt: what hasn't begun by now was interrupted before it was handed over."""
        if self._task is None:
            if self._work is not None:
                self._work.close()
            self._ended.set()


def _submit(
    work: Coroutine[Any, Any, T],
    ended: Callable[[asyncio.Task[T]], None],
    *,
    begun: Callable[[asyncio.Task[T]], None] | None = None,
) -> None:
    loop, context = _thread.loop(), contextvars.copy_context()

    def start() -> None:
        task = loop.create_task(work, context=context)
        if begun is not None:
            begun(task)
        task.add_done_callback(ended)

    loop.call_soon_threadsafe(start)


def _hush(task: asyncio.Task[Any]) -> None:
    """Take notice of its exception, which an interrupt makes unimportant."""
    if task.done() and not task.cancelled():
        task.exception()


def _call_on(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # it's closed: nobody waits there any more
        loop.call_soon_threadsafe(call)


_warned = False


def _twin(verb: str) -> str:
    """What to write in asynchronous code."""
    return "async for part in llmframe.astream(...)" if verb == "stream" else f"await llmframe.a{verb}(...)"


def _warn_if_blocking(verb: str) -> None:
    global _warned  # noqa: PLW0603 - once a process
    if _warned or in_kernel():
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    _warned = True
    text = f"`{verb}` blocks the running event loop until it is done; `{_twin(verb)}` doesn't"
    warnings.warn_explicit(text, LlmframeWarning, *callers_place())


def _nest(loop: asyncio.AbstractEventLoop) -> None:
    """Allow `loop` to run inside itself, with the fork of nest-asyncio where ipykernel brought it."""
    if not isinstance(loop, asyncio.BaseEventLoop):
        raise UsageError(
            f"`loop='current'` can't nest into a {type(loop).__module__} loop; "
            "use `await llmframe.amap(...)`, or the default `loop='thread'`"
        )
    fork = util.find_spec("nest_asyncio2") is not None
    if not fork and "ipykernel" in sys.modules and _ipykernel() >= (7,):
        raise UsageError(
            "`loop='current'` loses queued cells on this ipykernel; run `pip install nest-asyncio2`, "
            "or use the default `loop='thread'`"
        )
    # imported here: both patch asyncio when applied, and only this option may do that
    if fork:
        import nest_asyncio2 as nest  # noqa: PLC0415
    else:
        import nest_asyncio as nest  # noqa: PLC0415
    patch: Any = nest
    patch.apply(loop)


def _ipykernel() -> tuple[int, ...]:
    return tuple(int(part) for part in metadata.version("ipykernel").split(".")[:2] if part.isdigit())
