"""The number of requests that one endpoint, key and model answers without slowing down."""

from __future__ import annotations

from typing import Literal

Reason = Literal["slow start", "gradient", "429", "idle"]
"""Why a limit moved."""


class Concurrency:
    """An adaptive limit of requests in flight; times are seconds of the caller's clock.

    Parameters
    ----------
    start
        Requests in flight at the beginning.
    least, most
        Bounds of the limit.
    """

    def __init__(self, *, start: int = 8, least: int = 1, most: int = 256) -> None:
        raise NotImplementedError

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        raise NotImplementedError

    def succeeded(
        self, *, now: float, sent_at: float, seconds: float, in_flight: int, output_tokens: int | None
    ) -> Reason | None:
        """Take note of a reply that came after `seconds`; returns why the limit moved, `None` when it didn't.

        `in_flight` counts the requests in flight when it ended, this one included.
        """
        raise NotImplementedError

    def faulted(self, *, now: float, sent_at: float) -> None:
        """Take note of a 5xx, a timeout or a lost connection."""
        raise NotImplementedError

    def limited(self, *, now: float, sent_at: float) -> Reason | None:
        """Take note of a 429."""
        raise NotImplementedError

    def idle(self, now: float) -> Reason | None:
        """Say that a request is about to be sent while none is in flight: a long pause makes what was known stale."""
        raise NotImplementedError
