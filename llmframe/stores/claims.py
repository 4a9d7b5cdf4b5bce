"""Claims on requests, so that two processes don't both pay for one."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from llmframe.stores.chunks import chunks
from llmframe.stores.connections import Connection, OpenFile
from llmframe.stores.owners import Owner, is_gone, is_silent, this_process

BEAT_SECONDS: Final = 5.0
"""Signs of life are at least this far apart."""


class Claims:
    """The claims of one process in a store; each method runs in a transaction that its caller has begun.

    Parameters
    ----------
    clock
        Seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._id = 0
        self._pid = 0
        self._file: OpenFile | None = None
        self._beat = -math.inf

    @property
    def any(self) -> bool:
        """Whether this process has claimed anything; a forked child hasn't, whatever its parent did."""
        return self._pid == os.getpid()

    @property
    def due(self) -> bool:
        """Whether a sign of life is due."""
        return self.any and abs(self._clock() - self._beat) >= BEAT_SECONDS

    def claim(self, connection: Connection, keys: Sequence[bytes]) -> set[bytes]:
        """Claim those of `keys` that no other living process has; returns the others'."""
        if not self.any:
            self._id, self._pid = secrets.randbits(62), os.getpid()
            self._file = None
        if self._file is not connection.file or self.due:
            self._enter(connection)
        wanted = [(key, self._id) for key in dict.fromkeys(keys)]
        insert = "INSERT OR IGNORE INTO claims (key, owner) VALUES (?, ?)"
        if connection.executemany(insert, wanted).rowcount == len(wanted):
            return set()
        others = self._others(connection, keys)
        now = self._clock()
        dead = {owner for owner in set(others.values()) if not lives(connection, owner, now)}
        if dead:
            sweep(connection, dead)
            connection.executemany(insert, [(key, self._id) for key, owner in others.items() if owner in dead])
        return {key for key, owner in others.items() if owner not in dead}

    def release(self, connection: Connection, keys: Iterable[bytes]) -> None:
        """Give up claims of this process."""
        connection.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", [(key, self._id) for key in keys])

    def beat(self, connection: Connection) -> None:
        """Write a sign of life."""
        now = self._clock()
        owner = this_process()
        connection.execute(
            "INSERT INTO owners (id, place, pid, started, beat) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET beat = excluded.beat",
            (self._id, owner.place, owner.pid, owner.started, round(now * 1000)),
        )
        self._beat = now

    def undone(self) -> None:
        """A transaction was rolled back: what was written about this process may not be there."""
        self._file = None

    def leave(self, connection: Connection) -> None:
        """Give up everything, as at the end."""
        sweep(connection, {self._id})
        self._pid = 0

    def _enter(self, connection: Connection) -> None:
        """Be known in this file, and sweep what dead processes have left in it when that is new."""
        if self._file is not connection.file:
            now = self._clock()
            sweep(connection, [owner for owner in owners(connection) if not lives(connection, owner, now)])
            self._file = connection.file
        self.beat(connection)

    def _others(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
        held: dict[bytes, int] = {}
        for marks, lot in chunks(keys):
            statement = f"SELECT key, owner FROM claims WHERE key IN ({marks})"  # noqa: S608 - only question marks
            held.update(connection.execute(statement, lot))
        return {key: owner for key, owner in held.items() if owner != self._id}


def owners(connection: Connection) -> list[int]:
    """Everybody who has claimed something, or is known."""
    return [owner for (owner,) in connection.execute("SELECT id FROM owners UNION SELECT owner FROM claims")]


def lives(connection: Connection, owner: int, now: float) -> bool:
    """Whether an owner of claims is still at work."""
    row = connection.execute(
        "SELECT CAST(place AS BLOB), pid, CAST(started AS BLOB), beat FROM owners WHERE id = ?", (owner,)
    ).fetchone()
    if row is None:
        return False
    place, pid, started, beat = row
    process = Owner(place=place.decode(), pid=pid, started=started.decode() if started is not None else None)
    return not is_silent(beat / 1000, now) and not is_gone(process)


def sweep(connection: Connection, dead: Iterable[int]) -> None:
    """Remove the claims of owners, and the owners."""
    for owner in dead:
        connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        connection.execute("DELETE FROM owners WHERE id = ?", (owner,))
