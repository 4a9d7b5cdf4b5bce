"""Requests in flight, shared by everyone in the process who asks the same question."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any

from llmframe.core.reply import Reply
from llmframe.engine.descriptors import connections_left
from llmframe.engine.gate import Gate
from llmframe.engine.keeper import Keeper
from llmframe.stores.base import Store


class Flight:
    """One attempt under way, with those who wait for it.

    It is cancelled when its last waiter leaves; its cost is booked to the first waiter that is still there when
    it ends, which is the one that sent it unless that one left.

    Attributes
    ----------
    keys
        What it asks, in the order in which it's asked: of chat one fingerprint.
    """

    __slots__ = ("keys", "task", "waiters")

    def __init__(self, task: asyncio.Task[Reply], keys: Sequence[bytes] = ()) -> None:
        self.task, self.keys = task, keys
        self.waiters: list[object] = []

    async def wait(self, waiter: object) -> Reply:
        """The attempt's reply, or its `RequestError`; leaving early may cancel it."""
        self.waiters.append(waiter)
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if not self.task.done():
                self.waiters.remove(waiter)
                if not self.waiters:
                    self.task.cancel()
            raise

    def pays(self, waiter: object) -> bool:
        """Whether the attempt's cost belongs to `waiter`; who left pays when nobody else is there."""
        return not self.waiters or self.waiters[0] is waiter


class Shared:
    """What all runs on one event loop have in common.

    Gates by endpoint, key and model; flights by fingerprint; keepers by store, as long as somebody uses them.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._gates: dict[Hashable, Gate] = {}
        self._flights: dict[bytes, Flight] = {}
        self._keepers: weakref.WeakValueDictionary[int, Keeper] = weakref.WeakValueDictionary()

    def keeper(self, store: Store) -> Keeper:
        """The keeper of a store."""
        keeper = self._keepers.get(id(store))
        if keeper is None:
            keeper = self._keepers[id(store)] = Keeper(store, clock=self.clock)
        return keeper

    def gate(self, key: Hashable) -> Gate:
        """The gate of one endpoint, key and model."""
        if key not in self._gates:
            self._gates[key] = Gate(self.clock, connections=connections_left())
        return self._gates[key]

    def flight(self, key: bytes) -> Flight | None:
        """The attempt under way for this fingerprint; one that nobody waits for any more is being cancelled.

        One that has just ended isn't under way: who joins its failure asks again at once, and would join it for ever.
        """
        flight = self._flights.get(key)
        return flight if flight is not None and flight.waiters and not flight.task.done() else None

    def launch(self, key: bytes, attempt: Coroutine[Any, Any, Reply], *, also: Sequence[bytes] = ()) -> Flight:
        """Start an attempt that others may join, by its key or those that it asks `also`."""
        task = asyncio.get_running_loop().create_task(attempt)
        flight = Flight(task, (key, *also))
        self._flights.update(dict.fromkeys(flight.keys, flight))
        task.add_done_callback(lambda _: self._land(flight))
        return flight

    def _land(self, flight: Flight) -> None:
        for key in flight.keys:
            if self._flights.get(key) is flight:
                del self._flights[key]
        if not flight.task.cancelled():
            flight.task.exception()  # looked at here, so that an attempt that nobody waits for stays quiet


_of_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Shared] = weakref.WeakKeyDictionary()


def shared_here() -> Shared:
    """What the runs on the running loop share."""
    loop = asyncio.get_running_loop()
    if loop not in _of_loop:
        _of_loop[loop] = Shared(loop.time)
    return _of_loop[loop]


def is_cancelled() -> bool:
    """Whether the task that runs has been cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
