"""Ctrl-C while the main thread is inside a library that doesn't listen: a watcher on the private loop."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import signal
import socket
import threading
from collections.abc import Generator

from llmframe.engine.bridge import private_loop
from llmframe.engine.run import Run

_lock = threading.Lock()
_watched: list[Run] = []
_pair: tuple[socket.socket, socket.socket] | None = None


@contextlib.contextmanager
def watched(run: Run) -> Generator[None]:
    """Cancel `run` when the process is interrupted inside; for any thread.

    polars hands an interrupt over only when its callbacks return, and they wait for answers. Inside, a handler in C
    writes to a socket that the private loop reads, and passes the signal on to the handler that was there.
    `signal.set_wakeup_fd` won't do: it's for the main thread alone, which is busy, and belongs to the event loop there.
    Without POSIX signals (Windows), or where SIGINT is ignored, nothing is watched.
    """
    if not hasattr(faulthandler, "register") or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    with _lock:
        if not _watched:
            # its text, a traceback of the main thread, is of no interest: that it comes is
            faulthandler.register(signal.SIGINT, file=_socket(), all_threads=False, chain=True)
        _watched.append(run)
    try:
        yield
    finally:
        with _lock:
            _watched.remove(run)
            if not _watched:
                faulthandler.unregister(signal.SIGINT)


def _socket() -> int:
    """The end that is written to; what an earlier interrupt left in it is taken out."""
    global _pair  # noqa: PLW0603 - one a process
    if _pair is None:
        _pair = socket.socketpair()
        for end in _pair:
            end.settimeout(0)
        loop = private_loop()
        loop.call_soon_threadsafe(loop.add_reader, _pair[0], _read, _pair[0])
    _came(_pair[0])
    return _pair[1].fileno()


def _read(end: socket.socket) -> None:
    with _lock:  # or the end of an interrupt's text would cancel a run that begins just now
        runs = _watched.copy() if _came(end) else []
    for run in runs:
        run.cancel()


def _came(end: socket.socket) -> bool:
    """Take out what was written, and tell whether there was anything."""
    came = False
    with contextlib.suppress(OSError):  # there was nothing more, or it's closed
        while end.recv(4096):
            came = True
    return came


def _close() -> None:
    global _pair  # noqa: PLW0603 - as in `_socket`
    if _watched:
        faulthandler.unregister(signal.SIGINT)
    if _pair is not None:
        for end in _pair:
            end.close()
        _pair = None


def _forget() -> None:
    """In a forked process: the socket is the parent's, who would take this process's signals for its own."""
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = threading.Lock()
    _close()
    _watched.clear()


atexit.register(_close)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
