"""Which of a closed field's options the beginning of a reply's value can still become."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from llmframe.core.json_spans import BLANKS

_CLOSED: Final = re.compile(rb'((?:[^"\\]|\\.)*)"(.*)', re.DOTALL)
_AFTER: Final = re.compile(rb"[ \t\r\n]*(?:[,}\]`~].*)?", re.DOTALL)
"""What may follow a value: blanks, the rest of the object, a fence."""

_LEADING: Final = re.compile(rb"(?:[ \t\r\n]|\\[nrt])*")
_ENDINGS: Final = {
    # escaped and folds: what may stand between an option and the end of its text
    (True, True): re.compile(rb"(?:[ \t\r\n]|\\[nrt])*\.?(?:[ \t\r\n]|\\[nrt])*"),
    (True, False): re.compile(rb""),
    (False, True): re.compile(rb"[ \t\r\n]*\.?[ \t\r\n]*[`~]*[ \t\r\n]*"),
    (False, False): re.compile(rb"[ \t\r\n]*[`~]*[ \t\r\n]*"),
}
_SHORT: Final = {'"': b'\\"', "\\": b"\\\\", "/": b"\\/", "\b": b"\\b", "\f": b"\\f", "\n": b"\\n", "\r": b"\\r"} | {
    "\t": b"\\t"
}
_PLAIN: Final = frozenset(' "\\')
_key: Final = json.JSONEncoder(default=str).encode


@dataclass(frozen=True, slots=True)
class Form:
    """How one option may be written.

    Parameters
    ----------
    characters
        For each of its characters the bytes that may stand for it.
    ending
        What may follow the last one.
    folds
        Whether blanks around it, its letters' case and a final full stop don't count.
    exact
        The option as it stands, where folding takes away blanks or a full stop of its own.
    """

    characters: tuple[tuple[bytes, ...], ...]
    ending: re.Pattern[bytes]
    folds: bool
    exact: Form | None = None

    def may_begin(self, text: bytes) -> bool:
        """Whether `text` is the beginning of this, or this with what may follow."""
        if self.exact is not None and self.exact.may_begin(text):
            return True
        leading = _LEADING.match(text) if self.folds else None
        at = leading.end() if leading else 0
        for variants in self.characters:
            rest = text[at:]
            whole = next((each for each in variants if rest.startswith(each)), None)
            if whole is None:
                return any(each.startswith(rest) for each in variants)
            at += len(whole)
        return self.ending.fullmatch(text, at) is not None


@dataclass(frozen=True, slots=True, eq=False)
class LabelTexts:
    """The texts of a closed field's options.

    Parameters
    ----------
    options
        As they stand in JSON.
    quoted
        How each option that is a string stands between quotes, by its place.
    bare
        The JSON text of each other one, by its place.
    plain
        How each option that is a string stands without quotes, by its place; empty where quotes are needed.
    places
        The place of each option by its JSON text.
    """

    options: tuple[object, ...]
    quoted: dict[int, Form]
    bare: dict[int, bytes]
    plain: dict[int, Form]
    places: dict[str, int]

    def place_of(self, value: object) -> int | None:
        """The place of the option that is `value`; of equal ones the first."""
        return self.places.get(_key(value))  # as text, for Python takes 1 and True for equal

    def possible(self, text: bytes) -> tuple[int, ...]:
        """Places of the options that a value which begins like this may be.

        Parameters
        ----------
        text
            JSON text from the value's beginning on, the opening quote of a string with it; it may end anywhere, also
            inside a character or an escape, and go on behind the value.

        Returns
        -------
        tuple of int
            Ascending. Letter case, blanks and a final full stop are folded as the reader folds them
            (`jsontext.folded`), and only where that leaves the options apart.
        """
        return _possible(self, text.lstrip(BLANKS))

    def named(self, content: bytes, after: bytes) -> tuple[int, ...]:
        """The place of the option that the reader takes a whole string for; `after` is what follows its quote."""
        if not _AFTER.fullmatch(after):
            return ()
        try:
            label: str = json.loads(b'"' + content + b'"', strict=False)
        except ValueError:
            return ()
        exact = tuple(place for place in self.quoted if self.options[place] == label)
        near = tuple(place for place in self.quoted if _folded(cast("str", self.options[place])) == _folded(label))
        return exact or (near if len(near) == 1 else ())


def label_texts(options: Sequence[object], *, plain: bool = False) -> LabelTexts:
    """The texts of options.

    Parameters
    ----------
    options
        Strings, integers, booleans and `None`, as they stand in JSON.
    plain
        Whether strings may also stand without quotes.
    """
    return _made(json.dumps(options), plain)  # as text, for Python takes 1 and True for the same key


# The lists of row after row hold the same tokens: without this, 200 labels took half a second a row.
@lru_cache(maxsize=8192)
def _possible(texts: LabelTexts, text: bytes) -> tuple[int, ...]:
    if not text:
        return tuple(range(len(texts.options)))
    if text.startswith(b'"'):
        closed = _CLOSED.fullmatch(text, 1)
        return texts.named(closed[1], closed[2]) if closed else _beginning(texts.quoted, text[1:])
    plain = _beginning(texts.plain, text)
    return tuple(sorted({*plain, *(place for place, word in texts.bare.items() if _may_be(word, text))}))


@lru_cache(maxsize=64)
def _made(options: str, plain: bool) -> LabelTexts:  # noqa: FBT001 - private, and a key of the cache
    values: list[object] = json.loads(options)
    texts = {place: value for place, value in enumerate(values) if isinstance(value, str)}
    folded = [_folded(text) for text in texts.values()]
    folds = {place: folded.count(_folded(text)) == 1 for place, text in texts.items()}
    return LabelTexts(
        tuple(values),
        {place: _form(text, folds=folds[place], escaped=True) for place, text in texts.items()},
        {place: json.dumps(value).encode() for place, value in enumerate(values) if place not in texts},
        {place: _form(text, folds=folds[place], escaped=False) for place, text in texts.items()} if plain else {},
        {json.dumps(values[place]): place for place in reversed(range(len(values)))},
    )


def _form(text: str, *, folds: bool, escaped: bool) -> Form:
    """An option's form; one that folds is put without what folding takes away."""
    bare = text.strip().removesuffix(".").rstrip() if folds else text
    characters = tuple(tuple(_variants(each, folds=folds, escaped=escaped)) for each in bare)
    exact = _form(text, folds=False, escaped=escaped) if bare != text else None
    return Form(characters, _ENDINGS[escaped, folds], folds, exact)


def _variants(character: str, *, folds: bool, escaped: bool) -> Iterable[bytes]:
    """The bytes that may stand for a character."""
    cases = (character, character.lower(), character.upper(), character.casefold()) if folds else (character,)
    found: dict[bytes, None] = {}
    for each in cases:
        if not escaped or each not in {'"', "\\"}:
            found[each.encode("utf-8", "surrogatepass")] = None
        # Nobody writes \u0061 for a or \u005c for a backslash; one alone would be the beginning of every label.
        if escaped and not (each.isascii() and (each.isalnum() or each in _PLAIN)):
            units = each.encode("utf-16-be", "surrogatepass").hex()
            spelt = [units[at : at + 4] for at in range(0, len(units), 4)]
            found["".join(f"\\u{unit}" for unit in spelt).encode()] = None
            found["".join(f"\\u{unit.upper()}" for unit in spelt).encode()] = None
        if escaped and each in _SHORT:
            found[_SHORT[each]] = None
    return found


def _beginning(forms: dict[int, Form], text: bytes) -> tuple[int, ...]:
    return tuple(place for place, form in forms.items() if form.may_begin(text))


def _may_be(word: bytes, text: bytes) -> bool:
    """Whether `text` begins the number or word, or holds it with what may follow: `1` may become 10, `1,` not."""
    return word.startswith(text) or (text.startswith(word) and _AFTER.fullmatch(text, len(word)) is not None)


def _folded(label: str) -> str:
    return label.strip().removesuffix(".").rstrip().casefold()
