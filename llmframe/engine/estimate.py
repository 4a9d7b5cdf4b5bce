"""Token estimates of one endpoint and model, learnt from what its replies cost."""

from __future__ import annotations

from math import sqrt
from typing import Final

from llmframe.core.outcome import Usage

TOKENS_PER_CHARACTER: Final = 0.25
"""Of English prose; the first reply corrects it, to about 1 where texts are Chinese."""

OUTPUT_TOKENS: Final = 64
"""Tokens of a reply as long as too few are known."""

KNOWN_FROM: Final = 5
"""Replies from which their own mean and spread are believed."""

LEAST_WEIGHT: Final = 0.05
"""Weight of the newest reply; the n-th weighs 1/n as long as that is more, a plain mean at first."""


class Estimate:
    """What a request will be charged before its reply says so; providers that charge otherwise say it in headers."""

    __slots__ = ("_inputs", "_outputs", "_ratio", "_mean", "_variance")

    def __init__(self) -> None:
        self._ratio = TOKENS_PER_CHARACTER
        self._inputs = self._outputs = 0
        self._mean = self._variance = 0.0

    def input(self, characters: int) -> int:
        """Tokens of a prompt of so many characters, at least 1."""
        return max(1, round(characters * self._ratio))

    def output(self, max_tokens: int | None) -> int:
        """Tokens of a reply, at least 1 and at most `max_tokens`: the mean so far and two standard deviations.

        Until five replies are known it is 64.
        """
        expected = self._mean + 2 * sqrt(self._variance) if self._outputs >= KNOWN_FROM else OUTPUT_TOKENS
        return max(1, round(expected if max_tokens is None else min(max_tokens, expected)))

    def learn(self, characters: int, usage: Usage) -> None:
        """Take note of a reply's usage; what is unknown, and prompts without a character, teach nothing."""
        if usage.input_tokens is not None and characters > 0:
            self._inputs += 1
            self._ratio += _weight(self._inputs) * (usage.input_tokens / characters - self._ratio)
        if usage.output_tokens is not None:
            self._outputs += 1
            weight = _weight(self._outputs)
            difference = usage.output_tokens - self._mean
            self._mean += weight * difference
            self._variance = (1 - weight) * (self._variance + weight * difference * difference)


def _weight(count: int) -> float:
    return max(LEAST_WEIGHT, 1 / count)
