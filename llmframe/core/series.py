"""What a run did over its time, as values: counts by bucket of time, moves of the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SLOW_START: Final = "slow start"
"""The reason of the moves that double the limit until the first sign of congestion: told as one move."""


@dataclass(frozen=True, slots=True)
class LimitMove:
    """The limit of requests in flight became `limit`, `seconds` after the run's start, because of `reason`."""

    seconds: float
    limit: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What happened in each bucket of a run's time; all tuples are equally long.

    Attributes
    ----------
    width
        Seconds of a bucket; the first one begins with the run.
    seconds
        Until when it was told, from there: the last bucket isn't over.
    sent, answered, tokens
        Requests that went out, that came back with an answer, and the tokens (in and out) of those.
    rate_limited, faults
        Requests that ended with a 429, and with any other fault.
    in_flight
        The most requests in flight at one time in the bucket.
    limit
        The limit of requests in flight at the bucket's end; 0 where none was told.
    """

    width: float = 1.0
    seconds: float = 0.0
    sent: tuple[int, ...] = ()
    answered: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()
    rate_limited: tuple[int, ...] = ()
    faults: tuple[int, ...] = ()
    in_flight: tuple[int, ...] = ()
    limit: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, float | list[int]]:
        """Plain values, for JSON."""
        return {
            "width": self.width,
            "seconds": self.seconds,
            "sent": list(self.sent),
            "answered": list(self.answered),
            "tokens": list(self.tokens),
            "rate_limited": list(self.rate_limited),
            "faults": list(self.faults),
            "in_flight": list(self.in_flight),
            "limit": list(self.limit),
        }
