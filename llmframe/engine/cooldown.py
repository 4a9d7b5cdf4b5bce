"""One pause for all after a 429, and a ramp after the pause."""

from __future__ import annotations

from typing import Final

MAX_COOLDOWN: Final = 60.0
"""Seconds: the longest cooldown of our own choosing."""

FULL_RAMP: Final = 256
"""Requests in flight from which the ramp after a cooldown is over."""


class Cooldown:
    """When requests may go again after a 429; times are seconds of the caller's clock.

    Attributes
    ----------
    generation
        Cooldowns begun so far; a request belongs to the one that it was sent in.
    ramp
        Requests that may be in flight after a cooldown, `None` when it's over.
    closed_until
        Until then nothing goes.
    """

    __slots__ = ("_episodes", "closed_until", "generation", "ramp")

    def __init__(self) -> None:
        self._episodes = 0
        self.generation = 0
        self.ramp: int | None = None
        self.closed_until = 0.0

    def succeeded(self, *, generation: int) -> None:
        """The server answered a request of `generation`: the ramp doubles, the next cooldown starts short again.

        An answer to a request that left before the last cooldown began says nothing about how it goes after it.
        """
        if generation == self.generation:
            self._episodes = 0
            if self.ramp is not None:
                self.ramp = None if self.ramp * 2 > FULL_RAMP else self.ramp * 2

    def limited(self, retry_after: float | None, *, generation: int, now: float) -> bool:
        """The server said 429 to a request of `generation`; returns whether that begins another cooldown.

        All requests wait `retry_after`, and at least `min(60, 2^k)` seconds after the k-th episode in a row when the
        server named no time or its time wasn't enough. A request that left before the last cooldown began doesn't
        count as another episode.
        """
        if generation != self.generation:
            if retry_after is not None:
                self.closed_until = max(self.closed_until, now + retry_after)
            return False
        own = min(MAX_COOLDOWN, 2.0 ** min(self._episodes, 10)) if retry_after is None or self._episodes else 0.0
        self._episodes += 1
        self.restart()
        self.closed_until = max(self.closed_until, now + max(own, retry_after or 0.0))
        return True

    def restart(self) -> None:
        """Begin another generation, one request at a time at first."""
        self.generation += 1
        self.ramp = 1
