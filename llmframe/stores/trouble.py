"""What a fault of SQLite or of the operating system means for a store."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from llmframe.errors import TROUBLE_BY_ERRNO, StoreError, StoreTrouble

_BY_CODE: Final[dict[int, StoreTrouble]] = {
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_READONLY: "readonly",
    sqlite3.SQLITE_PERM: "readonly",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_PROTOCOL: "locked",
}

_WORDS: Final[dict[StoreTrouble, str]] = {
    "damaged": "is damaged and couldn't be set aside: move it away by hand",
    "foreign": "is a file of another program, which is left untouched",
    "newer": "was written by a newer version of llmframe, which reads it: upgrade",
    "locked": "is locked by another program",
    "network": "lies on a network drive, where several processes can't share an SQLite file safely",
    "readonly": "can't be written: its folder or the file is read-only for this user",
    "full": "can't grow: the disk is full or a quota is reached; make room, or prune it",
    "io": "can't be used",
}

_REMEDY: Final = "Give `cache=` another path, or `cache=False` to keep nothing."

_NO_ROOM_BYTES: Final = 2**20
"""With less than this on a disk, an input/output error is taken for a full one."""


class DamageError(sqlite3.DatabaseError):
    """Content that SQLite accepts, but that can't be a store's."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "not a store"


def trouble(error: sqlite3.Error | OSError, path: Path) -> StoreTrouble:
    """Why a store can't be used, by the error that says so."""
    if isinstance(error, OSError):
        return TROUBLE_BY_ERRNO.get(error.errno or 0, "io")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code == sqlite3.SQLITE_CANTOPEN and not (os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)):
        return "readonly"
    if code == sqlite3.SQLITE_IOERR and _is_full(path):
        return "full"
    return "io"


def store_error(path: Path, reason: StoreTrouble, *, detail: str = "") -> StoreError:
    """The error to raise: the path, what is wrong with it, what to do."""
    more = f" ({detail})" if detail else ""
    return StoreError(f"the store {str(path)!r} {_WORDS[reason]}{more}. {_REMEDY}", reason=reason)


def translated(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """`error` as a `StoreError`. SQLite's own wording is left out, for it may quote a cell."""
    if isinstance(error, OSError):
        detail = error.strerror or type(error).__name__
    else:
        detail = getattr(error, "sqlite_errorname", type(error).__name__)
    return store_error(path, trouble(error, path), detail=detail)


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _NO_ROOM_BYTES
    except OSError:
        return False
