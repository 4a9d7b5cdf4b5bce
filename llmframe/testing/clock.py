"""Simulated time for asyncio: sleeping costs nothing and ends at an exact instant."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, TypeVar

from llmframe.testing.loopback import Loopback

T = TypeVar("T")

TICK_SECONDS = 1e-9
"""Simulated seconds that a timer takes at least: sums of floats that fall short by a hair get their next chance."""

DEADLOCK_SECONDS = 5.0
"""Real seconds that a loop without any timer waits for another thread before it gives up."""

THREAD_SECONDS = 30.0
"""Real seconds that the clock stands still at most for work that the loop has given to a thread."""


def run_in_fake_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in simulated time.

    Whenever every task waits, the clock jumps to the next timer: an hour of `asyncio.sleep` passes at once, and
    in the same order on every machine. The clock starts at 0. Bytes between sockets of this loop, as those of a
    client and a `Provider.serving`, arrive before it jumps; it stands still while a thread works for the loop
    (`asyncio.to_thread`, `run_in_executor`).

    Parameters
    ----------
    main
        The coroutine. What it measures must read `asyncio.get_running_loop().time()`; `time.monotonic` and
        `time.time` go on in real time.

    Returns
    -------
    T
        What `main` returned.

    Raises
    ------
    RuntimeError
        If every task waits, no timer is set and no thread reports within `DEADLOCK_SECONDS`; or if a loop runs
        in this thread already.

    Notes
    -----
    Not for sockets whose other end is in another thread or process, nor for work that another loop does: a timer may
    fire before what comes a moment later. Both hold for `amap`, which shares limits with every call of the process on
    a private loop. A thread that waits for a timer of this loop holds the clock for `THREAD_SECONDS`.

    Examples
    --------
    >>> async def nap() -> float:
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> run_in_fake_time(nap())
    3600.0
    """
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        return runner.run(main)


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` starts at 0 and jumps to the next timer when nothing else can run."""

    def __init__(self) -> None:
        self._clock = _Jumping()
        super().__init__(self._clock)

    def time(self) -> float:
        """Simulated seconds since the loop was made."""
        return self._clock.now

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Set a timer, at least `TICK_SECONDS` from now: time passes between two looks at the clock, as it does."""
        return super().call_at(max(when, self._clock.now + TICK_SECONDS), callback, *args, context=context)

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """Give work to a thread; the clock stands still until it is done."""
        work = super().run_in_executor(executor, func, *args)
        self._clock.in_threads += 1
        work.add_done_callback(self._returned)
        return work

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        """Wait for the threads in real time."""
        self._clock.in_threads += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self._clock.in_threads -= 1

    def _returned(self, work: asyncio.Future[Any]) -> None:  # noqa: ARG002 - what a future calls
        self._clock.in_threads -= 1


class _Jumping(selectors.BaseSelector):
    """A selector that advances the clock by the time-out it is told to wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self.in_threads = 0
        self._real = selectors.DefaultSelector()
        self._loopback: Loopback | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.in_threads and (ready := self._real.select(THREAD_SECONDS)):
            return ready
        if timeout is None:
            ready = self._real.select(DEADLOCK_SECONDS)
            if not ready:
                msg = "deadlock in simulated time: every task waits and no timer is set"
                raise RuntimeError(msg)
            return ready
        # One is the loop's own, by which threads wake it.
        if len(self._real.get_map()) > 1 and (ready := self._arrived()):
            return ready
        self.now += timeout
        return ready

    def _arrived(self) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready when the bytes on their way have arrived."""
        if self._loopback is None:
            self._loopback = Loopback()
        return self._real.select(self._loopback.settle())

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()
        if self._loopback is not None:
            self._loopback.close()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.get_key(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()
