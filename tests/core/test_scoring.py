"""Which fields are scored, what their scores are, and what a store keeps of them."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Literal

import pytest
from pydantic import BaseModel

from llmframe.core.outcome import Answer
from llmframe.core.schema import Schema, schema_of
from llmframe.core.scores import Score
from llmframe.core.scoring import Scoring, option_names, tokens_evidence
from llmframe.core.tokens import Token


class Stars(Enum):
    ONE = 1
    TWO = 2


class Review(BaseModel):
    label: Literal["good", "bad"]
    spam: bool
    reason: str


def scoring_of(schema: Schema) -> Scoring:
    assert schema.scoring is not None
    return schema.scoring


def answer(schema: Schema, text: str) -> Answer:
    found = schema.read(text)
    assert isinstance(found, Answer)
    return found


def test_one_closed_field_has_the_plain_name_and_several_their_own():
    assert schema_of(Literal["a", "b"], confidence="logprobs").confidences == ("confidence",)
    schema = schema_of(Review, confidence="votes")
    assert schema.confidences == ("label_confidence", "spam_confidence")
    assert [each.target.field for each in scoring_of(schema).scored] == ["label", "spam"]


def test_without_a_closed_field_all_are_scored():
    class Place(BaseModel):
        city: str
        code: int

    schema = schema_of(Place, confidence="logprobs")
    assert schema.confidences == ("city_confidence", "code_confidence")
    assert [each.target.options for each in scoring_of(schema).scored] == [(), ()]


def test_a_field_of_the_same_name_keeps_it():
    class Sure(BaseModel):
        label: Literal["a", "b"]
        confidence: str

    assert schema_of(Sure, confidence="logprobs").confidences == ("llm_confidence",)


def test_an_optional_label_may_be_null():
    class Maybe(BaseModel):
        label: Literal["a", "b"] | None

    (scored,) = scoring_of(schema_of(Maybe, confidence="logprobs")).scored
    assert scored.target.options == ("a", "b", None)
    assert scored.cells == ("a", "b", None)
    assert scored.option_of(None) == 2


@pytest.mark.parametrize(
    ("spec", "cells"),
    [(bool, (False, True)), (Stars, (1, 2)), (Literal[3, 4], (3, 4)), (Literal["x", "y"], ("x", "y"))],
)
def test_options_are_known_as_the_cells_they_become(spec: object, cells: tuple[object, ...]):
    schema = schema_of(spec, confidence="logprobs")
    (scored,) = scoring_of(schema).scored
    assert scored.cells == cells
    for place, option in enumerate(scored.target.options):
        value = answer(schema, json.dumps({"response": option})).values[0]
        assert scored.option_of(value) == place


def test_one_and_true_are_two_options():
    (scored,) = scoring_of(schema_of(Literal[1, 2], confidence="logprobs")).scored
    assert scored.option_of(True) is None


def test_tokens_give_a_score_for_each_field():
    schema = schema_of(Literal["good", "bad"], confidence="logprobs")
    text = '{"response": "good"}'
    # p(good) = 0.6 and p(bad) = 0.3 begin in the third token: shares 2/3 and 1/3, mass 0.9
    tokens = (
        Token(b'{"response": ', 0.0),
        Token(b'"', 0.0),
        Token(b"good", math.log(0.6), ((b"good", math.log(0.6)), (b"bad", math.log(0.3)))),
        Token(b'"}', 0.0),
    )
    (score,) = scoring_of(schema).of_tokens(answer(schema, text), text, tokens).scores
    assert score.source == "logprobs"
    assert score.confidence == pytest.approx(2 / 3)
    assert score.probabilities == pytest.approx((2 / 3, 1 / 3))
    assert score.mass == pytest.approx(0.9)


def test_a_call_of_a_function_has_no_tokens():
    schema = schema_of(Literal["good", "bad"], confidence="logprobs")
    (score,) = scoring_of(schema).of_tokens(answer(schema, '{"response": "good"}'), None, None).scores
    assert score == Score(None, "no_logprobs")


def test_what_the_model_states_is_its_own_source():
    schema = schema_of(Literal["good", "bad"], confidence="stated")
    found = scoring_of(schema).of_tokens(answer(schema, '{"response": "good", "confidence": 0.25}'), None, None)
    assert found.scores == (Score(0.25, "stated"),)


def votes(*labels: str, spam: bool = False) -> list[Answer]:
    schema = schema_of(Review, confidence="votes")
    return [
        answer(schema, json.dumps({"label": label, "spam": spam, "reason": f"reason {number}"}))
        for number, label in enumerate(labels)
    ]


def test_the_most_frequent_label_wins_with_the_reason_of_a_sample_that_gave_it():
    found = scoring_of(schema_of(Review, confidence="votes")).of_votes(votes("bad", "good", "good"), asked=4)
    assert found.values == ("good", False, "reason 1")
    label, spam = found.scores
    assert (label.confidence, label.source, label.mass) == (pytest.approx(2 / 3), "votes", 0.75)  # 3 of 4 were valid
    assert label.probabilities == pytest.approx((2 / 3, 1 / 3))
    assert spam.probabilities == (1.0, 0.0)  # False comes first


def test_a_tie_leaves_null():
    found = scoring_of(schema_of(Review, confidence="votes")).of_votes(votes("bad", "good"), asked=2)
    assert found.values[0] is None
    assert (found.scores[0].confidence, found.scores[0].source) == (None, "tie")
    assert found.scores[0].probabilities == (0.5, 0.5)


@pytest.mark.parametrize("confidence", ["logprobs", "auto"])
def test_what_is_kept_is_read_again(confidence: Literal["logprobs", "auto"]):
    schema = schema_of(Literal["good", "bad"], confidence=confidence)
    scoring, plain = scoring_of(schema), answer(schema, '{"response": "good"}')
    scored = Answer(plain.text, plain.values, (Score(0.1 + 0.2, "logprobs", (0.1 + 0.2, 0.7), 0.95),))
    assert scoring.kept(plain, scoring.evidence(scored)) == scored


@pytest.mark.parametrize(
    "evidence",
    [
        None,
        "",
        "no JSON",
        "[]",
        '[[0.5, "guessed", [], null]]',
        '[[0.5, "logprobs", [1.0], 1.0]]',
        "[[1]]",
        "3",
        "{}",
        '{"text": "x", "tokens": [3]}',
    ],
)
def test_without_evidence_that_fits_an_answer_stays_and_says_so(evidence: str | None):
    schema = schema_of(Literal["good", "bad"], confidence="logprobs")
    plain = answer(schema, '{"response": "good"}')
    assert scoring_of(schema).kept(plain, evidence).scores == (Score(None, "no_logprobs"),)


def test_tokens_that_were_kept_without_a_schema_are_scored_when_it_is_known():
    schema = schema_of(Literal["gut", "böse"], confidence="logprobs")
    text = '{"response": "böse"}'
    half = (("b\xc3".encode("latin-1"), math.log(0.5)), (b"gut", math.log(0.4)))
    tokens = (
        Token(b'{"response": "', 0.0),
        Token("b\xc3".encode("latin-1"), math.log(0.5), half),
        Token("\xb6se".encode("latin-1"), 0.0),
        Token(b'"}', 0.0),
    )
    plain = answer(schema, text)
    kept = scoring_of(schema).kept(plain, tokens_evidence(text, tokens))
    assert kept == scoring_of(schema).of_tokens(plain, text, tokens)
    assert kept.scores[0].confidence == pytest.approx(5 / 9)


def test_votes_keep_nothing_beside_their_text():
    schema = schema_of(Literal["good", "bad"], confidence="votes")
    plain = answer(schema, '{"response": "good"}')
    assert scoring_of(schema).evidence(plain) is None
    assert scoring_of(schema).kept(plain, None) == plain


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("a b", True, 2, None), ["a b", "true", "2", "null"]),
        (("1", 1, "ü"), ['"1"', "1", '"ü"']),
        (("null", None), ['"null"', "null"]),
        (("", "a"), ['""', '"a"']),
    ],
)
def test_options_have_names_of_their_own_in_a_distribution(options: tuple[object, ...], names: list[str]):
    assert option_names(options) == names
