"""Simulated time for asyncio: sleeping costs nothing and ends at an exact instant."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

TICK_SECONDS = 1e-9
"""Simulated seconds that a timer takes at least: sums of floats that fall short by a hair get their next chance."""

DEADLOCK_SECONDS = 5.0
"""Real seconds that a loop without any timer waits for another thread before it gives up."""


def run_in_fake_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in simulated time.

    Whenever every task waits, the clock jumps to the next timer: an hour of `asyncio.sleep` passes at once, and
    in the same order on every machine. The clock starts at 0.

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
    Not for code that talks over sockets: a timer may fire before the bytes of a moment later have arrived.

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


class _Jumping(selectors.BaseSelector):
    """A selector that advances the clock by the time-out it is told to wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = self._real.select(DEADLOCK_SECONDS)
            if not ready:
                msg = "deadlock in simulated time: every task waits and no timer is set"
                raise RuntimeError(msg)
            return ready
        ready = self._real.select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.get_key(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()
