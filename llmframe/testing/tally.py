"""The counters of a provider, written by its serving thread."""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any

from llmframe.testing.answers import Response
from llmframe.testing.calls import content_text, input_texts
from llmframe.testing.shapes import as_objects
from llmframe.testing.steps import Step


class Tally:
    """Counts and times of model calls, and the records of them when `keep` is set.

    `serving_here` is the thread whose own loop serves, if one does: it can't wait by blocking.
    """

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._changed = threading.Condition()
        self._waiters = 0
        self.in_flight = 0
        self.serving_here: int | None = None
        self.zero()

    def __str__(self) -> str:
        return f"{self.requests} requests, {self.in_flight} in flight, {self.closed_in_flight} closed in flight"

    def zero(self) -> None:
        """Zero every counter but the requests in flight, and empty the records."""
        self.requests = self.closed_in_flight = self.prompt_tokens = self.completion_tokens = 0
        self.max_in_flight = self.in_flight
        self.statuses: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        # 8 bytes a request: they are kept without records too.
        self.arrivals, self.limited_at, self.charges = array("d"), array("d"), array("q")
        self.faults: Counter[Step] = Counter()

    def arrived(self, body: dict[str, Any], headers: dict[str, str], *, at: float) -> None:
        """A model call arrived at the time `at`, seconds of the serving loop."""
        self.requests += 1
        self.arrivals.append(at)
        self.charges.append(0)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        if self._keep:
            self.bodies.append(body)
            self.headers.append(headers)
        self._tell()

    def charged(self, tokens: int) -> None:
        """The call that arrived last was charged this by the limits."""
        self.charges[-1] = tokens

    def limited(self) -> None:
        """The call that arrived last was refused by the limits."""
        self.limited_at.append(self.arrivals[-1])

    def answered(self, answer: Response) -> None:
        """A model call gets this answer, whole or broken off."""
        self.in_flight -= 1
        if answer.ending == "whole":
            self.statuses[answer.status] += 1
            self.prompt_tokens += answer.prompt_tokens
            self.completion_tokens += answer.completion_tokens
        self._tell()

    def left(self, *, by_client: bool) -> None:
        """The connection closed before the answer."""
        self.in_flight -= 1
        self.closed_in_flight += by_client
        self._tell()

    def wait_for(self, reached: Callable[[], bool], timeout: float) -> bool:
        """Block until `reached()` or the end of `timeout` seconds; whether it was reached."""
        with self._changed:
            self._waiters += 1
            try:
                return self._changed.wait_for(reached, timeout)
            finally:
                self._waiters -= 1

    def _tell(self) -> None:
        # A waiter counts itself before it looks, so no change is missed and nobody pays without waiters.
        if self._waiters:
            with self._changed:
                self._changed.notify_all()


def prompt_of(body: dict[str, Any]) -> str:
    """The text of the last user message of a request body, its texts to embed a line each, or an empty string."""
    for message in reversed(as_objects(body.get("messages"))):
        if message.get("role") == "user":
            return content_text(message.get("content"))
    return "\n".join(input_texts(body.get("input")))
