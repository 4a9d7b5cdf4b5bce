"""When a provider seems dead: pauses, and one request at a time to see whether it is back."""

from __future__ import annotations

from typing import Final

OPENS_AFTER: Final = 20
"""Failed attempts in a row, of whatever kinds, without an answer between, that look like an outage."""

FIRST_PAUSE: Final = 0.5
"""Seconds before the first probe; every failed probe doubles the pause."""

MAX_PAUSE: Final = 15.0
"""Seconds: the longest pause between two probes."""

OUTAGE_SECONDS: Final = 600.0
"""Seconds that a run waits for a provider that has answered it before."""

LIMITED_SECONDS: Final = 1800.0
"""Seconds that a run waits for an answer while all that comes are 429s: a row gives up after a third of it, but at one
request a minute it would take days until all had."""

NEVER_ANSWERED_PROBES: Final = 4
"""Failed probes after which a provider that has never answered is given up."""


class Breaker:
    """Counts the transient faults of one run at one endpoint; times are seconds of the caller's clock.

    429s never open it, nor does a row that fails again although others were answered since its first failure: that's
    the row's own trouble.

    Attributes
    ----------
    answers
        Answers so far.
    opened_at
        When the provider began to seem dead; `None` while it doesn't.
    """

    __slots__ = ("_failures", "_limited_since", "_probes", "answers", "opened_at")

    def __init__(self) -> None:
        self.answers = 0
        self._failures = 0
        self.opened_at: float | None = None
        self._probes = 0
        self._limited_since: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the provider seems dead."""
        return self.opened_at is not None

    def limited(self, now: float) -> bool:
        """A 429 came; returns whether they have been all that came for longer than a run waits."""
        if self._limited_since is None:
            self._limited_since = now
        return now - self._limited_since >= LIMITED_SECONDS

    def answered(self, *, limited: bool = False) -> bool:
        """An answer came, or a 429 when `limited`; returns whether that ends an outage."""
        self.answers += 1
        if not limited:
            self._limited_since = None
        self._failures = 0
        was_open, self.opened_at = self.is_open, None
        return was_open

    def failed(self, *, probe: bool, answers_before: int | None, now: float) -> float | None:
        """An attempt failed; returns the seconds of a pause that begins now.

        Parameters
        ----------
        probe
            Whether the attempt was sent during an outage.
        answers_before
            `answers` when the same row failed for the first time, `None` when it does now.
        """
        if self.is_open:
            if not probe:
                return None
            self._probes += 1
            return min(MAX_PAUSE, FIRST_PAUSE * 2.0**self._probes)
        if self.is_own_trouble(answers_before):
            return None
        self._failures += 1
        if self._failures < OPENS_AFTER:
            return None
        self.opened_at, self._probes = now, 0
        return FIRST_PAUSE

    def is_own_trouble(self, answers_before: int | None) -> bool:
        """Whether others were answered since a row failed for the first time."""
        return answers_before is not None and self.answers > answers_before

    def hopeless(self, now: float) -> bool:
        """Whether the outage has lasted too long to wait for its end."""
        if self.opened_at is None:
            return False
        if not self.answers:
            return self._probes >= NEVER_ANSWERED_PROBES
        return now - self.opened_at >= OUTAGE_SECONDS
