"""A gate that withholds answers while it is shut."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Gate:
    """Deliveries pass at once, or queue while the gate is shut. Shut from any thread, the rest in the loop."""

    def __init__(self) -> None:
        self._shut = False
        self._waiting: deque[Callable[[], bool]] = deque()

    def hold(self) -> None:
        """Shut the gate."""
        self._shut = True

    def passes(self, deliver: Callable[[], bool]) -> None:
        """Deliver now or when the gate opens; `deliver` tells whether anybody was there to take it."""
        if self._shut:
            self._waiting.append(deliver)
        else:
            deliver()

    def release(self, n: int | None) -> None:
        """Let the first `n` that are still wanted pass, or open the gate."""
        if n is None:
            self._shut = False
        left = n
        while self._waiting and left != 0:
            if self._waiting.popleft()() and left is not None:
                left -= 1
