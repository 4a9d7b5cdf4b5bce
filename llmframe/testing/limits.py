"""Whom a simulated provider lets in, and the 429 for whom it doesn't."""

from __future__ import annotations

from typing import Literal

from llmframe.errors import UsageError
from llmframe.testing.answers import Response, error
from llmframe.testing.http import Exchange
from llmframe.testing.throttle import Throttle

Told = bool | Literal["retry-after"]
"""What the headers tell about limits: everything, nothing, or on a 429 alone how long to wait."""


class Limits:
    """Requests and tokens a minute, and requests worked on at once."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        max_concurrency: int | None,
        told: Told,
    ) -> None:
        if told not in {True, False, "retry-after"}:
            msg = f"limit_headers={told!r}; give True, False or 'retry-after'"
            raise UsageError(msg)
        self._rates = (requests_per_minute, tokens_per_minute)
        self._max_concurrency = max_concurrency
        self._told: Told = told
        self._working = 0
        self.fill()

    def fill(self) -> None:
        """Fill both buckets."""
        requests, tokens = self._rates
        self._throttle = Throttle(requests_per_minute=requests, tokens_per_minute=tokens)

    def admit(self, exchange: Exchange, *, tokens: int, now: float) -> tuple[Response | None, dict[str, str]]:
        """The 429 for a request, or `None`, and the headers of the answer that it then gets."""
        if self._max_concurrency is not None and self._working >= self._max_concurrency:
            message = f"Too many requests in flight; {self._max_concurrency} are worked on at once."
            return error(429, message, code="rate_limit_exceeded"), {}
        verdict = self._throttle.admit(tokens=tokens, now=now)
        headers = self._visible(verdict.headers)
        if verdict.wait > 0:
            message = f"Rate limit reached. Please try again in {verdict.wait:.3f}s."
            return error(429, message, code="rate_limit_exceeded", headers=headers), {}
        if self._max_concurrency is not None:
            self._working += 1
            exchange.admitted = True
        return None, headers

    def leave(self, exchange: Exchange) -> None:
        """A request has its answer, or is given up."""
        if exchange.admitted:
            exchange.admitted = False
            self._working -= 1

    def _visible(self, headers: dict[str, str]) -> dict[str, str]:
        if self._told is True or not headers:
            return headers
        return {name: text for name, text in headers.items() if self._told and name.startswith("retry-after")}
