"""Log-probabilities of a simulated answer: its tokens, and what might have stood in their places."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from llmframe.testing.calls import Call
from llmframe.testing.closed import closed_fields
from llmframe.testing.shapes import as_object, plain_json
from llmframe.testing.telling import Logprobs

OTHERS: Final = 24
"""Tokens that are none of the listed values, at every place: more than are ever told."""

NEVER: Final = -9999.0
"""What OpenAI tells of a token that can't come."""

FAINT: Final = 1e-13
"""Probability of other tokens where nothing is left for them; it counts for nothing in a sum."""

SURE: Final = 0.9999
"""Probability of braces, commas and the like."""

_MARKS: Final = (b"~", b"^", b"|")
_PIECE: Final = re.compile(rb" ?[A-Za-z0-9_\x80-\xff]{1,5}|[^A-Za-z0-9_\x80-\xff\s]+ ?|\s+")
_WORD: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff]")
_BLANK: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Emitted:
    """A token of an answer, its log-probability and the entry that tells of it."""

    text: bytes
    entry: dict[str, Any]


def emitted(call: Call, text: str | None, likeliest: object) -> list[Emitted] | None:
    """The tokens of an answer's text; `None` where the call doesn't ask for them.

    Parameters
    ----------
    call
        The request, whose prompt decides how the text is cut and how sure the model is.
    text
        The answer.
    likeliest
        The answer that the model holds for the likeliest, as an object; decides where no probabilities are stated.

    Notes
    -----
    A token is up to five bytes, so that it may end inside a character. A listed value begins at a token or with its
    quote in one, ends with its quote in its last token or before it, or with quote and comma in one: the prompt
    decides. Values with one beginning share tokens, and part where they differ.
    """
    if text is None or call.request.get("logprobs") is not True or call.hides_logprobs:
        return None
    asked = call.request.get("top_logprobs")
    count = asked if isinstance(asked, int) else 0
    teller = _Teller(call.logprobs, count if call.logprobs.tops is None else min(count, call.logprobs.tops))
    return [teller.token(*place) for place in _places(call, text, likeliest)]


def in_full(tokens: list[Emitted] | None) -> dict[str, Any] | None:
    """`logprobs` of a choice that holds these tokens."""
    return None if tokens is None else {"content": [token.entry for token in tokens], "refusal": None}


Place = tuple[bytes, dict[bytes, float], float]
"""A token, the probabilities of all that are named at its place, and what is left for others."""


def _places(call: Call, text: str, likeliest: object) -> Iterator[Place]:
    at = 0
    closed, values = closed_fields(call.schema or {}), _spans(text)
    for key, (begin, end) in values.items():
        options = closed.get(key, ())
        names = [plain_json(option) for option in options]
        said = plain_json(json.loads(text[begin:end]))
        if said not in names:
            continue
        favourite = as_object(likeliest).get(key)
        favourite = favourite if plain_json(favourite) in names else json.loads(text[begin:end])
        weights = call.opinion.weights(options, prompt=call.prompt, seed=call.seed, key=key, likeliest=favourite)
        spelling = _Spelling.of(call, key, quoted=all(name[0] == '"' for name in names))
        follows = text[end : end + 1]
        texts = [text[begin:end] if name == said else name for name in names]
        paths = [spelling.path(each, follows) for each in texts]
        opening = begin + spelling.quote_before
        yield from _free(call, text[at:opening])
        yield from _path(paths[names.index(said)], paths, weights, call.logprobs.outside)
        at = end + len(follows)
    yield from _free(call, text[at:])


def _path(
    own: tuple[bytes, ...], paths: list[tuple[bytes, ...]], weights: list[float], outside: float
) -> Iterator[Place]:
    for at, piece in enumerate(own):
        shares: dict[bytes, float] = {}
        for path, weight in zip(paths, weights, strict=True):
            if path[:at] == own[:at] and len(path) > at:
                shares[path[at]] = shares.get(path[at], 0.0) + weight
        left = 0.0 if at else outside
        whole = sum(shares.values()) or 1.0
        yield piece, {name: (1 - left) * share / whole for name, share in shares.items()}, left


def _free(call: Call, text: str) -> Iterator[Place]:
    data = text.encode("utf-8", "replace")
    pieces = [data[i : i + 1] for i in range(len(data))] if call.logprobs.per_byte else _PIECE.findall(data)
    for number, piece in enumerate(pieces):
        draw = _random(f"{call.seed}:{number}:{piece!r}")
        sure = 0.7 + 0.29 * draw.random() if _WORD.search(piece) else SURE
        yield piece, {piece: sure}, 1 - sure


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How the listed values of one field are cut into tokens."""

    width: int
    quote_before: bool
    quote_glued: bool

    @classmethod
    def of(cls, call: Call, key: str, *, quoted: bool) -> _Spelling:
        draw = _random(f"{call.seed}:{key}")
        width, before, glued = 2 + int(draw.random() * 4), draw.random() < 0.5, draw.random() < 0.5  # noqa: PLR2004 - a coin
        if call.logprobs.per_byte:
            return cls(1, quoted, quote_glued=False)
        # Where null may stand in a text's place, its quote is what decides: it's part of the value.
        return cls(width, quoted and before, glued)

    def path(self, json_text: str, follows: str) -> tuple[bytes, ...]:
        """The tokens of a value and of the character behind it."""
        data, tail = json_text.encode("utf-8", "replace"), follows.encode()
        if data[:1] == b'"':
            data = data[self.quote_before : -1]
            tail = b'"' + tail
        pieces = [data[i : i + self.width] for i in range(0, len(data), self.width)]
        if self.width == 1:
            return (*pieces, *(tail[i : i + 1] for i in range(len(tail))))
        if self.quote_glued and tail[:1] == b'"' and pieces:
            pieces[-1] += b'"'
            tail = tail[1:]
        return (*pieces, tail) if tail else tuple(pieces)


@dataclass(frozen=True, slots=True)
class _Teller:
    """Writes entries in OpenAI's form."""

    traits: Logprobs
    count: int

    def token(self, piece: bytes, shares: dict[bytes, float], left: float) -> Emitted:
        """The entry of a token, with the likeliest at its place."""
        named = dict(shares)
        mark = next((mark for mark in _MARKS if not any(name.startswith(mark) for name in shares)), _MARKS[0])
        for number in range(OTHERS):
            part = 0.5 ** min(number + 1, OTHERS - 1)  # with sum 1
            named.setdefault(mark + b"%d" % number, left * part if left else FAINT * part)
        ordered = sorted(named.items(), key=lambda each: -each[1])
        if self.traits.hides_emitted:
            ordered = [each for each in ordered if each[0] != piece]
        top = [self._entry(*each) for each in ordered[: self.count]]
        return Emitted(piece, {**self._entry(piece, named[piece]), "top_logprobs": top})

    def _entry(self, piece: bytes, share: float) -> dict[str, Any]:
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            spelt = "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
            text = spelt if self.traits.tells_bytes else piece.decode("utf-8", "replace")
        spelt_bytes = list(piece) if self.traits.tells_bytes else None
        return {"token": text, "bytes": spelt_bytes, "logprob": math.log(share) if share > 0 else NEVER}


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of an object stand in its JSON text; empty for any other text."""
    decoder, spans = json.JSONDecoder(), dict[str, tuple[int, int]]()
    try:
        at = _after(text, 0)
        if text[at] != "{":
            return {}
        while text[at] != "}":
            key, at = decoder.raw_decode(text, _after(text, at + 1))
            begin = _after(text, _after(text, at) + 1)
            _, end = decoder.raw_decode(text, begin)
            spans[str(key)] = (begin, end)
            at = _after(text, end)
    except (ValueError, IndexError):
        return {}
    return spans


def _after(text: str, at: int) -> int:
    """Behind the blanks at `at`."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _random(seed: str) -> random.Random:
    digest = hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "little"))  # noqa: S311 - test data, no secret
