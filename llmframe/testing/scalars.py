"""Numbers and texts of a JSON schema, derived from a stream of draws."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

T = TypeVar("T")

ECHO_FIELDS = frozenset({"echo", "id"})
"""Names of the fields that carry the row's token back."""
SPAN = 100
"""Width of the range of an integer, in steps, where the schema leaves an end open."""
PATTERN_TRIES = 20
"""Draws for a text that a pattern accepts."""

_LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /:+@#"
_PIECE = re.compile(r"(\\.|\[(?:\\.|[^\]\\])+\]|[^\\\[\](){}|*+?^$])(?:\{(\d+)(?:,(\d*))?\}|([*+?]))?")
_DECIMALS = ("1.5", "12.34", "7", "0.25", "-3", "100", "0")


@dataclass(frozen=True, slots=True)
class Draw:
    """The stream that an answer is drawn from, and the token that it carries back."""

    source: random.Random
    echo: str | None = None

    # Only `random()` is used: Python keeps its sequence for a seed from version to version.
    def share(self) -> float:
        """A number in [0, 1)."""
        return self.source.random()

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        return int(self.source.random() * n)

    def choice(self, values: list[T]) -> T:
        """One of `values`."""
        return values[self.below(len(values))]

    def echoes(self, name: str) -> bool:
        """Whether a field of this name carries the token back."""
        return self.echo is not None and name in ECHO_FIELDS


def number(node: dict[str, Any], name: str, draw: Draw, *, whole: bool) -> int | float:
    """A number within the bounds and on the grid of `multipleOf`.

    Raises
    ------
    ValueError
        If there is none.
    """
    if whole and draw.echoes(name) and not _LIMITS & node.keys():
        return int(re.sub(r"\D", "", draw.echo or "") or 0)
    low, low_open = _bound(node, "minimum", "exclusiveMinimum", max)
    high, high_open = _bound(node, "maximum", "exclusiveMaximum", min)
    grid = "multipleOf" in node
    step = Fraction(str(node["multipleOf"])) if grid else Fraction(1)
    if whole:
        # The integers among the multiples of a/b (in lowest terms) are the multiples of a.
        step = Fraction(step.numerator)
    width = SPAN * step if whole or grid else 1
    if low is None:
        low, low_open = (0, False) if high is None or high > 0 else (high - float(width), False)
    if high is None:
        high, high_open = low + float(width), False
    if not whole and not grid:
        return _between(low, high, draw)
    # Decimal text, not the binary value: 0.3 is a multiple of 0.1.
    first, first_rest = divmod(Fraction(str(low)), step)
    last, last_rest = divmod(Fraction(str(high)), step)
    first += low_open or first_rest > 0
    last -= high_open and last_rest == 0
    if last < first:
        msg = f"no multiple of {step} between {low} and {high}"
        raise ValueError(msg)
    value = (first + draw.below(last - first + 1)) * step
    return int(value) if whole else float(value)


def string(node: dict[str, Any], name: str, draw: Draw) -> str:
    """A text of the format or pattern and within the length; for a pattern too hard to draw from, just a word."""
    shortest: int = node.get("minLength", 0)
    longest: int = node.get("maxLength", 1 << 30)
    made: str | None = None
    if "pattern" in node:
        made = _by_pattern(str(node["pattern"]), draw, shortest, longest)
    elif node.get("format") in _FORMATS:
        made = _FORMATS[node["format"]](draw)
    elif draw.echoes(name):
        made = draw.echo
    if made is not None and shortest <= len(made) <= longest:
        return made
    return f"word{_hex(draw, 6)}".ljust(shortest, "x")[:longest]


def _bound(
    node: dict[str, Any], word: str, open_word: str, tighter: Callable[[float, float], float]
) -> tuple[float | None, bool]:
    """The bound, and whether it is itself excluded."""
    closed, opened = node.get(word), node.get(open_word)
    if isinstance(opened, bool):  # draft 4: a flag beside the bound
        return closed, opened
    if closed is None or opened is None:
        return (opened if closed is None else closed), opened is not None
    bound = tighter(closed, opened)
    return bound, bound == opened


def _between(low: float, high: float, draw: Draw) -> float:
    if high < low:
        msg = f"no number between {low} and {high}"
        raise ValueError(msg)
    value = low + (high - low) * (draw.below(999) + 1) / 1000
    short = round(value, 6)
    return float(short if low < short < high else value)


def _hex(draw: Draw, digits: int) -> str:
    return f"{draw.below(16**digits):0{digits}x}"


def _date(draw: Draw) -> str:
    return f"20{draw.below(25):02d}-{draw.below(12) + 1:02d}-{draw.below(28) + 1:02d}"


def _time(draw: Draw) -> str:
    return f"{draw.below(24):02d}:{draw.below(60):02d}:{draw.below(60):02d}Z"


_FORMATS: dict[str, Callable[[Draw], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda draw: f"{_date(draw)}T{_time(draw)}",
    "duration": lambda draw: f"P{draw.below(9) + 1}DT{draw.below(24)}H{draw.below(60)}M",
    "uuid": lambda draw: f"{_hex(draw, 8)}-{_hex(draw, 4)}-4{_hex(draw, 3)}-8{_hex(draw, 3)}-{_hex(draw, 12)}",
    "email": lambda draw: f"user{_hex(draw, 6)}@example.com",
    "hostname": lambda draw: f"host{_hex(draw, 6)}.example.com",
    "uri": lambda draw: f"https://example.com/{_hex(draw, 6)}",
    "ipv4": lambda draw: f"192.0.2.{draw.below(255)}",
    "ipv6": lambda draw: f"2001:db8::{_hex(draw, 4)}",
}


def _by_pattern(pattern: str, draw: Draw, shortest: int, longest: int) -> str | None:
    """Text for a plain sequence of characters, classes and repeats; decimals are tried for any other pattern."""
    body = pattern.removeprefix("^").removesuffix("$")
    pieces = list(_PIECE.finditer(body))
    tries: list[str] = []
    if "".join(piece.group() for piece in pieces) == body:
        tries = ["".join(_repeat(piece, draw) for piece in pieces) for _ in range(PATTERN_TRIES)]
    start = draw.below(len(_DECIMALS))
    for text in (*tries, *_DECIMALS[start:], *_DECIMALS[:start]):
        if shortest <= len(text) <= longest and re.search(pattern, text):
            return text
    return None


def _repeat(piece: re.Match[str], draw: Draw) -> str:
    atom, low, high, sign = piece.group(1), piece.group(2), piece.group(3), piece.group(4)
    letters = [letter for letter in _ALPHABET if re.fullmatch(atom, letter)] or [atom.lstrip("\\")]
    if low is not None:
        fewest = int(low)
        most = fewest if high is None else fewest + 3 if high == "" else int(high)
    else:
        fewest, most = {"*": (0, 3), "+": (1, 4), "?": (0, 1)}.get(sign, (1, 1))
    return "".join(draw.choice(letters) for _ in range(fewest + draw.below(most - fewest + 1)))
