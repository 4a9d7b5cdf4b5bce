"""The number of requests that one endpoint, key and model answers without slowing down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Final, Literal

from llmframe.engine.rounds import Baseline, Round, Times, slower
from llmframe.options import CONCURRENCY_BOUND

Reason = Literal["slow start", "gradient", "429", "idle"]
"""Why a limit moved."""

LEAST_ROUND: Final = 10
"""Replies in a round at least; otherwise as many as may be in flight."""

START_ROUND: Final = 25
"""Replies in a round at most in the slow start: it overshoots further with every reply that is waited for."""

TOLERANCE: Final = 1.1
"""How many times the baseline a round may take before it counts as slow."""

ALARM: Final = 2.0
"""In the slow start a round of n replies is slow from 1 + ALARM·√(1/n + 1/N) times a baseline of N replies, some four
standard errors of lognormal times with a spread of .5; two such rounds in a row end it."""

SMOOTHING: Final = 0.2
"""Part of the way to a round's new limit that is gone at once."""

USED: Final = 0.8
"""Part of the limit that must have been in flight for it to grow."""

MOST_HASTE: Final = 4.0
"""Growth after many rounds without slowness, in multiples of the growth after one."""

CUT: Final = 0.8
"""What a 429 leaves of the limit."""

CUT_SECONDS: Final = 2.0
"""Time from one cut to the next at least; twice the typical reply where that is more."""

NEAR: Final = 0.95
"""Part of the limit that met a 429 from which growth is careful again."""

CARE: Final = 8.0
"""How many times slower growth is where it is careful: every 429 costs all calls a cooldown."""

DIP: Final = 0.7
"""Part of the limit that is left while it is found out whether slowness is our own doing."""

DIP_ROUND: Final = 25
"""Replies that decide at least."""

DIP_AFTER: Final = 3
"""Slow rounds, less the others among them, that lead to a dip."""

DIP_ROUNDS: Final = 20
"""Rounds from one dip to the next at least."""

STILL_CHANGING: Final = 1.2
"""How many times slower replies must be in a dip than before it for it to tell nothing, but to be repeated soon."""

IDLE_SECONDS: Final = 60.0
"""Time without a reply after which baselines are stale."""


class Concurrency:
    """An adaptive limit of requests in flight; times are seconds of the caller's clock.

    Parameters
    ----------
    start
        Requests in flight at the beginning.
    least, most
        Bounds of the limit; unless `wanted` says more, it stays below 256 as well.

    Notes
    -----
    It starts as TCP does, one more with each reply, hence twice as many with each round trip, till replies slow
    down or a 429 comes. From then on it follows Netflix' Gradient2 by rounds of `max(limit, 10)` replies:
    `new = limit·clamp(1.1·baseline/round, .5, 1) + √limit`, smoothed. A round's time is the geometric mean of its
    replies', for one straggler must not look like a slow server; it is taken as it is and per output token, and
    counts as slow when both are: longer replies take longer, and that is no congestion.

    The baseline learns from rounds that aren't slow. So it can't creep upwards on a server that is full, but it
    can't follow one that has become slower by itself either: after a few slow rounds the limit dips, and if replies
    don't get faster by it, their time is the new baseline.

    A 429 cuts the limit to 0.8; it goes back half of the way with each round, then creeps past the limit that was
    too much, then grows as ever (the search of BIC-TCP: Xu, Harfoush, Rhee, INFOCOM 2004).
    """

    __slots__ = (
        "_alarmed",
        "_baseline",
        "_begin",
        "_calm",
        "_ceiling",
        "_cut_at",
        "_dip",
        "_heard_at",
        "_heavy",
        "_last_peak",
        "_least",
        "_limit",
        "_most",
        "_peak",
        "_peak_since",
        "_rises",
        "_room",
        "_round",
        "_since",
        "_since_dip",
        "_start",
        "_typical",
        "_unslowed",
    )

    def __init__(self, *, start: int = 8, least: int = 1, most: float = inf) -> None:
        self._start, self._least, self._room = start, least, most
        self._most = min(CONCURRENCY_BOUND, most)
        self._limit = float(min(max(start, least), self._most))
        self._heard_at = self._cut_at = -inf
        self._start_over()

    @property
    def limit(self) -> int:
        """Requests that may be in flight now, from `least` to `most`."""
        return int(self._limit)

    def wanted(self, places: Iterable[int]) -> None:
        """Running calls want as many in flight at most: the limit may grow to more than usual when one does."""
        self._most = min(max(CONCURRENCY_BOUND, *places, 0), self._room)
        self._move(self._limit)

    @property
    def typical(self) -> float:
        """Seconds of a typical reply; 0.0 before the first round has ended."""
        return self._typical

    def succeeded(
        self, *, now: float, sent_at: float, seconds: float, in_flight: int, output_tokens: int | None
    ) -> Reason | None:
        """Take note of a reply that came after `seconds`; returns why the limit moved, `None` when it didn't.

        `in_flight` counts the requests in flight when it ended, this one included.
        """
        before = self.limit
        self._heard_at = now
        self._see(in_flight, sent_at=sent_at, now=now)
        if sent_at < self._since:
            return None
        self._round.add(seconds, output_tokens, sent_at=sent_at)
        starting = self._rises is not None
        if self._rises is not None and not self._alarmed and self._round.may_grow:
            self._rise(now)
        self._end_round(now)
        if self.limit == before:
            return None
        return "slow start" if starting and self.limit > before else "gradient"

    def faulted(self, *, now: float, sent_at: float) -> Reason | None:
        """Take note of a 5xx, a timeout or a lost connection; returns as `succeeded`, for it may end a round.

        Its time says nothing; when such are more than a quarter of a round, the limit doesn't grow in it.
        """
        before = self.limit
        self._heard_at = now
        if sent_at < self._since:
            return None
        self._round.faults += 1
        self._end_round(now)
        return None if self.limit == before else "gradient"

    def limited(self, *, now: float, sent_at: float, in_flight: int | None = None) -> Reason | None:
        """Take note of a 429; returns as `succeeded`.

        Requests sent before the last cut don't count. `in_flight` as in `succeeded`: where fewer were in flight
        than the limit allows, already they were too many.
        """
        before = self.limit
        self._heard_at = now
        if sent_at <= self._cut_at or now - self._cut_at < max(CUT_SECONDS, 2 * self._typical):
            return None
        too_much = self._limit if in_flight is None else min(self._limit, max(in_flight, 1))
        falling = self._ceiling is not None and too_much < NEAR * self._ceiling
        self._ceiling = None if falling else too_much  # a server that lets less and less pass is not searched
        self._cut_at = now
        self._rises = self._dip = None
        self._heavy = self._calm = 0
        self._move(CUT * too_much)
        self._next_round(since=now)
        return None if self.limit == before else "429"

    def idle(self, now: float) -> Reason | None:
        """Say that a request is about to be sent while none is in flight; returns as `succeeded`.

        After a minute without a reply all that was known is stale: it starts anew, with no more than at first.
        """
        if now - self._heard_at < IDLE_SECONDS or self._heard_at == -inf:
            return None
        before = self.limit
        self._move(min(self._limit, self._start))
        self._start_over()
        return None if self.limit == before else "idle"

    def _start_over(self) -> None:
        self._begin = self._limit
        self._rises: list[float] | None = []
        self._alarmed = False
        self._baseline = Baseline()
        self._typical = 0.0
        self._ceiling: float | None = None
        self._dip: _Dip | None = None
        self._heavy = self._calm = 0
        self._unslowed = self._limit
        self._since_dip = DIP_ROUNDS
        self._since = -inf
        self._peak = self._last_peak = 0
        self._peak_since = -inf
        self._round = Round(LEAST_ROUND)

    def _see(self, in_flight: int, *, sent_at: float, now: float) -> None:
        """Keep the most in flight of this round trip and the last; replies may come all at once, then it falls to 1."""
        if sent_at >= self._peak_since:
            self._last_peak, self._peak, self._peak_since = self._peak, 0, now
        self._peak = max(self._peak, in_flight)

    @property
    def _in_use(self) -> int:
        return max(self._last_peak, self._peak)

    @property
    def _held(self) -> float:
        """The limit, or what was in flight where callers hold themselves to fewer: that much is what was slow."""
        return min(self._limit, max(self._in_use, self._least))

    def _next_round(self, *, since: float | None = None) -> None:
        """Begin a round; replies to what was sent before `since` belong to none, they tell of another limit."""
        if since is not None:
            self._since = since
        size = max(self.limit, LEAST_ROUND)
        if self._rises is not None:
            size = min(size, START_ROUND)
        elif self._dip is not None and self._dip.is_settled:
            size = max(size, DIP_ROUND)
        self._round = Round(size)

    def _move(self, limit: float) -> None:
        self._limit = min(max(limit, float(self._least)), float(self._most))

    def _rise(self, now: float) -> None:
        """One step of the slow start, to twice what was in flight at most, as TCP does."""
        if self._rises is not None and self._limit < min(self._most, 2 * self._in_use):
            self._move(self._limit + 1)
            self._rises.append(now)

    def _end_round(self, now: float) -> None:
        done = self._round
        if not done.is_full:
            return
        if not done.replies:
            self._next_round()
            return
        times = done.times()
        self._typical = exp(times.seconds)
        if self._rises is not None:
            self._end_start_round(times, self._rises, now)
        elif self._dip is not None:
            self._end_dip_round(times, self._dip)
        else:
            self._end_steady_round(times, now)

    def _end_start_round(self, times: Times, rises: list[float], now: float) -> None:
        done, slowness = self._round, self._baseline.slowness(times)
        slow = slowness > log(1 + ALARM * sqrt(1 / done.replies + 1 / max(self._baseline.replies, 1)))
        if slow and self._alarmed:
            sent_with = min(self._begin + bisect_right(rises, done.sent_at), self._held)
            self._rises = None
            self._move(min(self._limit, _fitting(sent_with, slowness)))
            self._next_round(since=now)
            return
        self._alarmed = slow
        if not slow:
            self._baseline.learn(times)
        self._next_round()

    def _end_steady_round(self, times: Times, now: float) -> None:
        slowness = self._baseline.slowness(times)
        used = self._in_use > USED * self._limit
        self._since_dip += 1
        if slowness <= log(TOLERANCE):
            self._baseline.learn(times)
            self._heavy = max(0, self._heavy - 1)
            self._calm += 1
        else:
            if not self._heavy:
                self._unslowed = self._limit
            self._heavy += 1
            self._calm = 0
            if used and self._heavy >= DIP_AFTER and self._since_dip >= DIP_ROUNDS:
                self._dip = _Dip(max(self._limit, self._unslowed), times)
                self._move(DIP * self._held)
                self._next_round(since=now)
                return
        gradient = min(max(exp(-slowness) * TOLERANCE, 0.5), 1.0)
        held = self._held
        step = SMOOTHING * (held * gradient + sqrt(held) - held)
        if step < 0:
            self._move(held + step)
        elif used and self._round.may_grow:
            self._move(self._limit + self._growth(step))
        self._next_round()

    def _growth(self, step: float) -> float:
        """What becomes of a step upwards with what is known of 429s, and of the time without slowness."""
        if self._ceiling is not None:
            near = NEAR * self._ceiling
            if self._limit < near:
                return max(step, min((self._ceiling - self._limit) / 2, near - self._limit))
            if self._limit < self._ceiling / NEAR:
                return step / CARE
            self._ceiling = None
        return step * min(MOST_HASTE, 1 + self._calm / 4)

    def _end_dip_round(self, times: Times, dip: _Dip) -> None:
        if not dip.is_settled:  # the first replies to what was sent since are the fast ones
            dip.is_settled = True
            self._next_round()
            return
        self._dip = None
        self._heavy = self._since_dip = 0
        change = slower(times, dip.times)
        if change < log(DIP) / 2:
            slowness = self._baseline.slowness(times)
            if slowness < 0:
                self._baseline.learn(times, weight=0.5)
            self._move(min(dip.limit, _fitting(self._limit, max(slowness, 0.0))))
        else:
            if change > log(STILL_CHANGING):
                self._since_dip = DIP_ROUNDS - DIP_AFTER
            else:
                self._baseline = Baseline(times)
            self._move(dip.limit)
        self._next_round()


def _fitting(sent_with: float, slowness: float) -> float:
    """The limit at which replies wouldn't have been slow, by Little's law, and the queue that is allowed."""
    return sent_with * exp(-slowness) * TOLERANCE + sqrt(sent_with)


@dataclass(slots=True)
class _Dip:
    """The limit to go back to, and the times before it."""

    limit: float
    times: Times
    is_settled: bool = False
