"""What became of one request: an answer or a failure, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmframe.core.scores import Score
from llmframe.errors import ErrorKind

Source = Literal["live", "cache", "shared", "batch", "pending"]
"""Where an answer came from; `"pending"` stands in the frame of a job that goes on: nowhere yet."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them; `None` is unknown, never 0.

    `cached_tokens` is the part of `input_tokens` that the provider read from its own prompt cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Sum field by field; unknown plus known is the known part."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def storable(text: str) -> str:
    """`text` with half surrogate pairs replaced: servers can send them, no dataframe library can hold them."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class Answer:
    """A valid reply: its text as it is stored, one value a column of the schema, and how sure those are.

    `scores` has one entry for each target of the schema's scoring, and none where nothing is scored.
    """

    text: str
    values: tuple[object, ...]
    scores: tuple[Score, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A row without an answer; `str()` is its entry in the error column."""

    kind: ErrorKind
    detail: str

    def __str__(self) -> str:
        """The entry of the error column, `"<kind>: <what happened>"`."""
        return storable(f"{self.kind}: {self.detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that a row's columns and the report are made of.

    `attempts` counts requests sent for it (0 from the cache), `seconds` runs from the first sending to the
    result, `usd` is `None` when the price or the usage is unknown.
    """

    result: Answer | Failure
    usage: Usage = Usage()
    usd: float | None = None
    attempts: int = 0
    seconds: float = 0.0
    finish_reason: str | None = None
    model: str | None = None
    source: Source = "live"
    fingerprint: str | None = None
