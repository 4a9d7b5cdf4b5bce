"""Where the parts of a run come from: slices of a frame, or tables that a thread reads from files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from llmframe.api.prepared import Prepared
from llmframe.frames.base import Frame


class Supply(Protocol):
    """The maps of a run's parts, in order; all of it is called on the private loop."""

    @property
    def over(self) -> bool:
        """Whether there is no further part."""
        ...

    def next(self, ready: Callable[[], None]) -> Prepared | None:
        """The next part's map; `None` when none is left, or not yet: then `ready` is called when it's there."""
        ...

    def error(self) -> BaseException | None:
        """What ended the supply before its time."""
        ...


class Slices:
    """Parts of a frame that is there: so many `rows` each, and one part of a frame without rows."""

    def __init__(self, prepared: Prepared, *, rows: int) -> None:
        self._whole, self._rows, self._next = prepared, rows, 0
        self._count = max(1, -(-len(prepared.frame) // rows))

    @property
    def over(self) -> bool:
        """Whether all parts have been taken."""
        return self._next == self._count

    def next(self, ready: Callable[[], None]) -> Prepared | None:
        """The next slice, at once."""
        del ready
        if self.over:
            return None
        start, stop = self._next * self._rows, (self._next + 1) * self._rows
        self._next += 1
        whole = self._whole
        return replace(
            whole,
            frame=whole.frame.part(start, stop),
            asked=None if whole.asked is None else whole.asked[start:stop],
        )

    def error(self) -> None:
        """A frame in memory doesn't end before its time."""


class Reading:
    """Parts from an iterator that blocks, read by a thread of its own, one ahead of what is asked for.

    Parameters
    ----------
    frames
        Drawn in the thread; each becomes a part.
    prepare
        Makes a part's map of a frame, in the thread, too.
    going
        Whether more parts are of any use.
    """

    def __init__(
        self, frames: Iterator[Frame], prepare: Callable[[Frame], Prepared], *, going: Callable[[], bool]
    ) -> None:
        self._frames, self._prepare, self._going = frames, prepare, going
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="llmframe-read")
        self._coming: Future[Prepared | None] | None = None
        self._over = self._ended = False
        self._error: BaseException | None = None

    @property
    def over(self) -> bool:
        """Whether the last part has been taken, or reading failed."""
        return self._over

    def next(self, ready: Callable[[], None]) -> Prepared | None:
        """The next part's map when it's read; reading the one after it begins at once."""
        if not self._over and not self._going():
            self.stop()
        if self._over:
            return None
        if self._coming is None:
            self._read(ready)
        coming = self._coming
        if coming is None or not coming.done():
            return None
        self._coming = None
        self._error = coming.exception()
        found = None if self._error is not None else coming.result()
        if found is None:
            self._over, self._ended = True, self._error is None
            self._thread.shutdown(wait=False)
        else:
            self._read(ready)
        return found

    def error(self) -> BaseException | None:
        """What reading raised."""
        return self._error

    @property
    def ended(self) -> bool:
        """Whether all that was there has been read and taken."""
        return self._ended

    def stop(self) -> None:
        """Read nothing more; from any thread."""
        self._over = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()

        def tell(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(ready)

        self._coming = self._thread.submit(self._one)
        self._coming.add_done_callback(tell)

    def _one(self) -> Prepared | None:
        frame = next(self._frames, None)
        return None if frame is None else self._prepare(frame)
