"""Labels as tokens: where they part, and how likely each is by that."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from llmframe.clients.local_labels import LEAST_LOGPROB, Fork, Labels, forks, labels_of, probabilities
from llmframe.core.outcome import Answer
from llmframe.core.reply import Reply, read_reply
from llmframe.core.schema import schema_of
from llmframe.core.scoring import Confidence
from llmframe.errors import UsageError


class Aliased(BaseModel):
    mood: Optional[Literal["good", "bad"]] = Field(alias="The Mood")  # noqa: UP045 - as users write it


class Two(BaseModel):
    topic: Literal["a", "b"]
    why: str


def test_tokens_are_asked_for_only_where_labels_part():
    # 1 leads to all; 2|5 part there; after 1 2 3 the labels end differently (4|6); 5 7 8 goes on alone.
    assert forks([(1, 2, 3, 4), (1, 2, 3, 6), (1, 5, 7, 8)]) == (Fork((1,), (2, 5)), Fork((1, 2, 3), (4, 6)))


def test_one_label_needs_no_question():
    assert forks([(1, 2)]) == ()
    assert probabilities([(1, 2)], {}) == (1.0,)


@pytest.mark.parametrize("sequences", [[(1, 2), (1, 2)], [(1,), (1, 2)], [(), (1,)]])
def test_labels_that_no_token_tells_apart_are_refused(sequences: list[tuple[int, ...]]):
    with pytest.raises(ValueError, match="apart"):
        forks(sequences)


def test_a_label_has_the_product_along_its_way_among_the_labels_alone():
    said = {(): {1: 0.3, 2: 0.1, 99: 0.6}, (1,): {3: 0.02, 4: 0.06}}
    # At the root 1 and 2 share 0.4: 3/4 and 1/4. After 1: 0.02 and 0.06 are 1/4 and 3/4.
    assert probabilities([(1, 3), (1, 4, 9), (2, 7)], said) == pytest.approx((3 / 16, 9 / 16, 1 / 4))


def test_a_token_that_is_not_told_has_no_probability_and_nothing_at_all_is_refused():
    assert probabilities([(1,), (2,)], {(): {1: 0.5}}) == (1.0, 0.0)
    with pytest.raises(ValueError, match="probability"):
        probabilities([(1,), (2,)], {(): {3: 0.5}})


@given(st.sets(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=12), st.randoms())
def test_probabilities_sum_to_1_whatever_the_tree_and_there_are_fewer_forks_than_labels(words: set[str], random):
    sequences = [(*map(ord, word), 0) for word in sorted(words)]
    places = forks(sequences)
    assert len(places) < len(sequences)
    said = {place.path: {branch: random.uniform(0.01, 1) for branch in place.branches} for place in places}
    assert math.fsum(probabilities(sequences, said)) == pytest.approx(1)


def _tokens(text: str) -> Sequence[int]:
    return text.encode()


@given(st.lists(st.none() | st.booleans() | st.integers() | st.text(), unique_by=json.dumps, min_size=2, max_size=6))
def test_whole_answers_need_no_mark_of_their_end(values: list[object]):
    assert forks([_tokens(answer) for answer in Labels('a "key"', tuple(values)).answers])


@pytest.mark.parametrize(
    ("schema", "key", "values"),
    [
        (["yes", "no"], "response", ("yes", "no")),
        (bool, "response", (False, True)),
        (Aliased, "The Mood", ("good", "bad", None)),
        (Literal[1, 2, "many"], "response", (1, 2, "many")),
    ],
)
def test_labels_are_those_of_the_schema_as_they_stand_in_json(schema: object, key: str, values: tuple[object, ...]):
    assert labels_of(schema_of(schema)) == Labels(key, values)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "asks for free text"),
        (Two, "this one has 'topic', 'why'"),
        (str, "'response' is open"),
        (list[Literal["a", "b"]], "'response' is open"),
    ],
)
def test_a_schema_without_exactly_one_closed_field_is_refused(schema: object, message: str):
    with pytest.raises(UsageError, match="exactly one closed field") as caught:
        labels_of(schema_of(schema))
    assert message in str(caught.value)


@pytest.mark.parametrize("confidence", ["stated", "votes"])
def test_a_confidence_that_a_score_can_not_have_is_refused_with_what_to_ask_for(confidence: Confidence):
    with pytest.raises(UsageError, match="confidence='logprobs'"):
        labels_of(schema_of(["a", "b"], confidence=confidence))


@pytest.mark.parametrize("schema", [["good", 'say "x"', "日本", "good one"], bool, Literal[1, 12, 2], Aliased])
def test_the_shares_are_the_confidence_that_is_read_from_the_reply(schema: object):
    made = schema_of(schema, confidence="logprobs")
    labels = labels_of(made)
    shares = [1 / 2, 1 / 4, 1 / 8, 1 / 8][: len(labels.values)]
    total = sum(shares)
    for turn in range(len(shares)):
        turned = [each / total for each in shares[turn:] + shares[:turn]]
        text, tokens = labels.reply(turned)
        reading = read_reply(Reply(text=text, tokens=tokens, finish_reason="stop"), made, tool_name=None)
        assert isinstance(reading.result, Answer)
        (score,) = reading.result.scores
        assert score.source == "logprobs"
        assert score.confidence == pytest.approx(max(turned))
        assert score.probabilities == pytest.approx(turned)
        assert score.mass == pytest.approx(1)


def test_the_reply_is_the_likeliest_label_and_its_tokens_make_up_the_text():
    schema = schema_of(['say "hi"', "日本", "no"])
    text, tokens = labels_of(schema).reply((0.2, 0.5, 0.3))
    assert schema.read(text) == Answer(text, ("日本",))
    assert b"".join(token.text for token in tokens).decode() == text
    assert [token.logprob for token in tokens] == [0, pytest.approx(math.log(0.5))]
    assert [(text.decode(), round(math.exp(each), 6)) for text, each in tokens[1].top] == [
        ('"日本"}', 0.5),
        ('"no"}', 0.3),
        ('"say \\"hi\\""}', 0.2),
    ]


def test_of_equal_labels_the_first_is_answered_and_none_has_an_endless_logarithm():
    text, tokens = Labels("k", ("a", "b", "c")).reply((0.5, 0.5, 0.0))
    assert json.loads(text) == {"k": "a"}
    assert tokens[1].top[-1] == (b'"c"}', LEAST_LOGPROB)
