"""The files that an address means."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass, replace
from typing import Final

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames.files.formats import KNOWN_EXTENSIONS, format_of, named
from llmframe.frames.files.ports import FileInfo, Storage

_DIGITS: Final = re.compile(r"([0-9]+)")
DELTA_LOG: Final = "_delta_log"
"""The folder by which a Delta table is known."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source, in their order.

    Parameters
    ----------
    format
        One of `formats.FORMATS`.
    files
        Sorted by name, numbers in names as numbers; none for Delta, whose log knows them.
    folder
        Whether they were found in a folder, so that subfolders like `year=2024` are columns.
    """

    format: str
    files: tuple[FileInfo, ...]
    folder: bool = False


def listed(storage: Storage, path: str, format_: str | None) -> Listing:
    """The files that `path` means: one file, all of a folder, or those that a pattern matches.

    Raises
    ------
    UsageError
        If there are none, if they have several formats or an unknown one, or if a folder has subfolders that say
        nothing.
    """
    shown = storage.shown(path)
    if format_ == "delta" or (storage.is_folder(path) and storage.is_folder(storage.join(path, DELTA_LOG))):
        return _delta(storage, path, format_)
    file = storage.file(path)
    if file is not None:
        return Listing(format_of(shown, file.name, format_), (file,))
    if storage.is_folder(path):
        return _of_folder(storage, path, format_)
    if glob.has_magic(path):
        last = storage.split(path)[1]
        files = [each for each in storage.glob(path) if last.startswith("_") or not _last(each).startswith("_")]
        if not files:
            raise UsageError(f"no file matches {shown!r}")
        return _of_pattern(shown, files, format_)
    folder, name = storage.split(path)
    near = [each.name for each in storage.files(folder, deep=False) if not each.name.startswith(".")] if folder else []
    raise UsageError(f"no file or folder at {shown!r}{did_you_mean(name, near)}")


def in_order(files: list[FileInfo]) -> tuple[FileInfo, ...]:
    """Sorted by name, `part-2` before `part-10`."""
    return tuple(sorted(files, key=lambda file: ([_number(part) for part in _DIGITS.split(file.name)], file.name)))


def _number(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdecimal() else (-1, part)


def _delta(storage: Storage, path: str, format_: str | None) -> Listing:
    if format_ not in {None, "delta"}:
        raise UsageError(
            f"{storage.shown(path)!r} is a Delta table: its files hold deleted rows too; leave `format={format_!r}` out"
        )
    return Listing("delta", (), folder=True)


def _of_folder(storage: Storage, path: str, format_: str | None) -> Listing:
    shown = storage.shown(path)
    files: list[FileInfo] = []
    for file in storage.files(path, deep=True):
        parts = file.name.split("/")
        if any(part.startswith((".", "_")) for part in parts):
            continue
        strange = next((part for part in parts[:-1] if "=" not in part), None)
        if strange is not None:
            raise UsageError(
                f"folder {shown!r} has a subfolder {strange!r} that isn't a partition like 'year=2024'; say which "
                f"files are meant, for instance {storage.shown(storage.join(path, '**', '*.parquet'))!r}"
            )
        files.append(file)
    known = [file for file in files if named(file.name).format is not None]
    if format_ is not None:
        known = [file for file in known if named(file.name).format == format_] or [
            file for file in files if named(file.name).format is None
        ]
    if not known:
        what = f"no {format_} files" if format_ else f"no files of a known format (extensions: {KNOWN_EXTENSIONS})"
        raise UsageError(f"folder {shown!r} has {what}")
    return replace(_of_pattern(shown, known, format_), folder=True)


def _of_pattern(shown: str, files: list[FileInfo], format_: str | None) -> Listing:
    files_ = in_order(files)
    first = files_[0]
    found = format_of(first.path, first.name, format_)
    for file in files_:
        other = format_of(file.path, file.name, format_)
        if other != found:
            raise UsageError(
                f"{shown!r} has files of several formats: {first.name!r} is {found}, {file.name!r} is {other}; "
                f"say which, for instance `format={found!r}`, or name them by a pattern"
            )
    return Listing(found, files_)


def _last(file: FileInfo) -> str:
    return file.name.rpartition("/")[2]
