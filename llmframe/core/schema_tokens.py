"""Words, marks and quotes of a schema that is written as text, and errors that point into it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, NoReturn

from llmframe.errors import UsageError

SYNTAX: Final = (
    "a schema reads like `label: positive|negative, stars: int?, tags: list[str]`; types: "
    "str, int, float, bool, date, datetime, decimal, list[...]"
)

_MARKS: Final = ":,|[]?()"
_TOKEN: Final = re.compile(
    rf"""[{re.escape(_MARKS)}]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{re.escape(_MARKS)}"']+""", re.DOTALL
)

_SHOWN_CHARS: Final = 72
"""Most characters of the text that an error shows around its place."""


@dataclass(frozen=True, slots=True)
class Token:
    """A mark, a word or a quoted text; `text` is without its quotes."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text from left to right; a description's text is what its parentheses hold."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            refuse(text, at, len(text), "this quote isn't closed")
        part, end = match.group(), match.end()
        if part == "(":
            end = _closing(text, at)
            found.append(Token("description", " ".join(text[at + 1 : end - 1].split()), at, end))
        elif part[0] in "\"'":
            found.append(Token("quoted", re.sub(r"\\([\\\"'])", r"\1", part[1:-1]), at, end))
        else:
            found.append(Token(part if part in _MARKS else "word", part, at, end))
        at = end
    return found


def _closing(text: str, start: int) -> int:
    """The place after the parenthesis that closes the one at `start`."""
    level = 0
    for at in range(start, len(text)):
        level += (text[at] == "(") - (text[at] == ")")
        if level == 0:
            return at + 1
    return refuse(text, start, len(text), "this parenthesis isn't closed")


def refuse(text: str, start: int, end: int, problem: str) -> NoReturn:
    """Raise with the line of `text` that holds `start`, and carets below the place."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : len(text) if stop < 0 else stop]
    column, width = start - begin, max(1, min(end, begin + len(line)) - start)
    cut = max(0, column - _SHOWN_CHARS // 2)
    shown = "".join(char if char.isprintable() else " " for char in line[cut : cut + _SHOWN_CHARS])
    before, after = ("…" if cut else ""), ("…" if len(line) > cut + _SHOWN_CHARS else "")
    blanks = " " * len(before) + "".join("\u3000" if _is_wide(char) else " " for char in shown[: column - cut])
    marks = "^" * max(1, min(width, len(shown) - (column - cut)))
    raise UsageError(f"the schema can't be read: {problem}\n  {before}{shown}{after}\n  {blanks}{marks}\n{SYNTAX}")


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in ("W", "F")
