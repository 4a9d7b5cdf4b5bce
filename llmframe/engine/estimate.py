"""Token estimates of one endpoint and model, learnt from what its replies cost."""

from __future__ import annotations

from math import sqrt
from typing import Final, TypeGuard

from llmframe.core.outcome import Usage

TOKENS_PER_CHARACTER: Final = 0.25
"""Of English prose; the first reply corrects it, to about 1 where texts are Chinese."""

OUTPUT_TOKENS: Final = 64
"""Tokens of a reply as long as too few are known."""

KNOWN_FROM: Final = 5
"""Replies from which their own mean and spread are believed."""

MOST_TOKENS: Final = 10_000_000
"""Tokens of a request; a server that counts more counts nonsense."""

LEAST_WEIGHT: Final = 0.02
"""Weight of the newest reply; the n-th weighs 1/n as long as that is more, a plain mean at first."""

RIDGE: Final = 0.01
"""Of the mean length's square, what stands for "tokens are in proportion to characters" beside the variance."""


class Estimate:
    """What a request will be charged before its reply says so; providers that charge otherwise say it in headers.

    A prompt's tokens are taken to be linear in its characters (a part that is always there, and so many a character),
    fitted to the replies so far with exponential forgetting and a ridge towards proportion. One standard deviation of
    what the fit missed is added: a request that takes more than was set aside is let through a hair too early.
    """

    __slots__ = (
        "_covariance",
        "_length",
        "_mean",
        "_missed",
        "_outputs",
        "_prompts",
        "_spread",
        "_tokens",
        "_variance",
    )

    def __init__(self) -> None:
        self._prompts = self._outputs = 0
        self._length = self._tokens = self._spread = self._covariance = self._missed = 0.0
        self._mean = self._variance = 0.0

    def input(self, characters: int) -> int:
        """Tokens of a prompt of so many characters, at least 1."""
        if not self._prompts:
            return max(1, round(characters * TOKENS_PER_CHARACTER))
        return max(1, round(min(MOST_TOKENS, self._fit(characters) + sqrt(self._missed))))

    def output(self, max_tokens: int | None) -> int:
        """Tokens of a reply, at least 1 and at most `max_tokens`: the mean so far and two standard deviations.

        Until five replies are known it is 64.
        """
        expected = self._mean + 2 * sqrt(self._variance) if self._outputs >= KNOWN_FROM else OUTPUT_TOKENS
        return max(1, round(expected if max_tokens is None else min(max_tokens, expected)))

    def learn(self, characters: int, usage: Usage) -> None:
        """Take note of a reply's usage; what is unknown or absurd, and prompts without a character, teach nothing."""
        tokens = usage.input_tokens
        if _is_sane(tokens) and characters > 0:
            self._prompts += 1
            weight = _weight(self._prompts)
            if self._prompts > KNOWN_FROM:
                self._missed += weight * ((tokens - self._fit(characters)) ** 2 - self._missed)
            longer, more = characters - self._length, tokens - self._tokens
            self._length += weight * longer
            self._tokens += weight * more
            self._spread = (1 - weight) * (self._spread + weight * longer * longer)
            self._covariance = (1 - weight) * (self._covariance + weight * longer * more)
        if _is_sane(usage.output_tokens):
            self._outputs += 1
            weight = _weight(self._outputs)
            difference = usage.output_tokens - self._mean
            self._mean += weight * difference
            self._variance = (1 - weight) * (self._variance + weight * difference * difference)

    def _fit(self, characters: int) -> float:
        ridge = RIDGE * self._length * self._length
        slope = (self._covariance + ridge * self._tokens / self._length) / (self._spread + ridge)
        return self._tokens + max(0.0, slope) * (characters - self._length)


def _is_sane(tokens: int | None) -> TypeGuard[int]:
    return tokens is not None and 0 <= tokens <= MOST_TOKENS


def _weight(count: int) -> float:
    return max(LEAST_WEIGHT, 1 / count)
