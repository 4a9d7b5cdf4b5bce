"""Replies by rounds: how long they took, compared with how long they take without congestion."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final

LEARNING: Final = 0.1
"""Weight of a round in the baseline; the n-th weighs 1/n as long as that is more."""

OWN_SECONDS: Final = 0.02
"""Added to the time of every reply: what our own loop takes under load must not look like a slow server."""

FIXED_TOKENS: Final = 50
"""Output tokens that take as long as the fixed part of a request, for times compared per token."""


@dataclass(frozen=True, slots=True)
class Times:
    """Typical times as natural logarithms: of seconds, and of seconds per output token where all are known.

    They are means of logarithms, hence geometric means: one straggler must not look like a slow server.
    """

    seconds: float
    per_token: float | None
    replies: int


def slower(times: Times, others: Times) -> float:
    """Logarithm of how many times longer `times` are, by the kind that says less.

    Longer replies take longer, and that is no congestion; shorter ones take longer per token, and that is none either.
    """
    by_seconds = times.seconds - others.seconds
    if times.per_token is None or others.per_token is None:
        return by_seconds
    return min(by_seconds, times.per_token - others.per_token)


class Round:
    """What came back since it began, up to `size` replies or faults."""

    __slots__ = ("_per_token", "_seconds", "_sent_at", "faults", "replies", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.replies = self.faults = 0
        self._sent_at = self._seconds = 0.0
        self._per_token: float | None = 0.0

    @property
    def is_full(self) -> bool:
        """Whether it ends here."""
        return self.replies + self.faults >= self.size

    @property
    def may_grow(self) -> bool:
        """Whether at most a quarter were faults."""
        return 3 * self.faults <= self.replies

    @property
    def sent_at(self) -> float:
        """When its replies were asked for, on average."""
        return self._sent_at / self.replies

    def add(self, seconds: float, output_tokens: int | None, *, sent_at: float) -> None:
        """Count a reply; one of unknown length leaves the round without times per token."""
        self.replies += 1
        self._sent_at += sent_at
        time = log(max(seconds, 0.0) + OWN_SECONDS)
        self._seconds += time
        if output_tokens is None or self._per_token is None:
            self._per_token = None
        else:
            self._per_token += time - log(max(output_tokens, 0) + FIXED_TOKENS)

    def times(self) -> Times:
        """Its typical times; there must be a reply."""
        per_token = None if self._per_token is None else self._per_token / self.replies
        return Times(self._seconds / self.replies, per_token, self.replies)


class Baseline:
    """Typical times without congestion; seconds and seconds per token never meet in one."""

    __slots__ = ("_per_token", "_rounds", "_seconds", "_token_rounds", "replies")

    def __init__(self, times: Times | None = None) -> None:
        self._rounds = self._token_rounds = self.replies = 0
        self._seconds = self._per_token = 0.0
        if times is not None:
            self.learn(times)

    def slowness(self, times: Times) -> float:
        """Logarithm of how many times longer `times` are, 0 as long as nothing is known."""
        if not self._rounds:
            return 0.0
        return slower(times, Times(self._seconds, self._per_token if self._token_rounds else None, self.replies))

    def learn(self, times: Times, *, weight: float = LEARNING) -> None:
        """Take a round's times in, with this weight at least."""
        self._rounds += 1
        self.replies += times.replies
        self._seconds += max(weight, 1 / self._rounds) * (times.seconds - self._seconds)
        if times.per_token is not None:
            self._token_rounds += 1
            self._per_token += max(weight, 1 / self._token_rounds) * (times.per_token - self._per_token)
