"""Which fields of an answer get a confidence, and how an answer gets it: from its tokens, its votes or a store."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from llmframe.core.confidence import token_scores
from llmframe.core.outcome import Answer
from llmframe.core.scores import SOURCES, Score, Target
from llmframe.core.tokens import Token
from llmframe.core.votes import tally

Confidence = Literal["stated", "logprobs", "votes", "auto"]
"""Where confidences come from: what the model says, its tokens' probabilities, several samples, or what there is."""

CONFIDENCES: Final[tuple[Confidence, ...]] = get_args(Confidence)


@dataclass(frozen=True, slots=True)
class Scored:
    """A target with its place among an answer's values, and the cells that its options become."""

    target: Target
    place: int
    cells: tuple[object, ...] = ()

    def option_of(self, value: object) -> int | None:
        """The place of the option that is `value` in the answer's values; `None` for a free value."""
        for place, cell in enumerate(self.cells):
            if type(cell) is type(value) and cell == value:
                return place
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What is scored in the answers to one schema.

    Parameters
    ----------
    source
        As the caller said.
    scored
        The fields; for `"stated"` those that hold the confidences themselves.
    """

    source: Confidence
    scored: tuple[Scored, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is scored, without its places."""
        return tuple(each.target for each in self.scored)

    def of_tokens(self, answer: Answer, text: str | None, tokens: Sequence[Token] | None) -> Answer:
        """`answer` with its scores by the tokens of the reply that it was read from.

        Parameters
        ----------
        text
            The reply's text as received; `None` when the answer came in a function call.
        tokens
            Those of `text`; `None` when the provider told none.
        """
        if self.source == "stated":
            return dataclasses.replace(answer, scores=tuple(_stated(answer.values[each.place]) for each in self.scored))
        if self.source == "votes" and not tokens:
            return answer
        values = [self._said(each, answer) for each in self.scored]
        told = tokens if text is not None else None
        return dataclasses.replace(answer, scores=token_scores(text or "", told, self.targets, values))

    def of_votes(self, answers: Sequence[Answer], *, asked: int) -> Answer:
        """One answer that stands for several samples of the same request.

        Of every scored field the most frequent value; on a tie the one with the larger mean log-probability, where the
        samples have any, else null. The other fields are those of the first sample that agrees in the most.

        Parameters
        ----------
        answers
            Of the valid samples, at least one.
        asked
            How many samples there were, invalid ones among them.
        """
        winners: dict[int, object] = {}
        scores: list[Score] = []
        for number, each in enumerate(self.scored):
            votes = [answer.values[each.place] for answer in answers]
            told = [_logprob(answer.scores[number]) if answer.scores else None for answer in answers]
            vote = tally(votes, each.cells, logprobs=told)
            winners[each.place] = vote.value
            scores.append(Score(vote.confidence, vote.source, vote.probabilities, len(answers) / asked))
        agreeing = [sum(answer.values[place] == value for place, value in winners.items()) for answer in answers]
        closest = answers[agreeing.index(max(agreeing))]
        values = tuple(winners.get(place, value) for place, value in enumerate(closest.values))
        return Answer(closest.text, values, tuple(scores))

    def evidence(self, answer: Answer) -> str | None:
        """What a store keeps of the scores; `None` where they follow from the answer."""
        if self.source == "stated" or not answer.scores:
            return None
        return json.dumps([[s.confidence, s.source, s.probabilities, s.mass] for s in answer.scores])

    def kept(self, answer: Answer, evidence: str | None) -> Answer:
        """`answer`, read from a store, with the scores that were kept with it, or those by the tokens that were.

        Without any that fit, log-probabilities are said not to be there: the answer is paid, it isn't asked again.
        """
        found = None if evidence is None or self.source == "stated" else _read(evidence)
        if isinstance(found, tuple) and self._fit(found):
            return dataclasses.replace(answer, scores=found)
        return self.of_tokens(answer, *(found if isinstance(found, list) else (None, None)))

    def _fit(self, scores: tuple[Score, ...]) -> bool:
        return len(scores) == len(self.scored) and all(
            len(score.probabilities) in (0, len(each.cells)) for score, each in zip(scores, self.scored, strict=True)
        )

    def _said(self, each: Scored, answer: Answer) -> object:
        """The value in JSON's terms."""
        value = answer.values[each.place]
        option = each.option_of(value)
        return value if option is None else each.target.options[option]


def evidence_of(
    scoring: Scoring | None, answer: Answer, text: str | None, tokens: Sequence[Token] | None
) -> str | None:
    """What a store keeps beside an answer: its scores; where none were asked for, the tokens that came all the same."""
    if scoring is not None and scoring.source != "stated":
        return scoring.evidence(answer)
    return tokens_evidence(text, tokens) if tokens and text is not None else None


def tokens_evidence(text: str, tokens: Sequence[Token]) -> str:
    """What a store keeps of a reply whose schema isn't known yet: its tokens, some 300 bytes each."""
    told = [[_latin(t.text), t.logprob, [[_latin(said), logprob] for said, logprob in t.top]] for t in tokens]
    return json.dumps({"text": text, "tokens": told})


def scored_field(target: Target, place: int, cell: Callable[[Any], Any]) -> Scored:
    """A target whose options become cells by `cell`; one with options that it refuses is a free one."""
    try:
        return Scored(target, place, tuple(None if option is None else cell(option) for option in target.options))
    except (TypeError, ValueError, AttributeError):
        return Scored(Target(target.field, target.key), place)


def option_names(options: Sequence[object]) -> list[str]:
    """Options as names in a distribution: a label as it is, anything else as it stands in JSON.

    A label stands there with quotes where it would be another option's name, or none at all: two fields of a struct
    can't have one name, and polars gives an empty one a name of its own.
    """
    names = [option if isinstance(option, str) else json.dumps(option) for option in options]
    if len(set(names)) == len(names) and all(names):
        return names
    return [json.dumps(option, ensure_ascii=False) for option in options]


def _stated(value: object) -> Score:
    return Score(_number(value), "stated")


def _logprob(score: Score) -> float | None:
    return math.log(score.confidence) if score.confidence else None


def _read(evidence: str) -> tuple[Score, ...] | list[Any] | None:
    """The scores that were kept; or a text and its tokens; `None` for anything else."""
    try:
        kept: Any = json.loads(evidence)
        if isinstance(kept, dict):
            told = cast("dict[str, Any]", kept)
            return [str(told["text"]), tuple(_token(each) for each in told["tokens"])]
        return tuple(_score(each) for each in kept)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _token(entry: object) -> Token:
    text, logprob, top = cast("tuple[Any, ...]", entry)
    return Token(text.encode("latin-1"), float(logprob), tuple((said.encode("latin-1"), float(p)) for said, p in top))


def _latin(data: bytes) -> str:
    """Any bytes as a text that JSON can hold."""
    return data.decode("latin-1")


def _score(entry: object) -> Score:
    confidence, source, probabilities, mass = cast("tuple[Any, ...]", entry)
    if source not in SOURCES:
        raise ValueError("an unknown source")
    return Score(_number(confidence), source, tuple(float(each) for each in probabilities), _number(mass))


def _number(value: object) -> float | None:
    return None if value is None else float(cast("float", value))
