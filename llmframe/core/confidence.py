"""Confidences from the tokens of a reply: how probable the model found each value beside what else it might have said.

A closed field's options are weighed where the value begins. The chosen token and those that the provider lists beside
it are read as beginnings of a value: one that only one option begins with counts for that option. Where the chosen one
leaves several open (`ne` of negative and neutral), its probability is divided by the next token's list, by the chain
rule, until one option is left.

An alternative that wasn't chosen can't be followed. If several options begin with it, the emitted value among them, it
is lost: it counts for nothing and lowers `mass`. If the emitted value isn't among them, it belongs to the others
together; they divide it in proportion to what else they have (equally when that's nothing). So where nothing is lost
the emitted value's share is exact however the text was cut into tokens, and only those of the others may be an
estimate. What is lost may have been its own or others', at most `1 - mass`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.core.json_spans import BLANKS, bare_span, value_spans
from llmframe.core.label_texts import LabelTexts, label_texts
from llmframe.core.scores import LABEL_MASS_FLOOR, Score, Target
from llmframe.core.tokens import Token

IMPOSSIBLE: Final = -1000.0
"""Log-probabilities below are 0: servers write -9999 for minus infinity, which JSON hasn't."""

ALONE: Final = 0.99
"""Least probability of a value beside which no alternative is told: the rest of it could all be one other option."""

_STRUCTURE: Final = re.compile(rb'"[ \t\r\n]*:')
_STRUCTURE_BEGUN: Final = re.compile(rb'(?:"[ \t\r\n]*)?')
_UNLOCATED: Final = Score(None, "unlocated")
_NO_LOGPROBS: Final = Score(None, "no_logprobs")


@dataclass(frozen=True, slots=True)
class _Stream:
    """Tokens with the byte at which each begins."""

    data: bytes
    tokens: tuple[tuple[int, Token], ...]

    def reaching(self, place: int) -> int | None:
        """The number of the token that holds the byte at `place`."""
        return next((n for n, (start, token) in enumerate(self.tokens) if start + len(token.text) > place), None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value's content stands in a stream, and whether it stands without an object around it."""

    start: int
    end: int
    bare: bool


@dataclass(frozen=True, slots=True)
class _Begin:
    """The first token to weigh, its bytes before the options' texts, and what they begin with that it doesn't hold."""

    number: int
    before: bytes
    read: bytes
    structure: bool


def token_scores(
    text: str, tokens: Sequence[Token] | None, targets: Sequence[Target], values: Sequence[object]
) -> tuple[Score, ...]:
    """How sure the values of an answer are, by the tokens it was given in.

    Parameters
    ----------
    text
        The reply's text as received.
    tokens
        Its tokens; others and blanks may stand around them. `None` or empty: none were told.
    targets
        The fields to score.
    values
        The validated value of each, as it stands in JSON. The text may differ from it as far as the reader folds.

    Returns
    -------
    tuple of Score
        One a target. Of a closed field the option's share of all options' probability, and those shares; of a free one
        the product of the probabilities of all tokens that lie wholly inside it, without a mass. Without a confidence:
        `"no_logprobs"` (no tokens, a NaN, or no alternatives to a value that isn't all but certain), `"unlocated"`
        (the value isn't found in the tokens), `"low_label_mass"` (the options together have less than
        `LABEL_MASS_FLOOR`).

    Notes
    -----
    p_k = m_k / M with M the sum of m_k; only continuations that agree with what the tokens before said are counted.
    Where options are texts and others (an optional label), the choice begins in the token that ends the key, for
    `":"` and `":` may already decide it; of a plain label it begins at the label's first byte.
    """
    if not tokens:
        return tuple(_NO_LOGPROBS for _ in targets)
    stream, shift = _stream(tokens, said := text.encode("utf-8", "surrogatepass"))
    if shift is None:
        return tuple(_UNLOCATED for _ in targets)
    spans = value_spans(
        said, list(dict.fromkeys(name for each in targets for name in (each.key, each.field) if name is not None))
    )
    scores: list[Score] = []
    for target, value in zip(targets, values, strict=True):
        place = _place(target, spans, said, shift)
        if place is None:
            scores.append(_UNLOCATED)
        elif target.options:
            scores.append(_closed(stream, place, target.options, value))
        else:
            scores.append(_free(stream, place))
    return tuple(scores)


def _stream(tokens: Sequence[Token], text: bytes) -> tuple[_Stream, int | None]:
    """The tokens, and where among their bytes the text begins; `None` where it doesn't, or in more than one place."""
    data = b"".join(token.text for token in tokens)
    places: list[tuple[int, Token]] = []
    start = 0
    for token in tokens:
        places.append((start, token))
        start += len(token.text)
    found = data.find(text)
    several = found != -1 and data.find(text, found + 1) != -1
    return _Stream(data, tuple(places)), None if found == -1 or several else found


def _place(target: Target, spans: dict[str, tuple[int, int]], text: bytes, shift: int) -> _Place | None:
    if target.key is None:
        span, bare = (0, len(text)), True
    else:
        span, bare = spans.get(target.key, spans.get(target.field)), False
        if span is None:
            span, bare = bare_span(text), True
    return None if span is None else _Place(span[0] + shift, span[1] + shift, bare)


def _free(stream: _Stream, place: _Place) -> Score:
    inside = [
        token.logprob
        for start, token in stream.tokens
        if token.text and place.start <= start and start + len(token.text) <= place.end
    ]
    if not inside:
        return _UNLOCATED
    if any(map(math.isnan, inside)):
        return _NO_LOGPROBS
    return Score(math.prod(map(_probability, inside)), "logprobs")


def _closed(stream: _Stream, place: _Place, options: Sequence[object], value: object) -> Score:
    texts = label_texts(options, plain=place.bare)
    emitted = texts.place_of(value)
    begin = _begin(stream, place, texts)
    if emitted is None or begin is None:
        return _UNLOCATED
    masses = [0.0] * len(options)
    shared: dict[tuple[int, ...], float] = {}
    scale, read, before, alone = 1.0, begin.read, begin.before, True
    for start, token in stream.tokens[begin.number :]:
        chosen = None
        for text, logprob in token.top:
            if text == token.text:
                chosen = (chosen or 0.0) + _probability(logprob)  # two tokens may have the same bytes
                continue
            alone = False
            if not text.startswith(before):
                continue
            found = _possible(texts, read + text[len(before) :], begin)
            if len(found) == 1:
                masses[found[0]] += scale * _probability(logprob)
            elif found and emitted not in found:
                shared[found] = shared.get(found, 0.0) + scale * _probability(logprob)
        scale *= _probability(token.logprob) if chosen is None else chosen
        read, before = read + token.text[len(before) :], b""
        found = _possible(texts, read, begin)
        if emitted not in found:
            return _UNLOCATED
        if len(found) == 1 or start + len(token.text) > place.end:
            break
    masses[emitted] += scale
    return _weighed(_divided(masses, shared), emitted, alone=alone)


def _weighed(masses: list[float], emitted: int, *, alone: bool) -> Score:
    total = math.fsum(masses)
    if math.isnan(total):
        return _NO_LOGPROBS
    mass = min(total, 1.0)
    if alone and mass < ALONE and len(masses) > 1:  # first: what isn't told says nothing of the labels' mass
        return Score(None, "no_logprobs", (), mass)
    if mass < LABEL_MASS_FLOOR:
        return Score(None, "low_label_mass", (), mass)
    shares = tuple(each / total for each in masses)
    return Score(shares[emitted], "logprobs", shares, mass)


def _divided(masses: list[float], shared: dict[tuple[int, ...], float]) -> list[float]:
    """`masses` with what several options have together, in proportion to what each has alone."""
    divided = list(masses)
    for several, mass in shared.items():
        whole = sum(masses[option] for option in several)
        for option in several:
            divided[option] += mass * (masses[option] / whole if whole > 0 else 1 / len(several))
    return divided


def _begin(stream: _Stream, place: _Place, texts: LabelTexts) -> _Begin | None:
    """Where the options' texts begin to differ."""
    quoted = stream.data[: place.start].endswith(b'"')
    mixed = bool(texts.bare and texts.quoted)
    structure, begin, read = mixed and not place.bare, place.start - quoted, b""
    if structure:
        begin = len(stream.data[:begin].rstrip(BLANKS)[:-1].rstrip(BLANKS)) - 1  # before the colon: the key's quote
    elif quoted and not mixed and any(start == place.start for start, token in stream.tokens if token.text):
        begin, read = place.start, b'"'
    number = stream.reaching(begin)
    if number is None:
        return None
    start, token = stream.tokens[number]
    before = token.text[: begin - start]
    return _Begin(number, before if structure else before.rstrip(BLANKS), read, structure)


def _possible(texts: LabelTexts, read: bytes, begin: _Begin) -> tuple[int, ...]:
    if begin.structure:
        after = _STRUCTURE.match(read)
        if after is None:
            return tuple(range(len(texts.options))) if _STRUCTURE_BEGUN.fullmatch(read) else ()
        read = read[after.end() :]
    return texts.possible(read)


def _probability(logprob: float) -> float:
    """In [0, 1]; NaN stays."""
    if math.isnan(logprob):
        return math.nan
    return 0.0 if logprob < IMPOSSIBLE else math.exp(min(logprob, 0.0))
