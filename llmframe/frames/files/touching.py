"""Whether what is written would be read again."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Sequence
from pathlib import Path

from llmframe.frames.files.formats import named
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.openings import is_folder_like, storage_of
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.sources import Source


def touches(source: Source, target: str | os.PathLike[str]) -> bool:
    """Whether writing to `target` would overwrite files of `source`, or add files to it.

    Parameters
    ----------
    source
        What is read.
    target
        The path or address of a file, a folder or a Delta table, which need not exist.

    Returns
    -------
    bool
        True when `target` is one of the source's files or a folder above one, lies in the source's folder, or is
        matched by its pattern, itself or with a file in it. Links are followed.
    """
    storage, place = storage_of(target)
    aim = _parts(storage, place)
    files = [source.place] if source.format == "delta" else list(source.files)
    if any(_starts_with(_parts(source.storage, file), aim) for file in files):
        return True
    if source.is_folder:
        return _starts_with(aim, _parts(source.storage, source.place))
    if not glob.has_magic(source.place) or source.files == (source.place,):
        return False
    below = is_folder_like(target) or named(storage.split(place)[1]).format is None or storage.is_folder(place)
    return _matches(_parts(source.storage, source.place), aim, below=below)


def _parts(storage: Storage, place: str) -> tuple[str, ...]:
    """The names from the root to a place, one way of writing for each place."""
    if isinstance(storage, LocalStorage):
        return Path(os.path.normcase(Path(place).resolve())).parts
    return tuple(part for part in storage.shown(place).split("/") if part)


def _starts_with(parts: Sequence[str], beginning: Sequence[str]) -> bool:
    return tuple(parts[: len(beginning)]) == tuple(beginning)


def _matches(pattern: Sequence[str], parts: Sequence[str], *, below: bool) -> bool:
    """Whether the pattern fits the path or, with `below`, could fit a file of any name in it."""
    if not parts:
        return not pattern or (below and glob.has_magic(pattern[-1]))
    if not pattern:
        return False
    if pattern[0] == "**":
        return _matches(pattern[1:], parts, below=below) or _matches(pattern, parts[1:], below=below)
    return fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(pattern[1:], parts[1:], below=below)
