"""Processes that ask: where they live, and whether they still do."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

SILENCE_SECONDS: Final = 60.0
"""After this long without a sign of life a process counts as dead, wherever it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process as others see it.

    Parameters
    ----------
    place
        Digest of machine, boot and process namespace: in one place a process number means one process.
    started
        When it started, in the system's own words; `None` where the system doesn't tell.
    """

    place: str
    pid: int
    started: str | None


@lru_cache(maxsize=1)
def place() -> str:
    """Where this process lives: a digest of the host's name, the boot and the process namespace."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux: the name has to do
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def this_process() -> Owner:
    """The process that runs this."""
    pid = os.getpid()
    return Owner(place=place(), pid=pid, started=start_time(pid))


def start_time(pid: int) -> str | None:
    """When a process of this place started, in ticks since boot; `None` where it can't be told."""
    try:
        return parse_start(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace"))
    except OSError:
        return None


def parse_start(stat: str) -> str | None:
    """The start time in the text of Linux' `/proc/<pid>/stat`: its 22nd field, for a name may hold blanks and brackets.

    >>> parse_start("42 (a) b) S 1 42 42 0 -1 4194560 1 0 0 0 3 1 0 0 20 0 1 0 98765 1 2")
    '98765'
    """
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None  # noqa: PLR2004 - the 22nd, less the two before the bracket


def is_gone(owner: Owner) -> bool:
    """Whether a process is known to be dead; `False` where that can't be told, as for other machines.

    Never asked on Windows, where `os.kill` would end it.
    """
    if sys.platform == "win32" or owner.place != place() or owner.pid <= 0:
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # it lives, under another user
    started = start_time(owner.pid)
    return started is not None and owner.started is not None and started != owner.started


def is_silent(beat: float, now: float, *, limit: float = SILENCE_SECONDS) -> bool:
    """Whether a sign of life at `beat` is too long ago at `now` (seconds), or in a future that a set clock left behind.

    >>> is_silent(100.0, 159.0), is_silent(100.0, 161.0), is_silent(1000.0, 161.0)
    (False, True, True)
    """
    return abs(now - beat) > limit
