"""Where a ledger is kept: in a store's file, or in memory beside a store that is."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from llmframe.errors import StoreError
from llmframe.stores.answers import put
from llmframe.stores.base import Store, Stored
from llmframe.stores.connections import Connection, Connections, OpenFile
from llmframe.stores.ledger_tables import is_laid_out, make

Result = TypeVar("Result")

_MOMENT_SECONDS: Final = 0.2


class Books(Protocol):
    """Runs what a ledger does with its tables; methods raise `StoreError`.

    Attributes
    ----------
    name
        What the user knows it by.
    """

    name: str

    def read(self, work: Callable[[Connection], Result], *, nothing: Result) -> Result:
        """What `work` reads; `nothing` while there are no tables."""
        ...

    def record(self, work: Callable[[Connection], Result]) -> Result:
        """Do `work` as one transaction, safe from a power cut when this returns."""
        ...

    def settle(self, entries: Sequence[tuple[bytes, Stored]], work: Callable[[Connection], None]) -> None:
        """Keep answers in the store and do `work`, as one transaction; safe from the end of this process."""
        ...

    def tend(self, work: Callable[[Connection], None], *, patient: bool) -> None:
        """Do `work` as one transaction, soon or not at all unless `patient`."""
        ...


class FileBooks:
    """The tables in a store's own file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.name = str(connections.path)

    def read(self, work: Callable[[Connection], Result], *, nothing: Result) -> Result:
        """What `work` reads; `nothing` while there are no tables."""
        return self._connections.run(
            "read", lambda connection: work(connection) if is_laid_out(connection) else nothing
        )

    def record(self, work: Callable[[Connection], Result]) -> Result:
        """Do `work` as one transaction, safe from a power cut when this returns."""

        def within(connection: Connection) -> Result:
            make(connection)
            return work(connection)

        return self._connections.transact("record", within)

    def settle(self, entries: Sequence[tuple[bytes, Stored]], work: Callable[[Connection], None]) -> None:
        """Keep answers in the store and do `work`, as one transaction."""

        def within(connection: Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            new = put(connection, entries)
            make(connection)
            work(connection)
            connection.execute("COMMIT")
            connection.file.question_ids.update(new)

        self._connections.run("write", within)

    def tend(self, work: Callable[[Connection], None], *, patient: bool) -> None:
        """Do `work` as one transaction."""

        def within(connection: Connection) -> None:
            make(connection)
            work(connection)

        self._connections.transact("tend" if patient else "claim", within)


class MemoryBooks:
    """Tables in memory, which end with the process; a forked child has empty ones, for its parent has the work."""

    name = "memory"

    def __init__(self) -> None:
        self.begin()
        _all.add(self)

    def begin(self) -> None:
        """Begin with empty tables."""
        self._lock = threading.Lock()
        self._connection = _in_memory()

    def read(self, work: Callable[[Connection], Result], *, nothing: Result) -> Result:  # noqa: ARG002 - always tables
        """What `work` reads."""
        return self.record(work)

    def record(self, work: Callable[[Connection], Result]) -> Result:
        """Do `work` as one transaction."""
        with self._lock:
            return self._transact(work)

    def tend(self, work: Callable[[Connection], None], *, patient: bool) -> None:
        """Do `work` as one transaction."""
        # A worker that is collected as garbage leaves: perhaps within a transaction of the same thread.
        if self._lock.acquire(timeout=-1 if patient else _MOMENT_SECONDS):
            try:
                self._transact(work)
            finally:
                self._lock.release()

    def _transact(self, work: Callable[[Connection], Result]) -> Result:
        self._connection.execute("BEGIN")
        done = False
        try:
            result = work(self._connection)
            done = True
        except sqlite3.Error as error:
            detail = getattr(error, "sqlite_errorname", type(error).__name__)
            raise StoreError(f"the ledger in memory can't be used ({detail})", reason="io") from None
        finally:
            self._connection.execute("COMMIT" if done else "ROLLBACK")
        return result


class BesideStore:
    """Tables in memory beside a store that is there, too."""

    def __init__(self, books: MemoryBooks, store: Store) -> None:
        self._books = books
        self._store = store
        self.name = books.name
        self.read, self.record, self.tend = books.read, books.record, books.tend

    def settle(self, entries: Sequence[tuple[bytes, Stored]], work: Callable[[Connection], None]) -> None:
        """Keep answers in the store, then do `work`."""
        self._store.put_many(entries)
        self._books.record(work)


def _in_memory() -> Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Connection)
    assert isinstance(connection, Connection)  # noqa: S101 - as the factory says
    connection.text_factory = bytes
    connection.file = OpenFile(None)
    make(connection)
    return connection


_all: Final[weakref.WeakSet[MemoryBooks]] = weakref.WeakSet()


def _in_child() -> None:
    for books in _all:
        books.begin()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
