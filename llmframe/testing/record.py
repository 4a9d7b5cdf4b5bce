"""What a provider has seen, countable and waitable from any thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from llmframe.errors import UsageError
from llmframe.testing.steps import Step
from llmframe.testing.tally import Tally, prompt_of

WAIT_SECONDS = 60.0
"""How long the `wait_…` methods wait by default: what has to come comes on a busy machine too."""


class Record:
    """The reading side of a `Tally`."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    @property
    def requests(self) -> int:
        """Model calls that arrived, refused ones included."""
        return self._tally.requests

    @property
    def in_flight(self) -> int:
        """Model calls without an answer now."""
        return self._tally.in_flight

    @property
    def max_in_flight(self) -> int:
        """The highest value of `in_flight`."""
        return self._tally.max_in_flight

    @property
    def closed_in_flight(self) -> int:
        """Model calls whose client closed the connection before the answer."""
        return self._tally.closed_in_flight

    @property
    def statuses(self) -> Counter[int]:
        """How often each HTTP status was answered; cut and reset connections count in none."""
        return Counter(self._tally.statuses)

    @property
    def prompt_tokens(self) -> int:
        """Sum of `usage.prompt_tokens` over the answers that told it, whole and readable."""
        return self._tally.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        """Sum of `usage.completion_tokens` over the answers that told it, whole and readable."""
        return self._tally.completion_tokens

    @property
    def arrivals(self) -> list[float]:
        """When each model call arrived, refused ones included: seconds of the serving loop's `time()`."""
        return list(self._tally.arrivals)

    @property
    def limited_at(self) -> list[float]:
        """When those arrived that the provider's own limits answered with 429; a scripted 429 isn't one."""
        return list(self._tally.limited_at)

    @property
    def charges(self) -> list[int]:
        """Tokens that a token limit charges each model call for, beside `arrivals`; 0 for a refused one."""
        return list(self._tally.charges)

    @property
    def faults(self) -> Counter[Step]:
        """How often each step was given: `provider.faults[Status(500)]`.

        A plain value of `answer` is no step, and what the limits refuse has none.
        """
        return Counter(self._tally.faults)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The request bodies in order of arrival; `{}` for one that was no JSON object."""
        return list(self._tally.bodies)

    @property
    def headers(self) -> list[dict[str, str]]:
        """The request headers in order of arrival, names in lower case."""
        return list(self._tally.headers)

    @property
    def prompts(self) -> list[str]:
        """The last user message of each request, in order of arrival."""
        return [prompt_of(body) for body in self._tally.bodies]

    def wait_requests(self, n: int, *, timeout: float = WAIT_SECONDS) -> None:
        """Block until `n` requests have arrived; `TimeoutError` after `timeout` seconds."""
        self._wait(lambda: self._tally.requests >= n, f"{n} requests", timeout)

    def wait_in_flight(self, n: int, *, timeout: float = WAIT_SECONDS) -> None:
        """Block until `n` requests at least are in flight; `TimeoutError` after `timeout` seconds."""
        self._wait(lambda: self._tally.in_flight >= n, f"{n} in flight", timeout)

    def wait_idle(self, *, timeout: float = WAIT_SECONDS) -> None:
        """Block until none is in flight; `TimeoutError` after `timeout` seconds."""
        self._wait(lambda: self._tally.in_flight == 0, "none in flight", timeout)

    def wait_closed(self, n: int = 1, *, timeout: float = WAIT_SECONDS) -> None:
        """Block until the client has closed `n` requests in flight; `TimeoutError` after `timeout` seconds."""
        self._wait(lambda: self._tally.closed_in_flight >= n, f"{n} closed in flight", timeout)

    def _wait(self, reached: Callable[[], bool], goal: str, timeout: float) -> None:
        if self._tally.serving_here == threading.get_ident() and not reached():
            msg = f"waiting for {goal} blocks the loop that serves; `await asyncio.sleep(…)` until the counter says so"
            raise UsageError(msg)
        if not self._tally.wait_for(reached, timeout):
            raise TimeoutError(f"waited {timeout:g} s for {goal}; now {self._tally}")
