"""Many items a request: how they are packed, and when a pack goes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

REQUEST_INPUTS: Final = 2048
"""Texts of one request, at most, as OpenAI bounds them."""

REQUEST_TOKENS: Final = 300_000
"""Tokens of all texts of one request, at most."""

INPUT_TOKENS: Final = 8192
"""Tokens of one text, at most."""

ASCII_CHARACTERS: Final = 3
"""Characters a token of ASCII text, rather too few: a pack that is refused costs a request."""

OTHER_BYTES: Final = 2
"""Bytes a token of other text in UTF-8, likewise."""

TWO: Final = 2
"""Halves of a whole."""


def tokens_of(text: str) -> int:
    """Tokens that a text has at most, as a rule."""
    if text.isascii():
        return len(text) // ASCII_CHARACTERS + 1
    return len(text.encode("utf-8", "replace")) // OTHER_BYTES + 1


@dataclass(slots=True)
class Bounds:
    """What one request may hold; `inputs` shrinks by what the server refuses.

    Parameters
    ----------
    inputs
        Texts.
    tokens
        Of all of them, as estimated.
    alone
        Tokens of a text from which it may be refused: it goes alone, so that it takes no others along.
    """

    inputs: int = REQUEST_INPUTS
    tokens: int = REQUEST_TOKENS
    alone: int | None = INPUT_TOKENS

    def hold(self, inputs: int, tokens: int) -> bool:
        """Whether one request may be so large."""
        return inputs <= self.inputs and tokens <= self.tokens

    def shrink(self, inputs: int) -> None:
        """So many are too many."""
        self.inputs = max(1, min(self.inputs, inputs // TWO))


class Halves:
    """The two parts of a refused pack of so many `inputs`.

    One bad text spoils one of them. When both are refused, the server most likely takes less at once, and what is still
    to be sent needn't be refused first.
    """

    __slots__ = ("_inputs", "_refused")

    def __init__(self, inputs: int) -> None:
        self._inputs, self._refused = inputs, 0

    def refused(self, bounds: Bounds) -> None:
        """One of them was refused, too."""
        self._refused += 1
        if self._refused == TWO:
            bounds.shrink(self._inputs // TWO)


class Packer(Generic[T]):
    """Items gathered for one request."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._items: list[T] = []
        self._tokens = 0

    def add(self, item: T, tokens: int) -> list[T]:
        """Take an item of so many tokens; returns the pack that's full with it or has no room for it, else nothing."""
        if self._bounds.alone is not None and tokens > self._bounds.alone:
            return [item]
        full: list[T] = []
        if self._items and not self._bounds.hold(len(self._items) + 1, self._tokens + tokens):
            full = self.take()
        self._items.append(item)
        self._tokens += tokens
        return full or (self.take() if len(self._items) >= self._bounds.inputs else [])

    def take(self) -> list[T]:
        """All that wait, in order."""
        items, self._items = self._items, []
        self._tokens = 0
        return items


def packed(items: Iterable[T], bounds: Bounds, *, tokens: Callable[[T], int]) -> Iterator[list[T]]:
    """`items` in packs, in order but for those that go alone.

    Parameters
    ----------
    tokens
        Of an item, as estimated; `tokens_of` its text.
    """
    packer = Packer[T](bounds)
    for item in items:
        pack = packer.add(item, tokens(item))
        if pack:
            yield pack
    rest = packer.take()
    if rest:
        yield rest


class Gathering(Generic[T]):
    """A pack that stands open for others until it's full, or its oldest items have waited `wait` seconds.

    The first to put something in sends it, when it's `closed`; the others await `result`, which `settle` says. Who
    comes later doesn't move the deadline.
    """

    def __init__(self, bounds: Bounds, *, wait: float) -> None:
        loop = asyncio.get_running_loop()
        self._bounds = bounds
        self._parties: list[T] = []
        self.keys: set[bytes] = set()
        self._tokens = 0
        self._closed: asyncio.Future[None] = loop.create_future()
        self._result: asyncio.Future[object] = loop.create_future()
        self._alarm = loop.call_later(wait, self.close)

    @property
    def is_open(self) -> bool:
        """Whether it takes more."""
        return not self._closed.done()

    def add(self, party: T, keys: Iterable[bytes], *, tokens: int) -> bool:
        """Take all of a party's items, by their keys, or none; what is in it already takes no room."""
        new = self.keys.union(keys)
        if not self.is_open or not self._bounds.hold(len(new), self._tokens + tokens):
            self.close()  # who comes next opens another one
            return False
        self._parties.append(party)
        self.keys = new
        self._tokens += tokens
        if len(new) >= self._bounds.inputs:
            self.close()
        return True

    def leave(self, leaves: Callable[[T], bool]) -> None:
        """Parties have left before it went."""
        if self.is_open:
            self._parties = [party for party in self._parties if not leaves(party)]

    async def closed(self) -> list[T]:
        """All parties in the order in which they came, when nothing more comes."""
        await asyncio.shield(self._closed)
        return self._parties

    async def result(self) -> object:
        """What `settle` says."""
        return await asyncio.shield(self._result)

    def close(self) -> None:
        """Take nothing more."""
        self._alarm.cancel()
        if not self._closed.done():
            self._closed.set_result(None)

    def settle(self, result: object) -> None:
        """Tell the others what became of it; only the first word counts."""
        self.close()
        if not self._result.done():
            self._result.set_result(result)
