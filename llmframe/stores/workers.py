"""Who works on a job: one row a worker, with its process and its signs of life."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable
from typing import Final

from llmframe.stores.connections import Connection, OpenFile
from llmframe.stores.owners import Owner, is_gone, is_silent, place, this_process

BEAT_SECONDS: Final = 5.0
"""Signs of life are at least this far apart."""

STOPPED_SECONDS: Final = 600.0
"""A process of this machine that is there but gives no sign for so long counts as dead: one that is stopped, or that
sleeps with its machine, would pay again when it wakes just after another has taken its work."""


class Worker:
    """One worker on jobs; each method runs in a transaction that its caller has begun.

    A forked child is another worker than its parent, and has no work.

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
    def known(self) -> bool:
        """Whether this worker may have work."""
        return self._pid == os.getpid()

    @property
    def due(self) -> bool:
        """Whether a sign of life is due."""
        return self.known and abs(self._clock() - self._beat) >= BEAT_SECONDS

    def enter(self, connection: Connection) -> int:
        """Be known in this file; returns the number by which work is this worker's."""
        if not self.known:
            self._id, self._pid = secrets.randbits(62) | 1, os.getpid()
            self._file = None
        if self._file is not connection.file or self.due:
            self.beat(connection)
            self._file = connection.file
        return self._id

    def beat(self, connection: Connection) -> None:
        """Write a sign of life."""
        now = self._clock()
        owner = this_process()
        connection.execute(
            "INSERT INTO workers (id, place, pid, started, beat) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET beat = excluded.beat",
            (self._id, owner.place, owner.pid, owner.started, round(now * 1000)),
        )
        self._beat = now

    def undone(self) -> None:
        """A transaction was rolled back: what was written about this worker may not be there."""
        self._file = None

    def leave(self, connection: Connection) -> None:
        """Give up all work, and sweep what dead workers have left."""
        connection.execute("DELETE FROM workers WHERE id = ?", (self._id,))
        self._pid = 0
        for (other,) in connection.execute("SELECT id FROM workers").fetchall():
            if not self.lives(connection, other):
                connection.execute("DELETE FROM workers WHERE id = ?", (other,))

    def lives(self, connection: Connection, worker: int | None) -> bool:
        """Whether any worker is still at it, this one included."""
        return worker is not None and lives(connection, worker, self._clock())

    def may_take(self, connection: Connection, worker: int | None) -> bool:
        """Whether no other living worker has what belongs to `worker`."""
        return (self.known and worker == self._id) or not self.lives(connection, worker)


def lives(connection: Connection, worker: int, now: float) -> bool:
    """Whether a worker is still at it: told by its process on this machine, by its signs of life elsewhere."""
    row = connection.execute(
        "SELECT CAST(place AS BLOB), pid, CAST(started AS BLOB), beat FROM workers WHERE id = ?", (worker,)
    ).fetchone()
    if row is None:
        return False
    where, pid, started, beat = row
    owner = Owner(place=where.decode(), pid=pid, started=None if started is None else started.decode())
    if is_gone(owner):
        return False
    if owner.place == place() and owner.started is not None:
        return not is_silent(beat / 1000, now, limit=STOPPED_SECONDS)
    return not is_silent(beat / 1000, now)
