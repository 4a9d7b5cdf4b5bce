"""A request rate found by trying, for servers that say 429 but not what they allow."""

from __future__ import annotations

from collections import deque
from typing import Final

WINDOW_SECONDS: Final = 5.0
"""Seconds over which requests are counted."""

BURST_SECONDS: Final = 1.0
"""Seconds of its rate that a server is thought to have saved up while nothing was sent."""

CUT: Final = 0.95
"""Of what was taken in the window, the rate after a 429."""

GROWTH: Final = 0.05
"""Growth a second away from the rate that met the last 429, and a fifth of it near it."""

SURE_SECONDS: Final = 3.0
"""Seconds of counting from which a rate that met a 429 is taken for the limit."""

UNSURE_GROWTH: Final = 0.25
"""Growth a second of a rate that was counted for less: one early 429 must not slow down a short run."""

NEAR: Final = 0.95
"""Of the rate that met the last 429: from here on growth is slow, until it is as far above it."""

KNOWN: Final = 10_000
"""Requests of which it is known when they were sent."""

FORGOTTEN: Final = 4.0
"""Times the rate that met the last 429: a rate grown so far is no limit any more."""


class LearntRate:
    """Requests a second, `None` before the first 429.

    The rate falls to what the server has been taking and grows while it keeps answering: fast at first, slowly near
    the rate that met the last 429, so that a steady limit is met about once in a quarter of a minute. A limit that has
    gone up is followed at 5 % a second once the rate is past the old one.

    Requests count when they are sent, not when they are answered: a server refuses at once what it will not take, but
    an answer may be many windows on its way.
    """

    __slots__ = ("_ceiling", "_count", "_cut_at", "_grown_at", "_is_sure", "_refused", "_sent", "rate")

    def __init__(self) -> None:
        self.rate: float | None = None
        self._count = 0
        self._sent: deque[float] = deque(maxlen=KNOWN)
        self._refused: deque[int] = deque()
        self._ceiling = 0.0
        self._is_sure = False
        self._grown_at = 0.0
        self._cut_at = float("-inf")

    def sent(self, now: float) -> None:
        """Count a request that goes out."""
        self._count += 1
        self._sent.append(now)

    def answered(self, now: float, *, sent_at: float) -> bool:
        """The server took a request that was sent at `sent_at`; whether the rate has moved."""
        if self.rate is None or sent_at < self._cut_at or now - self._grown_at < 1:
            return False
        self._grown_at = now
        near = NEAR * self._ceiling <= self.rate <= self._ceiling / NEAR
        self.rate *= 1 + ((GROWTH / 5 if near else GROWTH) if self._is_sure else UNSURE_GROWTH)
        if self.rate > FORGOTTEN * self._ceiling:
            self.rate = None
        return True

    def refused(self, number: int) -> None:
        """The server said 429 to the request that was the `number`-th to go out."""
        self._refused.append(number)

    def limited(self, now: float, *, number: int, ceiling: float | None, least: float = 0.0) -> None:
        """An episode of 429s begins with the request that was the `number`-th to go out.

        `ceiling` is the rate that the server says it allows, if it does, `least` one that it has been seen to keep up.
        """
        taken, seconds = self._taken(number)
        if taken <= 0:
            return
        met = max(taken / seconds, least)
        self._is_sure = seconds >= SURE_SECONDS
        self._ceiling = met if ceiling is None else min(met, ceiling)
        self.rate = CUT * (self._ceiling if self.rate is None else min(max(self.rate, least), self._ceiling))
        self._grown_at = self._cut_at = now

    def _taken(self, number: int) -> tuple[int, float]:
        """Requests before that one that the server took since it last had time to recover, and in how many seconds."""
        oldest = self._count - len(self._sent)  # the number of the request before the first that is known
        while self._refused and self._refused[0] <= oldest:
            self._refused.popleft()
        if number <= oldest:
            return 0, 1.0
        pause = max(BURST_SECONDS, 3 / self.rate if self.rate else 0.0)
        sent = list(self._sent)[: number - oldest]
        until = first = sent[-1]
        count, saved = 0, BURST_SECONDS
        for at in reversed(sent[:-1]):
            if first - at > pause:
                break
            if until - at > max(WINDOW_SECONDS, 3 * pause):
                saved = 0.0
                break
            count, first = count + 1, at
        else:
            saved = 0.0 if oldest else BURST_SECONDS
        count -= sum(number - count <= refused < number for refused in self._refused)
        return count, max(BURST_SECONDS, until - first + saved)
