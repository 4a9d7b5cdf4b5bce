"""Seconds that a server asks to wait, from its headers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Seconds to wait, or `None` when the headers say nothing usable.

    `retry-after-ms` goes before `retry-after`, which is seconds or an HTTP date. Junk, negative, infinite and past
    values are no advice: `None`, so that the caller's own back-off decides. There is no cap here.

    Parameters
    ----------
    headers
        Response headers; names are compared without case.
    now
        Seconds since the epoch, asked only for the date form.
    """
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _positive(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = lower.get("retry-after")
    seconds = _positive(value)
    if seconds is not None or value is None:
        return seconds
    return _until(value, now=now)


def _positive(text: str | None) -> float | None:
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _until(text: str, *, now: Callable[[], float]) -> float | None:
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return moment - now() if moment > now() else None
