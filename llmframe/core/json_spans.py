"""Where values stand in the JSON text of a reply, by bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from llmframe.core.jsontext import unfenced

BLANKS: Final = b" \t\r\n"
"""What may stand around a JSON value."""

_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)  # no number is too long for `str`


def value_spans(text: bytes, keys: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Where the values of top-level keys of a JSON object stand.

    Parameters
    ----------
    text
        A JSON object in UTF-8, perhaps with blanks or a fence around all of it.
    keys
        The keys to look for, not escaped.

    Returns
    -------
    dict of str to (int, int)
        Half-open byte ranges: of a string what is between its quotes, of anything else all of it. Absent are keys that
        aren't there or stand twice, and all of them when the text is no JSON object.
    """
    body = _body(text)
    try:
        members = list(_members(body))
    except (ValueError, RecursionError):
        return {}
    spans: dict[str, tuple[int, int]] = {}
    for key in keys:
        places = [(start, end) for name, start, end in members if name == key]
        if len(places) == 1:
            spans[key] = _place(text, body, *places[0])
    return spans


def bare_span(text: bytes) -> tuple[int, int] | None:
    """Where the value of a reply stands that is one value without an object around it: a label, a number, a list.

    Parameters
    ----------
    text
        UTF-8, perhaps with blanks or a fence around all of it.

    Returns
    -------
    (int, int) or None
        As in `value_spans`; text without quotes is a value too. `None` when nothing is there, or an object, or
        something after a closing quote.
    """
    body = _body(text)
    if not body or body.startswith("{"):
        return None
    if body.startswith('"'):
        try:
            _, end = _DECODER.raw_decode(body)
        except ValueError:
            return None
        if end < len(body):
            return None
    return _place(text, body, 0, len(body))


def _body(text: bytes) -> str:
    # Bytes that are no UTF-8 become half surrogate pairs and are the same bytes again afterwards.
    return unfenced(text.decode("utf-8", "surrogateescape"))


def _members(body: str) -> Iterator[tuple[str, int, int]]:
    """Key, start and end of each member, in characters; strings with their quotes."""
    at = _expect(body, 0, "{")
    while body[at : at + 1] == '"':
        key, at = _DECODER.raw_decode(body, at)
        start = _expect(body, at, ":")
        _, end = _DECODER.raw_decode(body, start)
        yield key, start, end
        at = _blanks(body, end)
        if body[at : at + 1] != ",":
            break
        at = _blanks(body, at + 1)
    if _expect(body, at, "}") < len(body):
        raise ValueError("text after the object")


def _expect(body: str, at: int, mark: str) -> int:
    """The place of what follows `mark` and blanks."""
    at = _blanks(body, at)
    if body[at : at + 1] != mark:
        raise ValueError(f"{mark!r} is expected")
    return _blanks(body, at + 1)


def _blanks(body: str, at: int) -> int:
    blanks = BLANKS.decode()
    while at < len(body) and body[at] in blanks:
        at += 1
    return at


def _place(text: bytes, body: str, start: int, end: int) -> tuple[int, int]:
    """Characters of the body as bytes of the text, without the quotes of a string."""
    inside = body.encode("utf-8", "surrogateescape")
    # After it there are only marks and blanks; before it a fence may have a word that is the same.
    shift = text.rfind(inside)
    quotes = int(body[start] == '"')
    before = len(body[: start + quotes].encode("utf-8", "surrogateescape"))
    within = len(body[start + quotes : end - quotes].encode("utf-8", "surrogateescape"))
    return shift + before, shift + before + within
