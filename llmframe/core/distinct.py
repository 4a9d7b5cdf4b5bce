"""A set of keys that is as small as it can be: 8 bytes of each, in one array."""

from __future__ import annotations

from array import array
from typing import Final

FULL: Final = 0.6
"""Share of places from which the array is doubled."""

_MASK: Final = 2**64 - 1


class Distinct:
    """Which keys have been seen; ten million of them take 134 MB, and 200 MB while it grows.

    Keys are digests, of which 8 bytes decide: among ten million, two that differ are taken for one with a probability
    of 3 in a million.
    """

    def __init__(self) -> None:
        self._places = array("Q", bytes(8 * 1024))
        self._count = 0

    def __len__(self) -> int:
        """How many have been added."""
        return self._count

    def add(self, key: bytes) -> bool:
        """Remember a key; whether it's new."""
        if self._count >= FULL * len(self._places):
            self._grow()
        new = self._put(int.from_bytes(key[:8], "little") or _MASK)  # 0 is an empty place
        self._count += new
        return new

    def _put(self, number: int) -> bool:
        places = self._places
        last = len(places) - 1
        at = number & last
        while held := places[at]:
            if held == number:
                return False
            at = (at + 1) & last
        places[at] = number
        return True

    def _grow(self) -> None:
        held, self._places = self._places, array("Q", bytes(16 * len(self._places)))
        for number in held:
            if number:
                self._put(number)
