"""Which store a map reads and fills, by its `cache` option."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, cast

from llmframe.clients.base import Client
from llmframe.errors import LlmframeWarning, StoreError, UsageError, callers_place
from llmframe.options import CacheOption
from llmframe.stores.base import MemoryStore, Store, Stored
from llmframe.stores.jobs import Ledger
from llmframe.stores.ledger import ledger_of
from llmframe.stores.sqlite import SqliteStore, default_path

SIMULATED: Final = "simulated:"
"""How the identity of a simulated provider begins: it lives as long as its process, so do its answers."""

_process_store: Final = MemoryStore()
_process_store.hold_over_forks()
_open: Final[weakref.WeakValueDictionary[str, SqliteStore]] = weakref.WeakValueDictionary()
_latest: list[SqliteStore] = []  # kept open between calls
_opening = threading.Lock()
_told: set[str] = set()


class Layered:
    """Reads one store, or none, and fills several."""

    def __init__(self, *, read: Store | None, fill: Sequence[Store]) -> None:
        self._read, self._fill = read, fill
        self.instant = all(getattr(store, "instant", False) for store in fill)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """What the store that is read has."""
        return {} if self._read is None else self._read.get_many(keys)

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries` in every store that is filled."""
        kept = list(entries)
        for store in self._fill:
            store.put_many(kept)


def store_of(cache: CacheOption, client: Client) -> Store:
    """The store of a run with one part: `False` keeps nothing, `"refresh"` reads nothing.

    Raises
    ------
    UsageError
        If a path was given whose store can't be used.
    """
    if cache is False:
        return Layered(read=None, fill=[])
    store = _store(cache, client)
    return Layered(read=None, fill=[store]) if cache == "refresh" else store


def store_of_parts(cache: CacheOption, client: Client) -> Store:
    """The store of a run with many parts, which always read what the run itself has asked; raises as `store_of`."""
    if cache is False:
        return MemoryStore()
    store = _store(cache, client)
    if cache != "refresh":
        return store
    own = MemoryStore()
    return Layered(read=own, fill=[own, store])


def cache_of_asks(cache: CacheOption, client: Client, own: MemoryStore) -> CacheOption:
    """The `cache` of each of a call's maps, so that none of them asks what another one has asked.

    Parameters
    ----------
    cache
        As the call said it.
    client
        The map's.
    own
        What the maps share where the call reads no store: under `False` and `"refresh"`.
    """
    if cache is False:
        return own
    return Layered(read=own, fill=[own, _store(cache, client)]) if cache == "refresh" else cache


def stores_here(cache: CacheOption) -> list[Store]:
    """The stores that runs under this option may have used; with the usual one that of simulated providers.

    A file that is named and not there is none: looking makes no file.
    """
    if cache is False:
        return []
    if isinstance(cache, bool) or cache == "refresh":
        usual = _default()
        return [usual] if usual is _process_store else [usual, _process_store]
    if not isinstance(cache, (str, os.PathLike)):
        return [cast("Store", cache)]
    return [_named(cache)] if Path(cache).expanduser().exists() else []


def ledgered_store(cache: CacheOption, client: Client) -> tuple[Store, Ledger]:
    """The store of a run by batches, and the ledger of its jobs in the same file.

    Raises
    ------
    UsageError
        If there is no place for a ledger: a job that isn't written down can be lost, and it's paid.
    """
    if cache is False:
        raise UsageError(
            '`mode="batch"` writes its jobs down, so that none that is paid is lost; leave out `cache=False`, or name '
            "a file"
        )
    store = _store(cache, client)
    if store is _process_store and not client.identity.startswith(SIMULATED):
        raise UsageError(
            '`mode="batch"` writes its jobs down in the store, which can\'t be used just now; name another file: '
            '`cache="answers.sqlite"`'
        )
    ledger = ledger_of(store)
    if ledger is None:
        raise UsageError(
            f'`mode="batch"` writes its jobs down beside the answers, and {type(store).__name__!r} has no place for '
            'them; name a file: `cache="answers.sqlite"`'
        )
    return (Renewed(store) if cache == "refresh" else store), ledger


class Renewed:
    """A store of which only what is kept from `since` on (seconds since 1970) counts."""

    def __init__(self, store: Store) -> None:
        self._store, self.since = store, float("-inf")
        self.instant: bool = getattr(store, "instant", False)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """What is there and new enough."""
        return {key: entry for key, entry in self._store.get_many(keys).items() if entry.created >= self.since}

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries`."""
        self._store.put_many(entries)


def _store(cache: CacheOption, client: Client) -> Store:
    if isinstance(cache, bool) or cache == "refresh":
        return _process_store if client.identity.startswith(SIMULATED) else _default()
    if not isinstance(cache, (str, os.PathLike)):
        return cast("Store", cache)
    return _named(cache)


def _named(path: str | os.PathLike[str]) -> Store:
    try:
        return _opened(Path(path).expanduser())
    except StoreError as error:
        raise UsageError(f"`cache`={os.fspath(path)!r}: {error}") from error


def _default() -> Store:
    """The store in the user's cache folder; where it can't be used, the one in memory, with a warning."""
    path = default_path()
    try:
        return _opened(path)
    except StoreError as error:
        if str(path) not in _told:
            _told.add(str(path))
            text = f"answers are kept in this process only: {error}"
            warnings.warn_explicit(text, LlmframeWarning, *callers_place())
        return _process_store


def _opened(path: Path) -> SqliteStore:
    """The process's one store of a file."""
    name = str(path.resolve())
    with _opening:
        store = _open.get(name)
        if store is None:
            store = _open[name] = SqliteStore(path)
        _latest[:] = [store]
        return store
