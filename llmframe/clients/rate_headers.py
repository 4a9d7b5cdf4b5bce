"""What response headers tell about limits: OpenAI's and Anthropic's names, in every form that servers write."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from llmframe.core.ratelimits import Allowance, RateLimits

LONGEST_MINUTE_S = 150.0
"""A limit that takes longer to become whole counts over another period than a minute."""

_MARK = "ratelimit"
_KINDS = ("requests", "tokens", "input_tokens", "output_tokens")
_PARTS = ("limit", "remaining", "reset")
_PLACES = MappingProxyType(
    {f"x-ratelimit-{part}-{kind}": (kind, part) for kind in _KINDS[:2] for part in _PARTS}
    | {f"anthropic-ratelimit-{kind.replace('_', '-')}-{part}": (kind, part) for kind in _KINDS for part in _PARTS}
)

_HUGE = 1e12  # a limit like this means none
_LONGEST_RESET_S = 400 * 86_400.0  # beyond a month's quota nothing is known that resets
_EPOCH_S = 1e9  # plain seconds don't reach it, dates since 2001 do
_LONGEST_TEXT = 64
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_SPAN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(d|h|ms|m|s|us|µs|μs|ns)")
_SPANS = re.compile(rf"(?:{_SPAN.pattern})+")
_UNIT_S = MappingProxyType(
    {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
)
# Anthropic's dates and other whole seconds are rounded; the period is judged by what is certain of them.
_ROUNDING_S = 1.0


def read(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> RateLimits | None:
    """The limits that `headers` tell, or `None` when they tell none; junk counts as unsaid.

    Parameters
    ----------
    headers
        Response headers; names are compared without case, of a name given twice the first counts.
    now
        Seconds since the epoch, asked only where a reset is a moment.

    Returns
    -------
    RateLimits or None
        Values finite and ≥ 0. Negative numbers (Azure's -1 for unknown), NaN, infinite and absurd ones are `None`. So
        is a `limit` over another period than a minute, as on free tiers that count requests by the day: told by a
        reset that fits no minute, `reset · limit / (limit - remaining)` above `LONGEST_MINUTE_S`.
    """
    if _MARK not in "\n".join(headers).lower():
        return None
    said: dict[str, dict[str, str]] = {}
    for name, value in headers.items():
        place = _PLACES.get(name.lower())
        if place is not None and isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - an SDK's
            said.setdefault(place[0], {}).setdefault(place[1], value)
    found = {kind: allowance for kind, parts in said.items() if (allowance := _allowance(parts, now)) is not None}
    return RateLimits(**found) if found else None


def _allowance(parts: dict[str, str], now: Callable[[], float]) -> Allowance | None:
    limit, remaining = _number(parts.get("limit")), _number(parts.get("remaining"))
    text = parts.get("reset")
    reset = None if text is None else _reset(text, now)
    if limit is None and remaining is None and reset is None:
        return None
    if limit is not None and remaining is not None and reset is not None and limit > remaining:
        certain = reset if "." in (text or "") or (text or "").endswith("ms") else reset - _ROUNDING_S
        if certain * limit / (limit - remaining) > LONGEST_MINUTE_S:
            limit = None
    return Allowance(limit, remaining, reset)


def _number(text: str | None) -> float | None:
    if text is None or len(text) > _LONGEST_TEXT:
        return None
    value = _float(text)
    if value is None and ("," in text or ";" in text):
        # Thousands, or a list: what a proxy joins from two headers, and forms like `100;w=60`.
        plain = text.strip()
        first = plain.replace(",", "") if _THOUSANDS.fullmatch(plain) else re.split("[,;]", plain, maxsplit=1)[0]
        value = _float(first)
    return value if value is not None and 0 <= value < _HUGE else None


def _reset(text: str, now: Callable[[], float]) -> float | None:
    if len(text) > _LONGEST_TEXT:
        return None
    text = text.strip().lower()
    # The two commonest forms first: with both limits told this function is half of all reading.
    unit = -2 if text.endswith("ms") else -1
    seconds = _float(text[:unit] if text.endswith("s") else text)
    if seconds is not None and text.endswith("s"):
        seconds = seconds / 1000 if unit == -2 else seconds  # noqa: PLR2004 - "ms"
    elif seconds is None:
        seconds = _span(text) if _SPANS.fullmatch(text) else _until(text, now)
    elif seconds >= _EPOCH_S:
        moment = seconds / 1000 if seconds >= _EPOCH_S * 1000 else seconds
        seconds = max(0.0, moment - now())
    return seconds if seconds is not None and 0 <= seconds <= _LONGEST_RESET_S else None


def _span(text: str) -> float:
    return sum(float(amount) * _UNIT_S[unit] for amount, unit in _SPAN.findall(text))


def _until(text: str, now: Callable[[], float]) -> float | None:
    try:
        moment = datetime.fromisoformat(text.upper())
        seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds - now())


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
