"""The store on disk: one SQLite file that threads and processes fill together."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import platformdirs

from llmframe.core.request import Components
from llmframe.errors import StoreError
from llmframe.stores import maintenance
from llmframe.stores.answers import changes, keep, look_up
from llmframe.stores.base import Change, Stored
from llmframe.stores.books import FileBooks
from llmframe.stores.claims import Claims
from llmframe.stores.connections import Connections, Waits
from llmframe.stores.ledger import SqlLedger
from llmframe.stores.maintenance import StoreInfo


def default_path() -> Path:
    """Where answers are kept when nothing else is said: `llmframe/answers.sqlite` in the user's cache folder."""
    return Path(platformdirs.user_cache_dir("llmframe", appauthor=False)) / "answers.sqlite"


class SqliteStore:
    """Answers in the SQLite file at `path`, which is made when missing, with its folder, for its owner's eyes only.

    Several threads and processes may use one file at once, on one machine: not on a network drive. A process that is
    killed loses nothing that was kept. A damaged file is set aside with a warning and a new one begun; a file that
    isn't a store is never touched.

    Parameters
    ----------
    clock
        Seconds since 1970, to tell claims of dead processes and the age of answers.
    waits
        How long locks are waited for.

    Raises
    ------
    StoreError
        If there can't be a store at `path`; its `reason` says why, its message what to do.

    Notes
    -----
    A store object stands for a process: of two objects in one process each has its own claims.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time, waits: Waits | None = None
    ) -> None:
        self.path = Path(os.path.realpath(Path(path).expanduser()))
        self._clock = clock
        ours = self.path == Path(os.path.realpath(default_path()))
        self._connections = Connections(self.path, ours=ours, waits=waits)
        self._claims = Claims(clock)
        self._close = weakref.finalize(self, _close, self._connections, self._claims)
        self._connections.run("read", lambda _: None)  # whatever is wrong is said now

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """The entries that are there, by key.

        Raises
        ------
        StoreError
            If the store can't be read.
        """
        return self._connections.run("read", lambda connection: look_up(connection, keys)) if keys else {}

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries`, each in the place of an older one, and release the claims on them.

        All are safe from the end of this process when this returns, or none is there. `created` is kept to the
        millisecond.

        Raises
        ------
        StoreError
            If the store can't be written.
        """
        kept = list(entries)
        if kept:
            self._connections.run("write", lambda connection: keep(connection, kept))

    def claim(self, keys: Sequence[bytes]) -> set[bytes]:
        """Claim for this process those of `keys` that no other living one has; returns the others'.

        Where that can't be written in a moment nothing is claimed: a claim is advice, and this is called while
        other requests wait.
        """
        if not keys:
            return set()
        try:
            return self._connections.transact("claim", lambda connection: self._claims.claim(connection, keys))
        except StoreError:
            self._claims.undone()
            return set()

    def release(self, keys: Iterable[bytes]) -> None:
        """Give up claims of this process; other keys are left alone.

        Raises
        ------
        StoreError
            If the store can't be written; the claims end with this process.
        """
        freed = list(keys)
        if freed and self._claims.any:
            self._connections.transact("tend", lambda connection: self._claims.release(connection, freed))

    def beat(self) -> None:
        """Tell other processes that this one lives, if it has claims and hasn't told them within five seconds.

        Raises
        ------
        StoreError
            If the store can't be written.
        """
        if self._claims.due:
            self._connections.transact("tend", self._claims.beat)

    def changes(self, digests: Sequence[bytes], components: Components) -> list[Change]:
        """Of requests without an answer, by their texts' digests: what has changed since one that has an answer.

        Raises
        ------
        StoreError
            If the store can't be read.
        """
        return self._connections.run("read", lambda connection: changes(connection, digests, components))

    def info(self) -> StoreInfo:
        """What the store holds; raises `StoreError`."""
        return self._connections.run(
            "read", lambda connection: maintenance.survey(connection, self.path, self._clock())
        )

    def prune(self, *, older_than: float | None = None, max_bytes: int | None = None) -> int:
        """Remove answers, the oldest first, and shrink the file.

        Batch jobs that are done with go, too: those as old, and as many as the size demands before any answer does.
        The track of others is kept, whatever the size.

        Parameters
        ----------
        older_than
            Age in seconds; answers kept longer ago are removed.
        max_bytes
            Size that the file is to have at most; an empty store has some 50 kB.

        Returns
        -------
        int
            How many answers were removed.

        Raises
        ------
        StoreError
            If the store can't be written. What was removed until then is gone.
        """
        removed = 0
        if older_than is not None:
            removed += maintenance.prune_older(self._connections, self._clock() - older_than)
        if max_bytes is not None:
            removed += maintenance.prune_larger(self._connections, max_bytes)
        maintenance.shrink(self._connections)
        return removed

    def clear(self) -> int:
        """Remove all answers and shrink the file; returns how many there were. Raises `StoreError`.

        The track of batch jobs that may still come to something is kept.
        """
        return maintenance.clear(self._connections)

    def entries(self) -> Iterator[tuple[bytes, Stored]]:
        """All answers with their keys, in the order in which they were first kept; raises `StoreError`.

        They are read a few at a time: what others keep or remove meanwhile may or may not be among them.
        """
        return maintenance.export(self._connections)

    def open_ledger(self) -> SqlLedger:
        """The ledger of batch jobs in this file, as a worker of its own: one a call, left at its end."""
        return SqlLedger(FileBooks(self._connections), clock=self._clock)

    def close(self) -> None:
        """Give up the claims and close the file. A store that is used again opens it again."""
        _close(self._connections, self._claims)


def _close(connections: Connections, claims: Claims) -> None:
    if claims.any:
        with contextlib.suppress(StoreError):
            connections.transact("claim", claims.leave)
    connections.close()
