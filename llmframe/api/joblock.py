"""One run at a time on an output: a lock file that names its process."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import cast

from llmframe.errors import UsageError
from llmframe.stores.owners import Owner, is_gone, this_process


@contextlib.contextmanager
def locked(path: Path, *, target: str) -> Generator[None]:
    """Hold the lock file at `path`; that of a process which is gone is taken over.

    Parameters
    ----------
    target
        What it stands for, for the error.

    Raises
    ------
    UsageError
        If another run holds it.
    """
    mine = json.dumps(asdict(this_process()) | {"token": uuid.uuid4().hex})
    while not _created(path, mine):
        _take_over(path, target=target)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_text("utf-8") == mine:
                path.unlink()


def _created(path: Path, text: str) -> bool:
    """Whether the file is there now with this text; it never is without one."""
    draft = path.with_name(f"{path.name}-{uuid.uuid4().hex[:8]}")
    try:
        draft.write_text(text, "utf-8")
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            return _written(path, text)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return True


def _written(path: Path, text: str) -> bool:
    """As `_created`; for a moment the file is there without its text."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError:  # no room: what is there by now would lock the output for good
        path.unlink(missing_ok=True)
        raise
    return True


def _take_over(path: Path, *, target: str) -> None:
    try:
        found = path.read_text("utf-8")
    except FileNotFoundError:  # it has just been given up
        return
    owner = _owner(found)
    if owner is None or not is_gone(owner):
        process = f"process {owner.pid}" if owner is not None else "another process"
        raise UsageError(
            f"{target!r} is being written by another run ({process}); wait for its end, or name another output. "
            f"If nothing runs any more, delete {str(path)!r}"
        )
    aside = path.with_name(f"{path.name}-{uuid.uuid4().hex[:8]}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        if aside.read_text("utf-8") != found:  # another run has taken it over just before
            with contextlib.suppress(OSError):
                os.link(aside, path)
        aside.unlink()


def _owner(text: str) -> Owner | None:
    try:
        told = cast("dict[str, object]", json.loads(text))
        return Owner(place=str(told["place"]), pid=int(str(told["pid"])), started=cast("str | None", told["started"]))
    except (ValueError, KeyError, TypeError):
        return None
