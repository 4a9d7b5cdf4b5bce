"""What follows a failed attempt: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from llmframe.clients.base import RequestError
from llmframe.clients.refusals import transient

BASE_DELAY: Final = 0.5
"""Seconds: the first transient fault waits up to this long."""

MAX_DELAY: Final = 60.0
"""Seconds: no own delay is longer."""

MAX_RETRY_AFTER: Final = 120.0
"""Seconds: a server that asks for a longer wait ends the run, and the rows say so."""

RATE_LIMIT_SECONDS: Final = 600.0
"""Seconds that a row may wait out rate limits, apart from its attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Ask again after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The row fails with `detail`; `stops_run` when every other row would fail alike."""

    detail: str
    stops_run: bool = False


def decide(  # noqa: PLR0913 - one argument a fact
    error: RequestError,
    *,
    attempts: int,
    max_attempts: int,
    waited: float,
    chance: float,
    doomed: bool,
    spent: float = 0.0,
) -> Retry | GiveUp:
    """Whether a row is asked again after `error`.

    Parameters
    ----------
    attempts
        Attempts so far, this one included, rate limits not counted.
    waited
        Seconds that the row has waited for rate limits so far.
    chance
        A number in [0, 1) from the caller's random source.
    doomed
        Whether the error would meet every row (key, quota, model, refused schema).
    spent
        Seconds that the attempt took.

    Notes
    -----
    Transient faults wait `U(0, min(60, 0.5·2^n))` seconds after the n-th (n from 0): full jitter. A server that
    names a time is never asked earlier: `retry_after·(1 + U(0, 0.25))`. What a timed-out attempt has waited already
    counts as waited.
    """
    if doomed:
        return GiveUp(detail=error.detail, stops_run=True)
    if not transient(error):
        return GiveUp(detail=error.detail)
    asked = error.retry_after
    if asked is not None and asked > MAX_RETRY_AFTER:
        detail = f"{error.detail}; the server asks to wait {asked:.0f} s, more than the {MAX_RETRY_AFTER:.0f} s allowed"
        return GiveUp(detail=detail, stops_run=error.kind == "rate_limit")
    if max_attempts == 1:  # said by someone who wants nothing sent twice, whatever the reason
        return GiveUp(detail=error.detail)
    exponent = min(max(attempts - 1, 0), 10)  # 0.5·2^10 is past the longest; 2^1024 would be past all floats
    delay = asked * (1 + 0.25 * chance) if asked is not None else chance * min(MAX_DELAY, BASE_DELAY * 2**exponent)
    if error.kind == "timeout":
        delay = max(0.0, delay - spent)
    if error.kind == "rate_limit":
        if waited + delay > RATE_LIMIT_SECONDS:
            return GiveUp(detail=f"{error.detail}; waited {waited:.0f} s for the limit")
        return Retry(delay=delay)
    if attempts >= max_attempts:
        tries = f" (after {attempts} attempts)" if attempts > 1 else ""
        return GiveUp(detail=error.detail + tries)
    return Retry(delay=delay)
