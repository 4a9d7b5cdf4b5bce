"""Texts to embed, and what an answer says about them."""

from __future__ import annotations

import binascii
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from math import isfinite
from typing import Any, Final, cast

from llmframe.core.columns import ColumnType
from llmframe.core.outcome import Answer, Failure
from llmframe.core.reading import Reader
from llmframe.core.reply import Reply
from llmframe.core.schema import Schema, SchemaField
from llmframe.core.template import Prompt, Rendered
from llmframe.core.vectors import WIDTH, numbers_of, vector_of

CANONICAL: Final = "embedding/float32"
"""What a fingerprint says in place of a schema; JSON, which chat's say, never looks like it."""

NO_VECTOR: Final = b""
"""Stands for a vector that isn't there or can't be read."""

MOST_CHARACTERS: Final = 8
"""Characters that tokens of a long text have on average at most: text of so many times a limit is surely over it."""

EMPTY: Final = Failure("empty", "the text is empty, nothing was sent")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReply(Reply):
    """What a provider answered to texts: a vector each, in their order; `NO_VECTOR` where one is missing."""

    vectors: tuple[bytes, ...] = ()


class Width:
    """How many numbers a vector has, for all vectors of a run.

    Parameters
    ----------
    asked
        As the user said it; else the first vector decides.
    """

    __slots__ = ("asked", "size")

    def __init__(self, asked: int | None = None) -> None:
        self.asked, self.size = asked, asked

    def problem(self, vector: bytes) -> str | None:
        """Why `vector` is no answer; `None` for one that is, which decides when it's the first."""
        size = len(vector) // WIDTH
        if not size:
            return "the answer has no vector for this text"
        if not is_finite(vector):
            return "the vector has numbers that are no numbers"
        if self.size is None:
            self.size = size
        if size == self.size:
            return None
        wanted = "were asked for" if self.asked is not None else "had the others"
        return f"the vector has {size:,} numbers, {self.size:,} {wanted}"

    def read(self, text: str) -> Answer | Failure:
        """A kept vector, as `kept_text` writes it."""
        vector = unwrapped(text)
        problem = self.problem(vector)
        return Answer("", (vector,)) if problem is None else Failure("invalid", problem)


@dataclass(frozen=True, slots=True)
class TextPrompt(Prompt):
    """A prompt whose rendered rows are texts to embed: the empty and the surely too long are failures.

    Parameters
    ----------
    most_tokens
        Of one text, where the endpoint's limit is known.
    """

    most_tokens: int | None = None

    def render(self, cells: Sequence[Sequence[object]], *, rows: int | None = None) -> list[Rendered | Failure]:
        """Render a chunk of rows, as `Prompt` does."""
        rendered = super(TextPrompt, self).render(cells, rows=rows)
        if self.most_tokens is None:
            return [each or EMPTY for each in rendered]
        most = self.most_tokens * MOST_CHARACTERS
        long = too_long(self.most_tokens)
        return [(long if isinstance(each, str) and len(each) > most else each) or EMPTY for each in rendered]


def text_prompt(prompt: Prompt, *, most_tokens: int | None) -> TextPrompt:
    """`prompt` as one of texts to embed."""
    parts: dict[str, Any] = {part.name: getattr(prompt, part.name) for part in fields(Prompt)}
    return TextPrompt(**parts, most_tokens=most_tokens)


def too_long(most_tokens: int) -> Failure:
    """The failure of a text that is longer than a model takes."""
    return Failure("context_length", f"the text is longer than {most_tokens:,} tokens; cut it into chunks")


def embedding_schema(into: str, width: Width) -> Schema:
    """What is asked for, as a schema: one vector, in the column `into`, of the width as it's known by now."""
    return Schema(
        name="embedding",
        model=None,
        wire={},
        strict=False,
        obstacle=None,
        canonical=CANONICAL,
        fields=(SchemaField(into, ColumnType("vector", size=width.size or 0)),),
        single=True,
        reader=cast("Reader", width),  # which is asked for nothing but to read
    )


def is_finite(vector: bytes) -> bool:
    """Whether all numbers of a vector are finite.

    By the top bytes first: only numbers from 1.7e38 on have one of 7f or ff there. That takes 1 µs, a look at every
    number 40.
    """
    tops = vector[WIDTH - 1 :: WIDTH]
    return (b"\x7f" not in tops and b"\xff" not in tops) or all(map(isfinite, numbers_of(vector)))


def wire_vector(value: object) -> bytes:
    """A vector as servers write it: base64 of its 32-bit floats, or a list of numbers; `NO_VECTOR` for the rest."""
    if isinstance(value, str):
        return unwrapped(value)
    if not isinstance(value, list):
        return NO_VECTOR
    try:
        return vector_of(cast("list[float]", value))
    except (TypeError, OverflowError):
        return NO_VECTOR


def kept_text(vector: bytes) -> str:
    """A vector as a store keeps it."""
    return binascii.b2a_base64(vector, newline=False).decode()


def unwrapped(text: str) -> bytes:
    """The vector in base64 text; `NO_VECTOR` where there is none."""
    try:
        vector = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return NO_VECTOR
    return vector if len(vector) % WIDTH == 0 else NO_VECTOR


def shared_out(total: int | None, weights: Sequence[int]) -> list[int | None]:
    """`total` in whole numbers, in proportion to `weights`; their sum is `total`, and unknown stays unknown.

    Examples
    --------
    >>> shared_out(10, [1, 1, 2])
    [2, 3, 5]
    """
    if total is None:
        return [None] * len(weights)
    heavy = sum(weights)
    if not heavy:
        weights, heavy = [1] * len(weights), len(weights)
    ends = array("q", [total * end // heavy for end in accumulate(weights)])
    return [end - start for start, end in zip((0, *ends), ends, strict=False)]
