"""Files that pyarrow's own threads read, given back when they have left them."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import io
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa

_arrow: Any = pa

LONGEST_WAIT: Final = 2.0
"""Seconds that a thread which is leaving is waited for."""


@contextmanager
def lent(file: BinaryIO, borrow: Callable[[Any], Any]) -> Generator[list[Any]]:
    """What `borrow` makes of `file`: a list whose only item the block takes out, and forgets at its end.

    pyarrow reads ahead in threads of its own. Where one of them still has to give back an object of Python's when
    Python ends, be it the file or what was read of it, the process is aborted, with a status that says so instead of
    the program's. Of a file whose first rows can't be read the error is told at once, and so this happens.

    Parameters
    ----------
    file
        Stays open.
    borrow
        Opens a reader, with no variable of its own that an error's traceback would keep: a function of pyarrow's, or a
        partial of one.
    """
    left = threading.Event()
    views, made = [_View(file)], list[Any]()
    weakref.finalize(views[0], left.set).atexit = False
    try:
        made.append(borrow(views.pop()))
        yield made
    finally:
        made.clear()
        if not sys.is_finalizing():
            left.wait(LONGEST_WAIT)


class _View(io.RawIOBase):
    """A file that isn't closed when it's let go; what is read lies in pyarrow's own memory, which a thread may free."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:
        """Yes."""
        return True

    def read_buffer(self, size: int) -> Any:
        """Read from the file under it; pyarrow asks for this before it asks for `read`."""
        found = _arrow.allocate_buffer(size, resizable=True)
        found.resize(self.readinto(memoryview(found)))
        return found

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` as far as the file under it goes."""
        done, room = 0, memoryview(buffer)
        while done < len(room) and (more := cast("Any", self._file).readinto(room[done:])):
            done += more
        return done
