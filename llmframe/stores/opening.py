"""Opening the file of a store: made when missing, refused when it isn't ours."""

from __future__ import annotations

import os
import sqlite3
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from llmframe.stores.aside import begin, identity, set_aside
from llmframe.stores.layout import APPLICATION_ID, USER_VERSION, check, complete, lay_out, number
from llmframe.stores.mounts import network_filesystem
from llmframe.stores.trouble import DamageError, store_error, translated, trouble

OPENING_SECONDS: Final = 5.0
"""How long a store may be locked by another program while it's opened."""

_HEADER: Final = struct.Struct(">60xi4xi")  # user version, application id
_SMALLEST_BYTES: Final = 512
_CACHE_KIB: Final = 8192
_WRITE_BACK_PAGES: Final = 4_000
"""Pages of 4 kB in the journal before they are written back. With SQLite's 1,000 a page that takes an entry of every
group, as those of an index over digests do, is written back four times as often."""

_HURRIED_PAGES: Final = 16_000
"""The same for connections that leave it to others: the journal stays bounded when there are none."""

_JOURNAL_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class _Marks:
    application: int
    version: int
    empty: bool = False


def prepare(path: Path, *, ours: bool = False, seconds: float = OPENING_SECONDS) -> None:
    """See to it that `path`, which is absolute, leads to a store of this version.

    A damaged store is set aside with a warning and a new one begun. Nothing else that is there is touched.

    Parameters
    ----------
    ours
        Whether a file there is ours even if it looks like nothing known, as in the default place.
    seconds
        How long to wait for a lock of another program.

    Raises
    ------
    StoreError
        If there can't be a store at `path`; its `reason` says why.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kind = network_filesystem(path)
        if kind is not None:
            raise store_error(path, "network", detail=kind)
        for again in (True, False):
            begin(path)
            if not path.is_file():
                raise store_error(path, "foreign", detail="not a file")
            if not _writable(path):
                raise store_error(path, "readonly")
            seen = identity(path)
            try:
                return _examine(path, ours=ours, seconds=seconds)
            except sqlite3.Error as error:
                if not again or seen is None or trouble(error, path) != "damaged":
                    raise
            set_aside(path, seen)
    except (sqlite3.Error, OSError) as error:
        raise translated(error, path) from None


def connect(
    path: Path,
    *,
    seconds: float,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
    write_back: bool = True,
    durable: bool = False,
) -> sqlite3.Connection:
    """A connection to a store that `prepare` has seen to; it begins and ends transactions only when told.

    Parameters
    ----------
    seconds
        How long a statement waits for another's lock.
    write_back
        Whether commits write the journal back into the file as a rule, which waits for the disk; else only when it
        has grown very long.
    durable
        Whether a commit waits until the disk has it.

    Raises
    ------
    sqlite3.Error
        If it can't be opened.
    """
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=seconds,
        isolation_level=None,
        check_same_thread=False,  # one thread has it at a time, see connections.py
        factory=factory,
    )
    try:
        # After a power cut the last commits may be missing, never half of one; a killed process loses nothing.
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute(f"PRAGMA fullfsync = {int(durable)}")  # on macOS fsync alone doesn't reach the disk
        connection.execute(f"PRAGMA cache_size = {-_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WRITE_BACK_PAGES if write_back else _HURRIED_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
        connection.execute("PRAGMA secure_delete = FAST")  # removed text is overwritten where that costs no writing
        connection.execute("PRAGMA trusted_schema = OFF")
        version = check(connection)
    except BaseException:
        connection.close()
        raise
    if version != USER_VERSION:
        connection.close()
        raise sqlite3.DatabaseError("replaced since it was looked at")
    return connection


def _examine(path: Path, *, ours: bool, seconds: float) -> None:
    marks = _marks(path)
    if marks is None and ours:
        raise DamageError("not a database")
    if marks is None or (marks.application != APPLICATION_ID and not marks.empty):
        raise store_error(path, "foreign")
    if marks.application == APPLICATION_ID and marks.version > USER_VERSION:
        raise store_error(path, "newer")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=seconds, isolation_level=None)
    try:
        version = check(connection)
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0] if version else ""
        if mode != "wal":
            mode = lay_out(connection)
            version = check(connection)
        if version == USER_VERSION and mode == "wal":
            complete(connection)
    finally:
        connection.close()
    if not mode:
        raise store_error(path, "foreign")
    if mode != "wal":
        raise store_error(path, "network", detail=f"journal_mode={mode}")
    if version > USER_VERSION:
        raise store_error(path, "newer")


def _marks(path: Path) -> _Marks | None:
    """What a file says that it is, read without touching it; `None` when it says nothing.

    By hand it's read only when SQLite can't, for closing a file ends all locks that this process has on it.
    """
    size = path.stat().st_size
    if size == 0:
        return _Marks(0, 0, empty=True)
    if size < _SMALLEST_BYTES:  # SQLite takes a file of one byte for an empty one
        return _marks_by_hand(path)
    try:
        return _marks_by_sqlite(path)
    except sqlite3.Error:  # damaged, of another kind, or just being written back
        return _marks_by_hand(path)


def _marks_by_sqlite(path: Path) -> _Marks:
    """As of a file that never changes: no lock is taken, no companion made."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        application = number(connection, "PRAGMA application_id")
        version = number(connection, "PRAGMA user_version")
        empty = application == 0 and not number(connection, "SELECT count(*) FROM sqlite_schema")
    finally:
        connection.close()
    journal = path.with_name(path.name + "-wal")  # it may hold tables that the file doesn't show yet
    return _Marks(application, version, empty=empty and not (journal.exists() and journal.stat().st_size))


def _marks_by_hand(path: Path) -> _Marks | None:
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    version, application = _HEADER.unpack(header)
    return _Marks(application, version) if application == APPLICATION_ID else None


def _writable(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
