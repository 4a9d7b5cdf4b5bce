"""What a run writes: opening the place for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames.files.delta_target import DeltaTarget
from llmframe.frames.files.file_target import FileTarget
from llmframe.frames.files.folder_target import FolderTarget
from llmframe.frames.files.formats import (
    EXTENSIONS,
    KNOWN_EXTENSIONS,
    TEXT_FORMATS,
    Named,
    checked_format,
    format_of,
    named,
    usual_extension,
)
from llmframe.frames.files.listing import DELTA_LOG
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.openings import is_folder_like, storage_of
from llmframe.frames.files.ports import Storage, Target

_OF_FILES: Final = frozenset(
    ".avro .bz2 .db .dta .duckdb .gz .h5 .htm .html .json .md .ods .orc .pkl .rds .sav .sqlite .txt .xls .xlsb .xlsm "
    ".xlsx .xml .xz .yaml .yml .zip .zst".split()
)
"""Extensions that nobody gives a folder."""


def open_target(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public word
    fallback: str | None = None,
    spreadsheet_safe: bool = False,
) -> Target:
    """The place for a run's output; nothing is written yet.

    Parameters
    ----------
    path
        A path of this machine or an fsspec address. It is a folder of part files when it ends with a slash, is a folder
        already, or has no extension of a file; a Delta table by `format="delta"` or by its log; else one file.
    format
        One of `formats.FORMATS`; by default the name tells it.
    fallback
        The format of a folder whose name tells none; by default parquet.
    spreadsheet_safe
        For CSV and TSV: text that begins like a formula gets an apostrophe before it, in all text columns; numbers
        stay as they are.

    Raises
    ------
    UsageError
        If the folder above it isn't there, it is a device or a pipe, the format is unknown or its name is a file's of
        another one, or `spreadsheet_safe` is asked of another format.
    MissingExtraError
        If a package is missing for an address or for Delta.
    """
    storage, place = storage_of(path)
    if isinstance(storage, LocalStorage):
        place = _plain_place(place)
    asked = checked_format(format)
    _check_above(storage, place)
    target = _delta(storage, place, asked)
    if target is None and (is_folder_like(path) or _is_folder(storage, place, asked)):
        target = FolderTarget(storage, place, _folder_kind(storage, place, asked, fallback), safe=spreadsheet_safe)
    if target is None:
        target = FileTarget(storage, place, _file_kind(storage, place, asked), safe=spreadsheet_safe)
    if spreadsheet_safe and target.format not in {"csv", "tsv"}:
        raise UsageError(
            f"`spreadsheet_safe` is for CSV and TSV, where a cell may be taken for a formula; {target.address!r} is "
            f"{target.format}, which spreadsheets read as data"
        )
    return target


def _file_kind(storage: Storage, place: str, asked: str | None) -> Named:
    """The format of one file: what was asked, else its name's; text is compressed as the name says."""
    name = storage.split(place)[1]
    known, format_ = named(name), format_of(storage.shown(place), name, asked)
    if known.format == format_:
        return known
    return Named(format_, known.compression if format_ in TEXT_FORMATS else None, usual_extension(format_))


def _delta(storage: Storage, place: str, asked: str | None) -> Target | None:
    """The Delta table that was asked for, or that stands there."""
    there = storage.is_folder(storage.join(place, DELTA_LOG))
    if there and asked not in {None, "delta"}:
        raise UsageError(
            f"{storage.shown(place)!r} is a Delta table: leave `format={asked!r}` out, or name another place"
        )
    return DeltaTarget(storage, place) if there or asked == "delta" else None


def _is_folder(storage: Storage, place: str, asked: str | None) -> bool:
    """Whether a path without a slash at its end means a folder."""
    if storage.is_folder(place):
        return True
    name = storage.split(place)[1]
    if asked is not None or named(name).format is not None or storage.file(place) is not None:
        return False
    _check_folder_name(storage.shown(place), name)
    return True


def _check_folder_name(address: str, name: str) -> None:
    """A file is meant by the extension of one, also of one that is only nearly known: a folder would be a surprise."""
    end = os.path.splitext(name)[1].lower()  # noqa: PTH122 - of a name, which may be an address's
    near = did_you_mean(end, EXTENSIONS) if end else ""
    if name == "-":
        raise UsageError("the output is a file or a folder, and '-' isn't one: rows can't be written to stdout")
    if near or end in _OF_FILES:
        raise UsageError(
            f"{address!r} is named like a file, and {end!r} is no format that is written{near or ';'} known "
            f"extensions: {KNOWN_EXTENSIONS}; a folder of parts ends with a slash"
        )


def _folder_kind(storage: Storage, place: str, asked: str | None, fallback: str | None) -> Named:
    """The format of a folder's files: what was asked, else its name's, else `fallback`, else parquet."""
    known, spare = named(storage.split(place)[1]), checked_format(fallback)
    format_ = asked or known.format or (spare if spare != "delta" else None) or "parquet"
    return known if known.format == format_ else Named(format_, None, usual_extension(format_))


def _plain_place(place: str) -> str:
    """Where a path of this machine leads: a link stays, what it points to is written."""
    found = Path(place)
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise UsageError(f"{place!r} is a device or a pipe, which can't be written in parts: name a file or a folder")
    return str(found.resolve()) if found.is_symlink() else place


def _check_above(storage: Storage, place: str) -> None:
    """On this machine the folder above must be there: a wrong name shows before anything is paid for."""
    above = storage.split(place)[0]
    if isinstance(storage, LocalStorage) and not storage.is_folder(above):
        raise UsageError(f"the folder {above!r} for {place!r} isn't there: make it first")
