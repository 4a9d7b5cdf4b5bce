"""Log-probabilities of a chat completion, as tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

from llmframe.core.tokens import Token


class _Likeliest(Sequence[tuple[bytes, float]]):
    """The likeliest tokens at a place, read when somebody looks: most places of a reply are in no label.

    Of 15 tokens with 20 alternatives each, reading them all took longer than all else that a row takes.
    """

    __slots__ = ("_pairs", "_told")

    def __init__(self, told: list[object]) -> None:
        self._told = told
        self._pairs: tuple[tuple[bytes, float], ...] | None = None

    def _read(self) -> tuple[tuple[bytes, float], ...]:
        if self._pairs is None:
            self._pairs = tuple([pair for each in self._told if (pair := _pair(each)) is not None])
        return self._pairs

    def __iter__(self) -> Iterator[tuple[bytes, float]]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, place: int) -> tuple[bytes, float]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[bytes, float]]: ...

    def __getitem__(self, place: int | slice) -> tuple[bytes, float] | Sequence[tuple[bytes, float]]:
        return self._read()[place]

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, _Likeliest) else other)

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return repr(self._read())


def read_tokens(logprobs: object, text: str | None) -> tuple[Token, ...] | None:
    """The tokens of a reply's text.

    Parameters
    ----------
    logprobs
        `logprobs` of a choice: `content` with an entry a token, or the parallel lists of older servers (`tokens`,
        `token_logprobs`, `top_logprobs`).
    text
        The reply's text. Tokens that lie outside it (a thought before it, the mark of the end) are left out.

    Returns
    -------
    tuple of Token or None
        `None` where there are none, or where one has no text or no probability: a gap would shift those after it. Of
        the alternatives only such are left out.
    """
    if not isinstance(logprobs, dict) or not text:
        return None
    told = cast("dict[str, Any]", logprobs)
    content = told.get("content")
    entries = cast("list[object]", content) if isinstance(content, list) else _entries(told)
    tokens: list[Token] = []
    for entry in entries:
        token = _token(entry)
        if token is None:
            return None
        tokens.append(token)
    return _within(tokens, text.encode("utf-8", "surrogatepass")) if tokens else None


def _token(entry: object) -> Token | None:
    own = _pair(entry)
    if own is None:
        return None
    top = cast("dict[str, Any]", entry).get("top_logprobs")
    return Token(*own, _Likeliest(cast("list[object]", top))) if isinstance(top, list) else Token(*own)


def _pair(entry: object) -> tuple[bytes, float] | None:
    """Text and log-probability of an entry; JSON readers take `NaN`, which is none, and servers round above 0."""
    if not isinstance(entry, dict):
        return None
    told = cast("dict[str, Any]", entry)
    logprob = _logprob(told.get("logprob"))
    if logprob is None:
        return None
    spelt = told.get("bytes")
    if isinstance(spelt, list):
        try:
            return bytes(cast("list[int]", spelt)), logprob
        except (TypeError, ValueError):
            return None
    text = told.get("token")  # servers that tell no bytes tell the token as text
    return (text.encode("utf-8", "surrogatepass"), logprob) if isinstance(text, str) else None


def _logprob(told: object) -> float | None:
    if isinstance(told, int) and not isinstance(told, bool):
        try:
            told = float(told)
        except OverflowError:
            return None
    if not isinstance(told, float) or math.isnan(told):
        return None
    return told if told < 0 else 0.0


def _entries(told: dict[str, Any]) -> list[object]:
    """The entries that parallel lists stand for; none where they don't belong together."""
    texts, logprobs, tops = told.get("tokens"), told.get("token_logprobs"), told.get("top_logprobs")
    if not isinstance(texts, list) or not isinstance(logprobs, list):
        return []
    texts, logprobs = cast("list[object]", texts), cast("list[object]", logprobs)
    tops = cast("list[object]", tops) if isinstance(tops, list) else [None] * len(texts)
    if not len(texts) == len(logprobs) == len(tops):
        return []
    return [
        {"token": text, "logprob": logprob, "top_logprobs": _listed(top)}
        for text, logprob, top in zip(texts, logprobs, tops, strict=True)
    ]


def _listed(top: object) -> list[object]:
    alternatives = cast("dict[str, object]", top) if isinstance(top, dict) else {}
    return [{"token": text, "logprob": logprob} for text, logprob in alternatives.items()]


def _within(tokens: list[Token], text: bytes) -> tuple[Token, ...]:
    """The tokens that `text` is made of; all of them where it isn't found: whoever reads them sees that, too."""
    joined = b"".join(token.text for token in tokens)
    begin = 0 if joined.startswith(text) else joined.rfind(text)
    end = begin + len(text)
    if begin < 0 or (begin == 0 and end == len(joined)):
        return tuple(tokens)
    kept: list[Token] = []
    place = 0
    for token in tokens:
        after = place + len(token.text)
        if place < end and after > begin:
            kept.append(token)
        place = after
    return tuple(kept)
