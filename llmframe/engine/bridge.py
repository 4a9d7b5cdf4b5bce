"""From synchronous code to the event loop: one private loop in a daemon thread, or the caller's own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib import metadata, util
from typing import Any, Final, Generic, TypeVar

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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid: int | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        with self._lock:
            alive = self._thread is not None and self._thread.is_alive() and self._pid == os.getpid()
            if not alive or self._loop is None:
                self._loop = self._start()
            return self._loop

    def inside(self) -> bool:
        """Whether the caller is in the loop's own thread."""
        return threading.current_thread() is self._thread

    def _start(self) -> asyncio.AbstractEventLoop:
        ready: queue.SimpleQueue[asyncio.AbstractEventLoop] = queue.SimpleQueue()

        def live() -> None:
            loop = asyncio.new_event_loop()
            loop.call_soon(ready.put, loop)
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
        return ready.get()


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
        raise UsageError(
            f"`{verb}` was called inside llmframe's own event loop; use `{_twin(verb)}` there"
        )
    _warn_if_blocking(verb)
    inbox: queue.SimpleQueue[Callable[[], None] | _Ended[T]] = queue.SimpleQueue()
    try:
        _submit(make(inbox.put), lambda task: inbox.put(_Ended(task)))
        while True:
            try:
                item = inbox.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if not callable(item):
                break
            item()
    except BaseException:
        interrupt()
        _wait_quietly(inbox)
        raise
    return item.task.result()


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
            _Ended(ended.result()).hush()
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
        _Ended(task).hush()
        raise


async def _first_of(*futures: asyncio.Future[Any]) -> None:
    # A kernel's stop button only queues its cancelling (tornado's `add_callback` on the running loop wakes nobody):
    # a cell that waits for a bare future would go on for ever.
    look = LOOK_SECONDS if in_kernel() else None
    while not any(future.done() for future in futures):
        await asyncio.wait(futures, timeout=look, return_when=asyncio.FIRST_COMPLETED)


def _submit(work: Coroutine[Any, Any, T], ended: Callable[[asyncio.Task[T]], None]) -> None:
    loop, context = _thread.loop(), contextvars.copy_context()

    def start() -> None:
        loop.create_task(work, context=context).add_done_callback(ended)

    loop.call_soon_threadsafe(start)


@dataclass(frozen=True, slots=True)
class _Ended(Generic[T]):
    """The end of a coroutine among posted calls: a type of its own, because nesting a loop patches `asyncio.Task`."""

    task: asyncio.Task[T]

    def hush(self) -> None:
        """Take notice of its exception, which an interrupt makes unimportant."""
        if self.task.done() and not self.task.cancelled():
            self.task.exception()


def _wait_quietly(inbox: queue.SimpleQueue[Callable[[], None] | _Ended[T]]) -> None:
    """Wait for the end of an interrupted coroutine, without showing progress any more."""
    while True:
        try:
            item = inbox.get(timeout=GRACE_SECONDS)
        except queue.Empty:
            return
        if not callable(item):
            item.hush()
            return


def _call_on(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
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
