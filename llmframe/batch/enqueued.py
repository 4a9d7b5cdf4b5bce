"""The provider's queue of tokens: who goes over its limit isn't refused but fails later, so it's kept here."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from llmframe.clients.batch import BatchState

TOKEN_LIMIT_CODES: Final = frozenset({"token_limit_exceeded"})

SAFE_SHARE: Final = 0.95
"""Part of the limit that is used: our tokens are estimates."""

HALVINGS: Final = 3
"""Times that batches are made smaller than the limit that was told: a token a character is four times our estimate."""

_LIMIT: Final = re.compile(r"limit:?\s*([\d,_.]*\d)\s+enqueued tokens", re.IGNORECASE)


class Queue:
    """Estimated tokens of our batches that the provider has and hasn't ended with, against its limit.

    The limit isn't known until a batch fails of it; what its message says counts, or else what was enqueued then.

    Attributes
    ----------
    limit
        Tokens that may be enqueued; `None` as long as nobody knows.
    """

    def __init__(self) -> None:
        self.limit: float | None = None
        self._halved = 0
        self._held: dict[str, int] = {}
        self._freed = asyncio.Event()

    async def enter(self, intent: str, tokens: int) -> None:
        """Wait until a batch of so many tokens has room; one that is alone may always try."""
        while self.limit is not None and self._held and sum(self._held.values()) + tokens > self.limit:
            self._freed.clear()
            await self._freed.wait()
        self._held[intent] = tokens

    def leave(self, intent: str) -> None:
        """The provider has ended with it, or refused it."""
        if self._held.pop(intent, None) is not None:
            self._freed.set()

    def refused(self, intent: str, state: BatchState) -> bool:
        """The provider refused a batch for the length of its queue; returns whether it had none of our others."""
        told = limit_told(state)
        others = sum(tokens for each, tokens in self._held.items() if each != intent)
        if told is not None:
            self.limit = SAFE_SHARE * told
        elif others:
            self.limit = others if self.limit is None else min(self.limit, others)
        self.leave(intent)
        return not others

    def halve(self, tokens: int) -> bool:
        """Batches of so many of our tokens don't fit, whatever was told of the limit; whether smaller ones may.

        Our estimate of a language's tokens may be a few times too low; a queue that others fill is no reason to send
        single lines.
        """
        if self._halved == HALVINGS:
            return False
        self._halved += 1
        self.limit = tokens / 2 if self.limit is None else min(self.limit, tokens / 2)
        return True

    async def freed(self) -> None:
        """Wait until one of our batches ends; for ever when there is none."""
        self._freed.clear()
        await self._freed.wait()

    @property
    def alone(self) -> bool:
        """Whether the provider has none of ours."""
        return not self._held


def is_token_limit(state: BatchState) -> bool:
    """Whether a batch failed only because the provider's queue was full."""
    return state.phase == "failed" and any(problem.code in TOKEN_LIMIT_CODES for problem in state.problems)


def limit_told(state: BatchState) -> int | None:
    """The limit that the provider's message names, in tokens."""
    for problem in state.problems:
        found = _LIMIT.search(problem.message)
        if found is not None:
            return int(re.sub(r"\D", "", found[1]))
    return None
