"""What a plan's requests would take, as ranges: tokens are guessed from characters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from llmframe.core.outcome import Usage
from llmframe.core.prices import Price

CHARACTERS_PER_TOKEN: Final = 4.0
"""Estimate for English text under today's vocabularies; other scripts have fewer characters a token."""

MOST_CHARACTERS: Final = 5.0
FEWEST_CHARACTERS: Final = 3.0
"""Characters a token between which most texts of European languages lie."""

SHORTER: Final = 0.5
LONGER: Final = 2.0
"""How far the output may be from its estimate where no example shows its length."""

OUTPUT_LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""Parameters that bound one answer's tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlay:
    """Requests to be sent, their characters, and the estimated tokens of one answer.

    Parameters
    ----------
    requests, characters
        Distinct requests, and the characters of all of them together.
    answer_tokens
        Of one answer; above 0.
    shown
        Whether examples show an answer's length.
    most
        Bound of one answer's tokens; `None` without one.
    bytes
        About what all requests have as lines of a batch.
    """

    requests: int
    characters: int
    answer_tokens: int
    shown: bool = False
    most: int | None = None
    bytes: int = 0

    @property
    def input_tokens(self) -> int:
        """About so many in."""
        return int(self.characters / CHARACTERS_PER_TOKEN)

    @property
    def output_tokens(self) -> int:
        """About so many out."""
        return self._output(1.0)

    def usd(self, price: Price, *, batch: bool = False) -> float | None:
        """About so many dollars, live or in a batch; `None` without a price."""
        return price.usd(Usage(self.input_tokens, self.output_tokens, 0), batch=batch)

    def usd_range(self, price: Price, *, batch: bool = False) -> tuple[float, float] | None:
        """Dollars if texts have few tokens and answers are short, and if neither; `None` without a price."""
        shorter, longer = (1.0, 1.0) if self.shown else (SHORTER, LONGER)
        low = price.usd(Usage(int(self.characters / MOST_CHARACTERS), self._output(shorter), 0), batch=batch)
        high = price.usd(Usage(int(self.characters / FEWEST_CHARACTERS), self._output(longer), 0), batch=batch)
        return None if low is None or high is None else (low, high)

    def batches(self, *, lines: int, bytes: float) -> int:  # noqa: A002 - what it counts
        """About so many batches of at most so many lines and bytes each."""
        return max(-(-self.requests // lines), math.ceil(self.bytes / bytes))

    def seconds(self, *, requests_per_minute: float | None, tokens_per_minute: float | None) -> float | None:
        """Seconds that the given limits alone make it last; `None` without a limit."""
        tokens = self.input_tokens + self.output_tokens
        minutes = [
            amount / rate
            for amount, rate in ((self.requests, requests_per_minute), (tokens, tokens_per_minute))
            if rate is not None
        ]
        return 60 * max(minutes) if minutes else None

    def _output(self, factor: float) -> int:
        """Tokens of all answers, each so many times its estimate but within its bound."""
        each = self.answer_tokens * factor
        return round(self.requests * (each if self.most is None else min(each, self.most)))


def most_tokens(params: Mapping[str, object]) -> int | None:
    """The bound of one answer's tokens that `params` set; `None` without one."""
    bounds = [
        value
        for name in OUTPUT_LIMITS
        if isinstance(value := params.get(name), int) and not isinstance(value, bool) and value > 0
    ]
    return min(bounds) if bounds else None
