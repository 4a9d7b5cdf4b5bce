"""Answers on their way into a store: committed in groups, found meanwhile, claimed before they are asked for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from llmframe.errors import StoreError
from llmframe.stores.base import MemoryStore, SharedStore, Store, Stored

logger = logging.getLogger("llmframe")

COMMIT_ROWS: Final = 200
"""Answers that are on their way into the store at most: a killed process loses no more than these."""

COMMIT_SECONDS: Final = 0.1
"""Seconds that an answer waits for others to be committed with."""

BEAT_SECONDS: Final = 5.0
"""Seconds between two signs of life to other processes, as long as something is claimed."""

PAUSE_SECONDS: Final = 30.0
"""Seconds for which nothing is written to a store that couldn't be."""


class Keeper:
    """One store as the runs of an event loop use it.

    A store in memory keeps at once. Any other is written by a thread of its own, a group of answers at a time, because
    a commit takes as long as several requests; until then they are found here. What can't be written is kept in memory,
    and `trouble` says why.

    Attributes
    ----------
    puts
        Answers kept so far, by all runs.
    trouble
        Why the store couldn't be written; `None` as long as it could.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float]) -> None:
        self.store = store
        self.puts = 0
        self.trouble: str | None = None
        self._clock = clock
        self._instant: bool = getattr(store, "instant", False)
        self._shared = store if isinstance(store, SharedStore) else None
        self._writer: ThreadPoolExecutor | None = None
        self._pending: dict[bytes, Stored] = {}
        self._committing: dict[bytes, Stored] = {}
        self._calls: dict[bytes, list[Callable[[], None]]] = {}
        self._spare = MemoryStore()
        self._paused_until = 0.0
        self._claimed: set[bytes] = set()
        self._released: set[bytes] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._heart: asyncio.TimerHandle | None = None
        self._room: asyncio.Future[None] | None = None
        self._changes = self._safe = 0  # answers and releases, and how many of them are written
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def shared(self) -> SharedStore | None:
        """The store, when other processes may fill it too."""
        return self._shared

    @property
    def full(self) -> bool:
        """Whether as many answers are on their way as there may be: who wants to send more waits for `room`."""
        return len(self._pending) + len(self._committing) >= COMMIT_ROWS

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """The entries that are there, by key, those on their way included.

        Raises
        ------
        StoreError
            If the store can't be read: to go on would be to pay again for what it has.
        """
        found = self.store.get_many(keys)
        if self.trouble is not None:
            found = {**self._spare.get_many(keys), **found}
        for entries in (self._committing, self._pending):
            if entries:
                found.update((key, entries[key]) for key in keys if key in entries)
        return found

    def put(self, key: bytes, entry: Stored) -> None:
        """Keep `entry`; it's found from now on, and safe when `after` calls."""
        self.puts += 1
        self._changes += 1
        if self._instant:
            self.store.put_many([(key, entry)])
            self._safe = self._changes
            return
        self._pending[key] = entry
        self._claimed.discard(key)  # the commit releases it
        if len(self._pending) >= COMMIT_ROWS:
            self._commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._commit)

    def after(self, key: bytes, call: Callable[[], None]) -> None:
        """Call `call` when the entry of `key` is safe: at once, unless it's on its way."""
        if key in self._pending or key in self._committing:
            self._calls.setdefault(key, []).append(call)
        else:
            call()

    async def room(self) -> None:
        """Wait until more answers may be on their way."""
        while self.full:
            if self._room is None:
                self._room = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._room)

    async def flush(self) -> None:
        """Return when all that was put until now is safe, and other processes may ask for what was released."""
        self._commit()
        if self._safe < self._changes:
            safe = asyncio.get_running_loop().create_future()
            self._waiting.append((self._changes, safe))
            await safe

    def claim(self, keys: Sequence[bytes]) -> set[bytes]:
        """Claim those of `keys` that no other process asks for; returns those that one does."""
        if self._shared is None:
            return set()
        others = self._shared.claim(keys)
        self._claimed.update(keys)
        self._claimed -= others
        self._released -= self._claimed
        if self._heart is None and self._claimed:
            self._heart = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat, self._shared)
        return others

    def release(self, keys: Sequence[bytes]) -> None:
        """Let other processes ask for those of `keys` that are still claimed."""
        freed = self._claimed.intersection(keys)
        if freed:
            self._changes += 1
            self._claimed -= freed
            self._released |= freed
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._commit)

    def _commit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is None and self._safe < self._changes:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        """Write what is pending, and what has gathered meanwhile when that is a whole group."""
        try:
            while True:
                self._committing, self._pending, taken = self._pending, {}, self._changes
                released, self._released = self._released, set()
                await self._write_group(self._committing, released)
                done, self._committing, self._safe = self._committing, {}, taken
                self._tell(done)
                if len(self._pending) < COMMIT_ROWS and not self._waiting:
                    break
        finally:
            self._task = None
        if (self._pending or self._released) and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._commit)

    async def _write_group(self, entries: dict[bytes, Stored], released: set[bytes]) -> None:
        if self._clock() >= self._paused_until:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="llmframe-store")
            try:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._writer, self._write_now, list(entries.items()), released)
            except (
                Exception
            ) as error:  # a store of the user's own may raise anything; what was paid for stays in memory
                self._paused_until = self._clock() + PAUSE_SECONDS
                self.trouble = (
                    str(error) if isinstance(error, StoreError) else f"the store raised {type(error).__name__}"
                )
                logger.debug("a store couldn't be written", exc_info=True)
            else:
                return
        self._spare.put_many(entries.items())

    def _write_now(self, entries: list[tuple[bytes, Stored]], released: set[bytes]) -> None:
        if entries:
            self.store.put_many(entries)
        if released and self._shared is not None:
            self._shared.release(released)

    def _tell(self, done: dict[bytes, Stored]) -> None:
        if self._room is not None and not self.full:
            self._room.set_result(None)
            self._room = None
        for goal, safe in self._waiting:
            if goal <= self._safe and not safe.done():
                safe.set_result(None)
        self._waiting = [(goal, safe) for goal, safe in self._waiting if not safe.done()]
        if self._calls:
            for key in done:
                if key not in self._pending:
                    for call in self._calls.pop(key, ()):
                        call()

    def _beat(self, store: SharedStore) -> None:
        """Tell other processes that this one lives, as long as something is claimed.

        By a timer: a task that sleeps would outlive the last claim, and perhaps the loop of the user's.
        """
        self._heart = None
        if self._claimed:
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, _beat_now, store)
            self._heart = loop.call_later(BEAT_SECONDS, self._beat, store)


def _beat_now(store: SharedStore) -> None:
    try:
        store.beat()
    except StoreError:
        logger.debug("a sign of life couldn't be written", exc_info=True)
