"""A request rate found by trying, for servers that say 429 but not what they allow."""

from __future__ import annotations

from collections import deque
from typing import Final

WINDOW_SECONDS: Final = 10.0
"""Seconds over which answered requests are counted."""

CUT: Final = 0.95
"""Of what was answered in the window, the rate after a 429."""

GROWTH: Final = 0.05
"""Growth a second far below the rate that met the last 429, and a fifth of it near it."""

NEAR: Final = 0.95
"""Of the rate that met the last 429: from here on growth is slow."""

FORGOTTEN: Final = 4.0
"""Times the rate that met the last 429: a rate grown so far is no limit any more."""


class LearntRate:
    """Requests a second, `None` before the first 429.

    The rate falls to what the server has been answering and grows while it keeps answering: fast at first, slowly near
    the rate that met the last 429, so that a steady limit is met about once in a quarter of a minute.
    """

    __slots__ = ("_answered", "_ceiling", "_grown_at", "_since", "rate")

    def __init__(self) -> None:
        self.rate: float | None = None
        self._answered: deque[float] = deque()
        self._since: float | None = None
        self._ceiling = 0.0
        self._grown_at = 0.0

    def answered(self, now: float, *, sent_at: float) -> bool:
        """Count an answer to a request that was sent at `sent_at`; whether the rate has moved."""
        if self._since is None:
            self._since = sent_at
        self._answered.append(now)
        while self._answered[0] < now - WINDOW_SECONDS:
            self._answered.popleft()
        if self.rate is None or now - self._grown_at < 1:
            return False
        self._grown_at = now
        self.rate *= 1 + (GROWTH if self.rate < NEAR * self._ceiling else GROWTH / 5)
        if self.rate > FORGOTTEN * self._ceiling:
            self.rate = None
        return True

    def limited(self, now: float, *, ceiling: float | None) -> None:
        """An episode of 429s begins; `ceiling` is the rate that the server says it allows, if it does."""
        while self._answered and self._answered[0] < now - WINDOW_SECONDS:
            self._answered.popleft()
        if not self._answered or self._since is None:
            return
        seconds = min(WINDOW_SECONDS, max(1.0, now - self._since))
        met = len(self._answered) / seconds
        self._ceiling = met if ceiling is None else min(met, ceiling)
        self.rate = CUT * self._ceiling if self.rate is None else min(self.rate, CUT * self._ceiling)
        self._grown_at = now
