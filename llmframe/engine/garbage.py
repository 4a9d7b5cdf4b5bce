"""Fewer collections of cyclic garbage while requests are under way."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Generator
from typing import Final

ALLOCATIONS: Final = 50_000
"""Containers made and not freed, from which the youngest generation is collected while a run goes on.

Python's own 700 has every few requests looked through and soon all that was ever imported, over and over: about a
quarter of a run's CPU. What a request makes is freed by its reference counts; 50,000 containers are 10 MB at most."""

_lock = threading.Lock()
_runs = 0
_before: tuple[int, int, int] | None = None


@contextlib.contextmanager
def rarely_collected() -> Generator[None]:
    """Raise the process's threshold for the block, for as long as any block is on; someone else's higher one stays.

    Whoever changes the threshold meanwhile keeps their own.
    """
    global _runs, _before  # noqa: PLW0603 - the threshold is the process's own
    with _lock:
        _runs += 1
        if _runs == 1 and 0 < gc.get_threshold()[0] < ALLOCATIONS:
            _before = gc.get_threshold()
            gc.set_threshold(ALLOCATIONS, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0 and _before is not None:
                if gc.get_threshold() == (ALLOCATIONS, *_before[1:]):
                    gc.set_threshold(*_before)
                _before = None


def _forget() -> None:
    """In a forked process: its parent's runs don't end here, and a thread that isn't there may hold the lock."""
    global _lock, _runs, _before  # noqa: PLW0603 - as above
    _lock, _runs = threading.Lock(), 0
    if _before is not None:
        gc.set_threshold(*_before)
        _before = None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
