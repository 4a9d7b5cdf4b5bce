"""Labels as the tokens of a model, and how likely each is by what the model says where they part.

The labels' token sequences form a tree. Where only one label goes on nothing is open; where several do, the model is
asked once how likely each next token is among theirs. A label's probability is the product along its way: the one with
which the model, held to these answers token by token, would write this one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.core.schema import Schema
from llmframe.core.tokens import Token
from llmframe.errors import UsageError

LEAST_LOGPROB: Final = -103.0
"""Stands for 0, which has no logarithm: of the smallest probability that the server's numbers hold (1.4e-45)."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The one field of a schema that is chosen for it, and what it may be.

    Parameters
    ----------
    key
        Its key in the JSON object of an answer.
    values
        What it may be, as it stands in JSON, each once.
    """

    key: str
    values: tuple[object, ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The whole answer with each value, as examples show it; none is the start of another."""
        return tuple(f"{self._head}{text}}}" for text in self._texts)

    @property
    def _head(self) -> str:
        return f"{{{json.dumps(self.key, ensure_ascii=False)}: "

    @property
    def _texts(self) -> tuple[str, ...]:
        return tuple(json.dumps(value, ensure_ascii=False) for value in self.values)

    def reply(self, probabilities: Sequence[float]) -> tuple[str, tuple[Token, ...]]:
        """The answer with the likeliest value (of equal ones the first), and its tokens.

        What comes before the value is certain. The value is one token to the text's end, which tells 1 from the start
        of 12; the others with their log-probabilities are what might have stood there.
        """
        logprobs = [max(math.log(each), LEAST_LOGPROB) if each > 0 else LEAST_LOGPROB for each in probabilities]
        best = max(range(len(logprobs)), key=logprobs.__getitem__)
        texts = [f"{text}}}".encode() for text in self._texts]
        ranked = sorted(zip(texts, logprobs, strict=True), key=lambda pair: -pair[1])
        return self.answers[best], (
            Token(self._head.encode(), 0.0),
            Token(texts[best], logprobs[best], tuple(ranked)),
        )


@dataclass(frozen=True, slots=True)
class Fork:
    """Where labels part: the tokens that lead there from the prompt's end, and those that may come next."""

    path: tuple[int, ...]
    branches: tuple[int, ...]


def labels_of(schema: Schema) -> Labels:
    """The labels that a schema asks to choose among.

    Raises
    ------
    UsageError
        If the schema has no field, several, or one that isn't closed.
    """
    wanted = "wants a schema with exactly one closed field, such as Literal['yes', 'no'], an Enum or bool"
    if schema.model is None:
        raise UsageError(f"output_mode 'score' {wanted}; this call asks for free text")
    source = schema.scoring.source if schema.scoring else None
    if source == "stated":
        raise UsageError(
            f"output_mode 'score' {wanted}; confidence='stated' asks for a number beside it: "
            "confidence='logprobs' tells how likely the label is"
        )
    if source == "votes":
        raise UsageError(
            "output_mode 'score' draws nothing, so all votes would be the same: confidence='logprobs' tells how "
            "likely the label is"
        )
    if len(schema.fields) != 1:
        names = ", ".join(repr(field.name) for field in schema.fields)
        raise UsageError(f"output_mode 'score' {wanted}; this one has {names}: leave `output_mode` out")
    (field,) = schema.fields
    if not field.closed:
        raise UsageError(f"output_mode 'score' {wanted}; {field.name!r} is open: leave `output_mode` out")
    ((key, shape),) = cast("dict[str, Any]", schema.wire["properties"]).items()
    nothing = (None,) if _takes_null(shape) and None not in field.allowed else ()
    return Labels(key, (*field.allowed, *nothing))


def forks(sequences: Sequence[Sequence[int]]) -> tuple[Fork, ...]:
    """Where token sequences part, from the first token on; none where there is only one.

    Raises
    ------
    ValueError
        If two are equal, or one is the start of another: no token tells them apart.
    """
    found: list[Fork] = []
    open_: list[tuple[tuple[int, ...], list[Sequence[int]]]] = [((), list(sequences))]
    while open_:
        path, group = open_.pop(0)
        if len(group) == 1:
            continue
        if any(len(each) == len(path) for each in group):
            raise ValueError("no token tells two of the sequences apart")
        by_next: dict[int, list[Sequence[int]]] = {}
        for each in group:
            by_next.setdefault(each[len(path)], []).append(each)
        if len(by_next) > 1:
            found.append(Fork(path, tuple(by_next)))
        open_.extend(((*path, token), those) for token, those in by_next.items())
    return tuple(found)


def probabilities(
    sequences: Sequence[Sequence[int]], said: Mapping[tuple[int, ...], Mapping[int, float]]
) -> tuple[float, ...]:
    """How likely each sequence is, with sum 1.

    Parameters
    ----------
    sequences
        The tokens of each label.
    said
        By the path of each fork: how likely each of its branches is, in any unit; one that isn't named has 0.

    Raises
    ------
    ValueError
        If no branch of a fork has a probability.
    """
    shares: dict[tuple[int, ...], dict[int, float]] = {}
    for fork in forks(sequences):
        told = {branch: said[fork.path].get(branch, 0.0) for branch in fork.branches}
        total = math.fsum(told.values())
        if not total > 0:
            raise ValueError("no branch has a probability")
        shares[fork.path] = {branch: each / total for branch, each in told.items()}
    return tuple(
        math.prod(share[each[len(path)]] for path, share in shares.items() if tuple(each[: len(path)]) == path)
        for each in sequences
    )


def _takes_null(shape: dict[str, Any]) -> bool:
    kinds = shape.get("type", ())
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(_takes_null(each) for each in shape.get("anyOf", ()))
    )
