"""Small labelled texts for demos, documentation and tests."""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import io
from collections.abc import Callable
from importlib import resources
from typing import Literal

from llmframe.errors import UsageError

Source = Literal["amazon", "movies"]

LABELS = ("positive", "negative")
SOURCES: tuple[Source, ...] = ("amazon", "movies")

EXAMPLES = (
    ("Great sound and it lasts all day.", "positive"),
    ("The food was cold and the waiter was rude.", "negative"),
    ("It broke after a week and nobody answered my mails.", "negative"),
    ("Easy to set up, and it does exactly what I need.", "positive"),
    ("Not worth the money, the picture is blurry.", "negative"),
    ("I was sceptical, but this is the best one I have owned.", "positive"),
)
"""What `few_shot` gives, in an order that doesn't alternate: small models copy a rhythm."""

_TYPES: dict[str, Callable[[str], object]] = {"mean": float, "sd": float, "raters": int}

_Row = dict[str, str]


def reviews(
    n: int | None = None, *, balanced: bool = True, seed: int = 0, source: Source | None = None
) -> dict[str, list[object]]:
    """Sentences of reviews with the polarity that 15 to 29 people gave them.

    Parameters
    ----------
    n
        Number of rows; by default as many as there are.
    balanced
        Half of them positive and half negative (of an odd number one more positive); otherwise as the sources
        have them, 55 % positive.
    seed
        Which rows, in which order. With one seed, the rows of a smaller `n` are among those of a larger one.
    source
        `"amazon"` (2,384 on products), `"movies"` (3,000 on films), by default both.

    Returns
    -------
    dict of str to list
        Columns, for `pd.DataFrame(...)` and `pl.DataFrame(...)`: `id`, `source`, `text` (str), `mean` (float, -4
        extremely negative to 4 extremely positive, never between -1 and 1), `sd` (float, of the single ratings),
        `raters` (int), `label` (`"positive"` or `"negative"`, the sign of the mean).

    Raises
    ------
    UsageError
        If `source` is unknown, or `n` is negative or more than there are.

    Notes
    -----
    From Hutto & Gilbert (2014), VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
    Text, ICWSM-14, as shipped by the package vaderSentiment 3.3.2 (MIT licence, in `llmframe/data`). The sentences
    are public since 2014, so models may know them: they are no benchmark.

    Examples
    --------
    >>> columns = reviews(4)
    >>> sorted(columns["label"])
    ['negative', 'negative', 'positive', 'positive']
    """
    if source is not None and source not in SOURCES:
        msg = f"no reviews from source={source!r}; known: {', '.join(map(repr, SOURCES))}"
        raise UsageError(msg)
    rows = sorted(
        (row for row in _load("reviews.csv.gz") if source is None or row["source"] == source),
        key=lambda row: _rank(row, seed),
    )
    if balanced:
        positive, negative = ([row for row in rows if row["label"] == label] for label in LABELS)
        available = 2 * min(len(positive), len(negative))
        count = _checked(n, available, "balanced rows; `balanced=False` has more")
        rows = sorted(
            positive[: (count + 1) // 2] + negative[: count // 2],
            key=lambda row: _rank(row, seed),
        )
    else:
        rows = rows[: _checked(n, len(rows), "rows")]
    names = rows[0] if rows else _load("reviews.csv.gz")[0]
    return {name: [_TYPES.get(name, str)(row[name]) for row in rows] for name in names}


def few_shot(n: int = len(EXAMPLES)) -> list[tuple[dict[str, str], str]]:
    """A fixed handful of labelled sentences for `examples=`, written for this package: none occurs in `reviews`.

    Parameters
    ----------
    n
        How many, 0 to 6.

    Returns
    -------
    list of (dict, str)
        `({"text": ...}, label)`: the row for a template with `{text}`, and its answer.

    Raises
    ------
    UsageError
        If `n` is negative or above 6.

    Notes
    -----
    Examples decide much: with these six, in this order, SmolLM2-135M labels 92 % of 60 balanced Amazon sentences as
    people did; with six clear sentences drawn from the reviews themselves it called all of them positive.

    Examples
    --------
    >>> [label for _, label in few_shot(2)]
    ['positive', 'negative']
    """
    return [({"text": text}, label) for text, label in EXAMPLES[: _checked(n, len(EXAMPLES), "examples")]]


@functools.cache
def _load(name: str) -> tuple[_Row, ...]:
    data = resources.files("llmframe").joinpath("data", name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    return tuple(csv.DictReader(io.StringIO(text, newline="")))


def _rank(row: _Row, seed: int) -> bytes:
    # A hash in place of `random`: the same rows on every version of Python.
    return hashlib.blake2b(f"{seed}:{row['id']}".encode(), digest_size=8).digest()


def _checked(n: int | None, available: int, what: str) -> int:
    if n is None:
        return available
    if not 0 <= n <= available:
        msg = f"n={n!r}: there are {available} {what}"
        raise UsageError(msg)
    return n
