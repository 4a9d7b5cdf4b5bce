"""Setting a damaged store aside, so that it's neither trusted nor lost."""

from __future__ import annotations

import contextlib
import datetime
import os
import sqlite3
import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Final

from llmframe.errors import LlmframeWarning, callers_place

if sys.platform != "win32":
    import fcntl

Identity = tuple[int, int]
"""Device and inode: which file a path leads to at the moment."""

COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""What SQLite appends to a file's name for its journals, and for the memory that processes share."""


def identity(path: Path) -> Identity | None:
    """Which file stands at `path`; `None` when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - four times as fast as Path.stat, and asked at each look-up
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """Keep other processes from beginning a store in `folder` or setting one aside; the system ends it with a process.

    Windows has no such lock, but there a file that is open can't be renamed.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def set_aside(path: Path, damaged: Identity) -> Path | None:
    """Rename the file that is `damaged`, with its companions, and warn where it went.

    The main file goes first: SQLite in another process that still has it open sees by that that it was moved, and
    then removes no companion by its name when it closes.

    Returns
    -------
    Path or None
        The new name; `None` when another process has set it aside already, and `path` is a new file, or none.

    Raises
    ------
    OSError
        If it can't be renamed.
    """
    with folder_lock(path.parent):
        if identity(path) != damaged:
            return None
        target = _free_name(path)
        path.rename(target)
        _move_companions(path, target)
    text = (
        f"the store {str(path)!r} was damaged: it was set aside as {str(target)!r} and a new one begun. "
        f"Answers kept in the old one are asked for again; {_of_jobs(target)}"
        "if you don't want to rescue them, delete it"
    )
    warnings.warn_explicit(text, LlmframeWarning, *callers_place())
    return target


def begin(path: Path) -> None:
    """Make an empty file, readable and writable by its owner only, unless there is one.

    The journal of a store that was deleted by hand is moved out of its way: SQLite would take it for the new one's.
    """
    with folder_lock(path.parent):
        if identity(path) is not None:
            return
        if any(_companion(path, suffix).exists() for suffix in COMPANIONS):
            _move_companions(path, _free_name(path))
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _of_jobs(path: Path) -> str:
    """What to say of the batch jobs that are recorded in a damaged file."""
    # Without a journal to read nothing is made beside it.
    how = "mode=ro" if _companion(path, "-wal").exists() else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=0)
        try:
            named = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'jobs'").fetchone()[0]
            count = connection.execute("SELECT count(*) FROM jobs WHERE NOT finished").fetchone()[0] if named else 0
        finally:
            connection.close()
    except sqlite3.Error:
        return "batch jobs recorded in it, if any, go on at their provider, but the new one doesn't know them; "
    if not count:
        return ""
    return f"batch jobs recorded in it that aren't finished ({count}) go on, but the new one doesn't know them; "


def _move_companions(path: Path, target: Path) -> None:
    for suffix in COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            _companion(path, suffix).rename(_companion(target, suffix))


def _free_name(path: Path) -> Path:
    """A name beside `path` that nothing has yet: `<name>.damaged-20260131T235959Z`, with a number if need be."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    first = path.with_name(f"{path.name}.damaged-{stamp}")
    name, count = first, 1
    while any(os.path.lexists(_companion(name, suffix)) for suffix in ("", *COMPANIONS)):
        count += 1
        name = first.with_name(f"{first.name}-{count}")
    return name


def _companion(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
