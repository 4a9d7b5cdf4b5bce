"""A run over time, in buckets that widen as it goes on: at most 600 of them, for seconds or for days."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from llmframe.core.series import SLOW_START, LimitMove, Series

MOST_BUCKETS: Final = 600
"""Buckets, after which neighbours are merged."""

FIRST_WIDTH: Final = 0.125
"""Seconds of a bucket until then (75 s); always a power of two, so that edges are exact."""

RECENT: Final = 30.0
"""Seconds that count as recent."""

MOST_MOVES: Final = 200
"""Moves of the limit that are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Throughput of the last while."""

    answered_per_second: float
    tokens_per_second: float


@dataclass(slots=True)
class Timeline:
    """The buckets of a run that goes on; `at(now)` is the index of those of now.

    Attributes
    ----------
    origin
        The clock's time at which the run began.
    level, bound
        Requests in flight, and their limit, now (0: none was told).
    """

    origin: float
    width: float = FIRST_WIDTH
    level: int = 0
    bound: int = 0
    sent: list[int] = field(default_factory=list[int])
    answered: list[int] = field(default_factory=list[int])
    tokens: list[int] = field(default_factory=list[int])
    rate_limited: list[int] = field(default_factory=list[int])
    faults: list[int] = field(default_factory=list[int])
    in_flight: list[int] = field(default_factory=list[int])
    limit: list[int] = field(default_factory=list[int])
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def at(self, now: float) -> int:
        """The index of the bucket that `now` falls into; the first one's for a time before the run."""
        index = int((now - self.origin) / self.width)
        if index >= len(self.sent):
            return self._grow(now)
        return index if index >= 0 else self.at(self.origin)

    def series(self, now: float) -> Series:
        """The buckets up to `now`, from any thread."""
        line = self._until(now)
        return Series(
            width=line.width,
            seconds=max(0.0, now - line.origin),
            sent=tuple(line.sent),
            answered=tuple(line.answered),
            tokens=tuple(line.tokens),
            rate_limited=tuple(line.rate_limited),
            faults=tuple(line.faults),
            in_flight=tuple(line.in_flight),
            limit=tuple(line.limit),
        )

    def recent(self, now: float) -> Rates:
        """Throughput of the last `RECENT` seconds, or since the first request went out; from any thread."""
        line = self._until(now)
        last = len(line.sent) - 1
        first = next((index for index, count in enumerate(line.sent) if count), last)
        first = max(first, last - int(RECENT / line.width))
        seconds = now - line.origin - first * line.width
        if seconds <= 0:
            return Rates(answered_per_second=0.0, tokens_per_second=0.0)
        return Rates(
            answered_per_second=sum(line.answered[first:]) / seconds,
            tokens_per_second=sum(line.tokens[first:]) / seconds,
        )

    def _until(self, now: float) -> Timeline:
        """A copy that reaches `now`: whoever reads from another thread mustn't move buckets while one is counted in."""
        with self._lock:
            line = Timeline(
                self.origin,
                width=self.width,
                level=self.level,
                bound=self.bound,
                sent=self.sent.copy(),
                answered=self.answered.copy(),
                tokens=self.tokens.copy(),
                rate_limited=self.rate_limited.copy(),
                faults=self.faults.copy(),
                in_flight=self.in_flight.copy(),
                limit=self.limit.copy(),
            )
        line.at(now)
        return line

    def _grow(self, now: float) -> int:
        """Add buckets up to `now`; in those in between the level stayed as it was."""
        with self._lock:
            while (index := int((now - self.origin) / self.width)) >= MOST_BUCKETS:
                self._merge()
            missing = index + 1 - len(self.sent)
            for counts in (self.sent, self.answered, self.tokens, self.rate_limited, self.faults):
                counts.extend([0] * missing)
            self.in_flight.extend([self.level] * missing)
            self.limit.extend([self.bound] * missing)
            return index

    def _merge(self) -> None:
        for counts in (self.sent, self.answered, self.tokens, self.rate_limited, self.faults):
            counts[:] = [sum(counts[i : i + 2]) for i in range(0, len(counts), 2)]
        self.in_flight[:] = [max(self.in_flight[i : i + 2]) for i in range(0, len(self.in_flight), 2)]
        self.limit[:] = [self.limit[i : i + 2][-1] for i in range(0, len(self.limit), 2)]
        self.width *= 2


class LimitHistory:
    """Why the limit of requests in flight is what it is: its moves, the longest histories thinned."""

    __slots__ = ("_moves",)

    def __init__(self) -> None:
        self._moves: list[LimitMove] = []

    def add(self, move: LimitMove) -> None:
        """Remember a move; one of slow start takes the place of the one of slow start before it."""
        last = self._moves[-1] if self._moves else None
        if last is not None and last.limit == move.limit:
            return
        if last is not None and last.reason == move.reason == SLOW_START:
            self._moves[-1] = move
            return
        self._moves.append(move)
        if len(self._moves) > MOST_MOVES:
            self._thin()

    def moves(self) -> tuple[LimitMove, ...]:
        """The moves in order, the first one being the start."""
        return tuple(self._moves)

    def _thin(self) -> None:
        """Of neighbours with one reason keep the later one; if all differ, every other one."""
        first, *rest = self._moves
        kept = [
            move
            for move, after in zip(rest, [*rest[1:], None], strict=True)
            if after is None or after.reason != move.reason
        ]
        self._moves = [first, *(kept if len(kept) <= MOST_MOVES // 2 else kept[::-2][::-1])]
