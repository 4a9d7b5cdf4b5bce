"""What a server says about its limits, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allowance:
    """One limit as a server told it beside an answer.

    Parameters
    ----------
    limit
        Allowed per minute; `None` when unsaid, or when the server's period isn't a minute.
    remaining
        What is left of it now, ≥ 0; `None` when unsaid.
    reset
        Seconds until it is whole again, ≥ 0; `None` when unsaid.
    """

    limit: float | None
    remaining: float | None
    reset: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """The limits told beside one answer; `None` for what it doesn't mention.

    Parameters
    ----------
    requests
        Requests.
    tokens
        Tokens in and out together.
    input_tokens, output_tokens
        Tokens where a server counts the directions apart.
    """

    requests: Allowance | None = None
    tokens: Allowance | None = None
    input_tokens: Allowance | None = None
    output_tokens: Allowance | None = None
