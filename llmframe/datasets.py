"""Small labelled texts for demos, documentation and tests."""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import io
import statistics
from collections.abc import Callable
from importlib import resources
from typing import Literal

from llmframe.errors import UsageError

Source = Literal["amazon", "movies"]
Rated = Literal["amazon", "tweets"]

LABELS = ("positive", "negative")
SOURCES: tuple[Source, ...] = ("amazon", "movies")
RATED: tuple[Rated, ...] = ("amazon", "tweets")

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


def ratings(name: Rated = "amazon", n: int | None = None, *, seed: int = 0) -> dict[str, list[object]]:
    """Short texts with every single rating that people gave to how positive they are.

    Parameters
    ----------
    name
        `"amazon"`: 3,708 snippets of product reviews, 20 raters each; `"tweets"`: 4,200 tweets, of which 3,200 have
        20 raters and 1,000 have 92 to 99.
    n
        Number of rows; by default all of them.
    seed
        Which rows, in which order. With one seed, the rows of a smaller `n` are the first of a larger one.

    Returns
    -------
    dict of str to list
        Columns, for `pd.DataFrame(...)` and `pl.DataFrame(...)`: `id` (of `"amazon"` the same as in `reviews`), `text`
        (str), `ratings` (list of int, -4 extremely negative to 4 extremely positive, 0 neutral), `mean` and `sd`
        (float, of the ratings; `sd` is the population's), `raters` (int).

    Raises
    ------
    UsageError
        If `name` is unknown, or `n` is negative or more than there are.

    Notes
    -----
    From Hutto & Gilbert (2014), VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
    Text, ICWSM-14, as shipped by the package vaderSentiment 3.3.2 (MIT licence, in `llmframe/data`). Nothing is left
    out: Krippendorff's alpha (interval) of all ratings is 0.820 on `"amazon"` and 0.783 on `"tweets"` (0.713 on the
    tweets with 20 raters alone: those with more weigh more, and were agreed upon more). The raters are anonymous, and
    the first rating of two items needn't be one person's: use measures for interchangeable raters (alpha), not kappa
    between two places. The texts are public since 2014, so models may know them.

    Examples
    --------
    >>> row = {name: values[0] for name, values in ratings("amazon", 1).items()}
    >>> row["raters"], len(row["ratings"])
    (20, 20)
    """
    if name not in RATED:
        msg = f"no ratings of name={name!r}; known: {', '.join(map(repr, RATED))}"
        raise UsageError(msg)
    rows = sorted(_load(f"ratings_{name}.csv.gz"), key=lambda row: _rank(row, seed))
    rows = rows[: _checked(n, len(rows), "rows")]
    votes = [[int(vote) for vote in row["ratings"].split()] for row in rows]
    return {
        "id": [row["id"] for row in rows],
        "text": [row["text"] for row in rows],
        "ratings": list(votes),
        "mean": [round(statistics.fmean(given), 4) for given in votes],
        "sd": [round(statistics.pstdev(given), 4) for given in votes],
        "raters": [len(given) for given in votes],
    }


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
