"""Ctrl-C while the main thread is inside a library that doesn't listen: a watcher on the private loop."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import threading
import weakref

from llmframe.engine.bridge import private_loop
from llmframe.engine.run import Run

_watched: weakref.WeakSet[Run] = weakref.WeakSet()
_pair: tuple[socket.socket, socket.socket] | None = None


def _close() -> None:
    if _pair is None:
        return
    if threading.current_thread() is threading.main_thread():
        fd = signal.set_wakeup_fd(-1)
        if fd not in (-1, _pair[1].fileno()):
            signal.set_wakeup_fd(fd, warn_on_full_buffer=False)
    for end in _pair:
        end.close()


def _forget() -> None:
    """In a forked process: the socket is the parent's, who would take this process's signals for its own."""
    global _pair  # noqa: PLW0603 - as in `watch`
    _watched.clear()
    _close()
    _pair = None


atexit.register(_close)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


def watch(run: Run) -> None:
    """Cancel `run` when the process is interrupted while a part of it is running.

    polars hands an interrupt over only when its callbacks return, and they wait for answers. The C-level handler
    writes every signal's number to a socket at once; the private loop reads it there. Python allows this from the
    main thread only; where another library has taken that socket's place it keeps it, and Ctrl-C waits for the
    callback.
    """
    global _pair  # noqa: PLW0603 - one socket a process
    _watched.add(run)
    if threading.current_thread() is not threading.main_thread():
        return
    if _pair is None:
        _pair = socket.socketpair()
        for end in _pair:
            end.settimeout(0)
        loop = private_loop()
        loop.call_soon_threadsafe(loop.add_reader, _pair[0], _read)
    ours = _pair[1].fileno()
    with contextlib.suppress(ValueError):
        before = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
        if before not in (-1, ours):
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)


def _read() -> None:
    if _pair is None:
        return
    with contextlib.suppress(BlockingIOError):
        numbers = _pair[0].recv(4096)
        if signal.SIGINT in numbers:
            for run in list(_watched):
                if run.active:
                    run.cancel()
