"""The store port, with the one that lives in memory."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from llmframe.core.outcome import Usage
from llmframe.core.request import Components

MEMORY_LIMIT_BYTES = 256 * 2**20
"""How much reply text the process keeps before the answers unused for longest go."""

_ENTRY_BYTES = 400
"""What an entry takes beside its text: key, usage, links."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A kept reply: the text that was valid when it came, and what it took. Never a prompt, never a key.

    Parameters
    ----------
    created
        When it was kept, in seconds since 1970.
    components, prompt_digest
        Digests of what was asked, by which a store on disk can tell later what has changed.
    evidence
        How sure the reply is, as JSON text; `None` when that wasn't asked.
    """

    text: str
    usage: Usage = Usage()
    model: str | None = None
    finish_reason: str | None = None
    created: float = 0.0
    components: Components | None = None
    prompt_digest: bytes | None = None
    evidence: str | None = None


Change = Literal["text", "model", "params", "schema"]
"""Why a store has no answer to a request: its text is new, or the text is known and this has changed."""


@runtime_checkable
class Store(Protocol):
    """Where valid replies are kept by fingerprint; errors never are.

    Both methods may be called from several threads.
    """

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """The entries that are there, by key."""
        ...

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries`, each in the place of an older one; they are safe when this returns."""
        ...


@runtime_checkable
class SharedStore(Store, Protocol):
    """A store on disk that several processes fill at once; its methods may block, and raise `StoreError`.

    A claim says "I am asking this", so that two processes don't both pay. It is advice: answers are right without it.
    """

    def claim(self, keys: Sequence[bytes]) -> set[bytes]:
        """Claim for this process those of `keys` that no other living one has; returns the others'."""
        ...

    def release(self, keys: Iterable[bytes]) -> None:
        """Give up claims of this process; other keys are left alone. `put_many` releases what it keeps."""
        ...

    def beat(self) -> None:
        """Tell the others that this process lives; to be called every few seconds while it has claims."""
        ...

    def changes(self, digests: Sequence[bytes], components: Components) -> list[Change]:
        """Of requests without an answer, by their texts' digests: what has changed since one that has an answer.

        Of several answers to a text the one that shares most with `components` counts; where several things have
        changed, `schema` is named before `model`, and that before `params`.
        """
        ...


class MemoryStore:
    """Answers of this process, safe in threads, bounded by `limit_bytes` of text (the longest unused go first)."""

    instant = True
    """Keeping takes no time worth a thread."""

    def __init__(self, *, limit_bytes: int = MEMORY_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._entries: OrderedDict[bytes, Stored] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._entries)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """The entries that are there, by key."""
        with self._lock:
            found = {key: self._entries[key] for key in keys if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
            return found

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        """Keep `entries`; past the limit the entries unused for longest are dropped."""
        with self._lock:
            for key, entry in entries:
                old = self._entries.pop(key, None)
                self._bytes += _size(entry) - (_size(old) if old else 0)
                self._entries[key] = entry
            while self._bytes > self._limit and self._entries:
                self._bytes -= _size(self._entries.popitem(last=False)[1])

    def hold_over_forks(self) -> None:
        """Let no fork fall into a thread's look-up: the child would wait for that thread, which it doesn't have."""
        if hasattr(os, "register_at_fork"):  # not on Windows
            release = self._lock.release
            os.register_at_fork(before=self._lock.acquire, after_in_parent=release, after_in_child=release)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0


def _size(entry: Stored) -> int:
    return len(entry.text) + len(entry.evidence or "") + _ENTRY_BYTES
