"""An output that its own input would be read from, or overwritten by."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from llmframe.errors import UsageError


def refuse_overlap(source: str, target: str, *, files: Sequence[str]) -> None:
    """Refuse a target that is the source, in it, above it, or matched by its pattern.

    Parameters
    ----------
    source, target
        As they were said.
    files
        Where the source's files lie.

    Raises
    ------
    UsageError
        Naming both.
    """
    there, here = _place(source), _place(target)
    read = [_place(file) for file in files]
    if here == there or here in read:
        raise UsageError(f"the output {target!r} is the input itself: its rows would be overwritten; name another")
    if here.startswith(there + "/"):
        raise UsageError(
            f"the output {target!r} is inside the input {source!r}: the next run would read it; name a place outside"
        )
    if any(file.startswith(here + "/") for file in (there, *read)):
        raise UsageError(f"the input {source!r} is inside the output {target!r}; name another output")
    if _matches(here, there):
        raise UsageError(
            f"the output {target!r} matches the input {source!r}: the next run would read it; name another place"
        )


def _place(address: str) -> str:
    """An address in one form: of this machine, links followed."""
    if address.startswith(("file://", "local://")):
        address = address.partition("://")[2]
    if "://" in address or "::" in address:
        return address.rstrip("/")
    return Path(os.path.realpath(Path(address).expanduser())).as_posix()


def _matches(place: str, pattern: str) -> bool:
    if not glob.has_magic(pattern):
        return False
    if "**" in pattern:
        return fnmatchcase(place, pattern.replace("**/", "*"))
    parts, wild = place.split("/"), pattern.split("/")
    return len(parts) == len(wild) and all(map(fnmatchcase, parts, wild))
