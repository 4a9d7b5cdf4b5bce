"""Log-probabilities as a provider tells them: the tokens of an answer, each with the 20 likeliest at its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LIKELIEST = 20
LABELS = ("positive", "negative", "neutral")
FIRST = 4  # characters of a label's first token

Entry = dict[str, Any]


def entries(mark: str, labels: Sequence[str] = LABELS) -> list[Entry]:
    """`content` of the answer in the form of `Review` that says the first of the labels.

    The row's mark is one token, without bytes: a server puts marks into ready text.
    """
    chosen = labels[0]
    before = [_token(piece) for piece in ('{"', "echo", '":"')]
    marked = [{**_token(mark), "bytes": None}]
    between = [_token(piece) for piece in ('","', "label", '":"')]
    rivals = list(dict.fromkeys(label[:FIRST] for label in labels if label[:FIRST] != chosen[:FIRST]))
    label = [_token(chosen[:FIRST], rivals), _token(chosen[FIRST:])]
    after = [_token(piece) for piece in ('","', "score", '":', "0", ".5", "}")]
    return [*before, *marked, *between, *label, *after]


def _token(text: str, rivals: Sequence[str] = ()) -> Entry:
    others = [*rivals, *(f"token{number}" for number in range(LIKELIEST))][: LIKELIEST - 1]
    top = [_entry(text, -0.1), *(_entry(other, -3.0 - number / 2) for number, other in enumerate(others))]
    return {**_entry(text, -0.1), "top_logprobs": [*top]}


def _entry(text: str, logprob: float) -> Entry:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}
