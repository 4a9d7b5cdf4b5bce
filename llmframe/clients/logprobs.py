"""Log-probabilities of a chat completion, as tokens."""

from __future__ import annotations

import math
from typing import Any, cast

from llmframe.core.tokens import Token


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
    if not isinstance(top, list):
        return Token(*own)
    pairs = [_pair(each) for each in cast("list[object]", top)]
    return Token(*own, tuple(pair for pair in pairs if pair is not None))


def _pair(entry: object) -> tuple[bytes, float] | None:
    """Text and log-probability of an entry; JSON readers take `NaN`, which is none, and servers round above 0."""
    if not isinstance(entry, dict):
        return None
    told = cast("dict[str, Any]", entry)
    text, spelt, logprob = told.get("token"), told.get("bytes"), told.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float) or math.isnan(logprob):
        return None
    if isinstance(spelt, list):
        try:
            return bytes(cast("list[int]", spelt)), min(float(logprob), 0.0)
        except (TypeError, ValueError):
            return None
    # Servers that tell no bytes tell the token as text.
    return (text.encode("utf-8", "surrogatepass"), min(float(logprob), 0.0)) if isinstance(text, str) else None


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
