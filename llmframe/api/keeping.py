"""Which store a map reads and fills, by its `cache` option."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from llmframe.options import CacheOption
from llmframe.stores.base import MemoryStore, Store, Stored

_process_store: Final = MemoryStore()
_process_store.hold_over_forks()


class Layered:
    """Reads one store, or none, and fills several."""

    def __init__(self, *, read: Store | None, fill: Sequence[Store]) -> None:
        self._read, self._fill = read, fill

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """What the store that is read has."""
        return {} if self._read is None else self._read.get_many(keys)

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries` in every store that is filled."""
        kept = list(entries)
        for store in self._fill:
            store.put_many(kept)


def store_of(cache: CacheOption) -> Store:
    """The store of a run with one part: `False` keeps nothing, `"refresh"` reads nothing."""
    if cache is True:
        return _process_store
    return Layered(read=None, fill=[] if cache is False else [_process_store])


def store_of_parts(cache: CacheOption) -> Store:
    """The store of a run with many parts, which always read what the run itself has asked."""
    if cache is True:
        return _process_store
    own = MemoryStore()
    return own if cache is False else Layered(read=own, fill=[own, _process_store])
