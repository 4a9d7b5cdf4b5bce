"""Connections to one store's file, each used by one thread at a time and by no forked child."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from llmframe.core.request import Components
from llmframe.errors import StoreError
from llmframe.stores.aside import Identity, identity, set_aside
from llmframe.stores.opening import connect, prepare
from llmframe.stores.trouble import store_error, translated, trouble

Result = TypeVar("Result")

Role = Literal["read", "claim", "write", "tend", "record"]
"""What a connection is used for. They are apart because a commit drops what other connections have read, because only
`write`, `tend` and `record` may wait for the disk, and because what `record` commits is safe from a power cut."""

FORK_SECONDS: Final = 5.0
"""How long a fork waits for what other threads are doing in stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds to wait for locks of other threads and processes; claims are made on an event loop, so they hurry."""

    opening: float = 5.0
    read: float = 1.0
    claim: float = 0.2
    write: float = 30.0
    tend: float = 5.0
    record: float = 30.0


@dataclass(slots=True, eq=False)
class OpenFile:
    """One file that stood at the path, the connections to it that are idle, and the questions it's known to hold."""

    identity: Identity | None
    idle: dict[Role, list[Connection]] = field(default_factory=dict["Role", "list[Connection]"])
    questions: dict[int, Components] = field(default_factory=dict[int, Components])
    question_ids: dict[Components, int] = field(default_factory=dict[Components, int])

    def close(self) -> None:
        """Close what is idle."""
        for connections in self.idle.values():
            while connections:
                connections.pop().close()


class Connection(sqlite3.Connection):
    """A connection that knows its file."""

    file: OpenFile


class Connections:
    """Opens the file at `path` as often as threads need it at once, and again when another file stands there.

    Parameters
    ----------
    path
        Absolute, without links.
    ours
        Whether a file there is ours whatever it looks like.
    """

    def __init__(self, path: Path, *, ours: bool = False, waits: Waits | None = None) -> None:
        self.path = path
        self.waits = waits or Waits()
        self._ours = ours
        self._file: OpenFile | None = None
        self._changed = threading.Condition(threading.Lock())
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._busy = 0
        self._inherited = False
        _all.add(self)

    def run(self, role: Role, work: Callable[[Connection], Result]) -> Result:
        """What `work` makes of a connection of that role.

        Where the file turns out to be damaged it's set aside, and `work` is done once more with a new one.

        Raises
        ------
        StoreError
            If the store can't be used.
        """
        if role == "read":
            return self._run(role, work)
        # Among threads of this process: SQLite itself would sleep and try again instead of waking the next.
        if not self._writing.acquire(timeout=getattr(self.waits, role)):
            raise store_error(self.path, "locked", detail="by another thread of this process")
        try:
            return self._run(role, work)
        finally:
            self._writing.release()

    def transact(self, role: Role, work: Callable[[Connection], Result]) -> Result:
        """The same as one transaction, which others see whole or not at all."""

        def within(connection: Connection) -> Result:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
            return result

        return self.run(role, within)

    def close(self) -> None:
        """Close the connections that are idle; what comes later opens new ones."""
        with self._changed:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def _run(self, role: Role, work: Callable[[Connection], Result]) -> Result:
        for again in (True, False):
            file = None
            try:
                connection = self._take(role)
                file = connection.file
                return self._use(role, connection, work)
            except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
                raise  # a mistake of the caller's, not the store's trouble
            except sqlite3.Error as error:
                reason = trouble(error, self.path)
                moved = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED
                if not again or not (moved or reason == "damaged"):
                    raise translated(error, self.path) from None
                if reason == "damaged":
                    self._set_aside(file)
            except OSError as error:
                raise translated(error, self.path) from None
        raise AssertionError  # the second time returns or raises

    def _use(self, role: Role, connection: Connection, work: Callable[[Connection], Result]) -> Result:
        kept = False
        try:
            result = work(connection)
            kept = True
        finally:
            if not kept:
                connection.close()  # rolls back, whatever state it is in
            self._give_back(role, connection if kept else None)
        return result

    def _take(self, role: Role) -> Connection:
        with self._changed:
            file = self._current()
            self._busy += 1
            idle = file.idle.get(role) if file is not None else None
            if idle:
                return idle.pop()
        try:
            return self._open(role)
        except BaseException:
            self._give_back(role, None)
            raise

    def _current(self) -> OpenFile | None:
        """The open file, if it's still the one at the path."""
        if self._inherited:
            raise StoreError(
                f"the store {str(self.path)!r} was being used by another thread when this process was forked, and "
                "can't be used here. Start processes by `spawn`, or fork before calling",
                reason="io",
            )
        file = self._file
        if file is not None and file.identity != identity(self.path):
            file.close()
            self._file = file = None
        return file

    def _open(self, role: Role) -> Connection:
        with self._opening:
            with self._changed:
                file = self._current()
            if file is None:
                prepare(self.path, ours=self._ours, seconds=self.waits.opening)
                # Asked for before connecting: if another file comes between, it's seen the next time.
                file = OpenFile(identity(self.path))
                with self._changed:
                    self._file = file
        connection = connect(
            self.path,
            seconds=getattr(self.waits, role),
            factory=Connection,
            write_back=role in {"write", "tend", "record"},
            durable=role == "record",
        )
        assert isinstance(connection, Connection)  # noqa: S101 - as the factory says
        connection.text_factory = bytes  # texts are checked before they are decoded
        connection.file = file
        return connection

    def _give_back(self, role: Role, connection: Connection | None) -> None:
        with self._changed:
            self._busy -= 1
            if connection is not None:
                if connection.file is self._file:
                    connection.file.idle.setdefault(role, []).append(connection)
                else:
                    connection.close()
            self._changed.notify_all()

    def _set_aside(self, file: OpenFile | None) -> None:
        """Set the damaged `file` aside; connections close afterwards, for before they would still write into it."""
        if file is None or file.identity is None:  # seen while connecting: `prepare` looks again
            self.close()
            return
        set_aside(self.path, file.identity)
        with self._changed:
            if self._file is file:
                self._file = None
        file.close()

    def before_fork(self) -> None:
        """Close everything and let nothing be opened.

        A child must not inherit open connections: SQLite would take locks of the parent for its own.
        """
        self._changed.acquire()
        self._changed.wait_for(lambda: self._busy == 0, timeout=FORK_SECONDS)
        if self._file is not None:
            self._file.close()
            self._file = None

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Begin anew, unless a connection of a thread that is gone is still open."""
        self._inherited = self._inherited or self._busy > 0
        self._busy = 0
        self._changed = threading.Condition(threading.Lock())
        self._writing = threading.Lock()
        self._opening = threading.Lock()


_all: Final[weakref.WeakSet[Connections]] = weakref.WeakSet()
_forking: list[Connections] = []


def _before() -> None:
    _forking.extend(_all)
    for each in _forking:
        each.before_fork()


def _in_parent() -> None:
    for each in _forking:
        each.after_fork_in_parent()
    _forking.clear()


def _in_child() -> None:
    for each in _forking:
        each.after_fork_in_child()
    _forking.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
