"""A coroutine on the private loop that nobody has to wait for; it goes on when its handle is dropped."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread  # pyright: ignore[reportUnusedImport] - loaded first, see `_end_all`
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, TypeVar, cast

from llmframe.engine.bridge import GRACE_SECONDS, LOOK_SECONDS, Post, private_loop
from llmframe.engine.progress import in_kernel

T = TypeVar("T")
R = TypeVar("R")

_going: Final[set[Background[Any]]] = set()
"""Held until they end: asyncio itself holds tasks weakly."""

_lock = threading.Lock()


class Background(Generic[T]):
    """Work that goes on behind whoever began it.

    Parameters
    ----------
    make
        Makes the coroutine; what it posts is called one after the other in a thread that the work alone has.
    cancel
        Ends the work soon; also called when the process ends, and when a posted call raises.
    last
        Called after the last posted call, where anything was posted.
    finished
        Called when it has ended, before anybody is told.
    """

    def __init__(
        self,
        make: Callable[[Post], Coroutine[Any, Any, T]],
        *,
        cancel: Callable[[], None],
        last: Callable[[], None] | None = None,
        finished: Callable[[], object] | None = None,
    ) -> None:
        self.cancel, self._finished = cancel, finished
        self._last = last
        self._pid = os.getpid()
        self._loop = private_loop()
        self._task: asyncio.Task[T] | None = None
        self._error: BaseException | None = None
        self._calls: queue.SimpleQueue[Callable[[], None] | None] | None = None
        self._begun, self._ended = threading.Event(), threading.Event()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        with _lock:
            _going.add(self)
        work = make(self._post)
        self._loop.call_soon_threadsafe(self._start, work)  # which copies the caller's context, too
        if not self.inside():
            try:
                self._begun.wait()
            except BaseException:  # interrupted: nobody will have a handle
                cancel()
                raise

    @property
    def lost(self) -> bool:
        """Whether it can't end any more: this process is a fork of the one where it runs."""
        return os.getpid() != self._pid and not self._ended.is_set()

    def done(self) -> bool:
        """Whether it has ended, however."""
        return self._ended.is_set()

    def inside(self) -> bool:
        """Whether the caller is in the loop that does the work."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait in this thread for the end, at most `timeout` seconds; tells whether it has come."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ended.is_set():
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic())
            if left <= 0:
                return False
            self._ended.wait(left)  # in pieces: a wait without an end may never hear of Ctrl-C
        return True

    def wait_for(self, news: threading.Event) -> None:
        """Wait in this thread until something has come about, or the end has; not in the loop that does the work."""
        while not (self.inside() or self.lost or news.is_set() or self._ended.is_set()):
            news.wait(LOOK_SECONDS)

    async def ended(self) -> None:
        """Wait on the running loop for the end; whoever is cancelled meanwhile leaves it going on."""
        here = asyncio.get_running_loop()
        end: asyncio.Future[None] = here.create_future()
        with _lock:
            if self._ended.is_set():
                return
            self._waiters.append((here, end))
        # a kernel's stop button wakes nobody, see the bridge
        look = LOOK_SECONDS if in_kernel() else None
        while not end.done():
            await asyncio.wait([end], timeout=look)

    def error(self) -> BaseException | None:
        """What ended the work early: its exception, or that of a posted call; `None` while it goes on."""
        task = self._task
        if self._error is not None or task is None or not task.done():
            return self._error
        if task.cancelled():
            return concurrent.futures.CancelledError("the private event loop has ended it")
        return task.exception()

    def call(self, ask: Callable[[], R]) -> R:
        """What `ask` returns on the loop, between two steps of the work; here, where no step can come any more."""
        if self.done() or self.lost or self.inside():
            return ask()
        return on_loop(ask)

    def _start(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)
        self._loop.call_soon(self._begun.set)  # after the first step

    def _post(self, call: Callable[[], None]) -> None:
        if self._calls is None:
            self._calls = queue.SimpleQueue()
            threading.Thread(target=self._attend, name="llmframe-progress", daemon=True).start()
        self._calls.put(call)

    def _attend(self) -> None:
        calls = cast("queue.SimpleQueue[Callable[[], None] | None]", self._calls)
        while (call := calls.get()) is not None:
            if self._error is None:
                self._do(call)
        if self._last is not None:
            self._do(self._last)
        self._settle()

    def _do(self, call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - the user's own code: raised where the result is asked for
            self._error = error
            self.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # taken notice of: nobody may ever ask
        self._begun.set()
        if self._calls is None:
            self._settle()
        else:
            self._calls.put(None)

    def _settle(self) -> None:
        if self._finished is not None:
            self._finished()
        with _lock:
            self._ended.set()
            _going.discard(self)
            waiters, self._waiters = self._waiters, []
        for loop, end in waiters:
            with contextlib.suppress(RuntimeError):  # it's closed: nobody waits there any more
                loop.call_soon_threadsafe(_set, end)


def on_loop(ask: Callable[[], R]) -> R:
    """What `ask` returns, called on the private loop from another thread."""
    found: concurrent.futures.Future[R] = concurrent.futures.Future()

    def answer() -> None:
        try:
            found.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - raised where it was asked
            found.set_exception(error)

    private_loop().call_soon_threadsafe(answer)
    while not found.done():
        concurrent.futures.wait([found], timeout=LOOK_SECONDS)
    return found.result()


def finish_on_loop(make: Callable[[], Coroutine[Any, Any, R]]) -> R:
    """What a coroutine returns on the private loop; this thread waits for it, and an interrupt cancels it."""
    found = asyncio.run_coroutine_threadsafe(make(), private_loop())
    try:
        while not found.done():
            concurrent.futures.wait([found], timeout=LOOK_SECONDS)
    except BaseException:
        found.cancel()
        raise
    return found.result()


def _set(end: asyncio.Future[None]) -> None:
    if not end.done():
        end.set_result(None)


def _end_all() -> None:
    """At the process's end: cancel what goes on, and give it time to keep what came back."""
    with _lock:
        going = list(_going)
    for each in going:
        each.cancel()
    until = time.monotonic() + GRACE_SECONDS
    for each in going:
        each.wait(max(0.0, until - time.monotonic()))


def _forget() -> None:
    """In a forked process: the loop, and all that goes on there, are the parent's."""
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = threading.Lock()
    _going.clear()


# Before executors are shut down, which `atexit` is too late for: answers are written by one. Those that register last
# are called first, and executors register when their module is loaded.
getattr(threading, "_register_atexit", atexit.register)(_end_all)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
