"""How many connections fit below the process's limit of open files."""

from __future__ import annotations

from math import inf
from typing import Final

SPARE: Final = 64
"""Open files left to everything else: those of the interpreter and a kernel take 10 to 60."""


def connections_left() -> float:
    """Connections that may be open at once; `inf` where the system sets no limit.

    A shell on macOS allows 256 open files: with as many requests in flight every tenth connection failed.
    """
    try:
        import resource  # noqa: PLC0415 - Windows, whose sockets aren't files, has none
    except ImportError:
        return inf
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if soft == resource.RLIM_INFINITY else fitting(soft)


def fitting(files: int) -> int:
    """Connections that fit when so many files may be open."""
    return max(files - SPARE, files // 2, 1)
