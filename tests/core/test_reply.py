"""What a reply comes to, and whether another ask can help."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from llmframe.core.outcome import Answer, Failure
from llmframe.core.reply import Reading, Reply, ToolCall, read_reply
from llmframe.core.schema import schema_of


class Label(BaseModel):
    label: Literal["pos", "neg"]
    confidence: float


SCHEMA = schema_of(Label)
FREE = schema_of(None)
POS = '{"label": "pos", "confidence": 0.9}'
SAME = '{"confidence":0.9,"label":"pos"}'
NEG = '{"label": "neg", "confidence": 0.1}'
ANSWER = Answer(POS, ("pos", 0.9))


def calls(*arguments: str, name: str = "Label") -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name, each) for each in arguments)


def outcome(reply: Reply, tool_name: str | None = "Label") -> tuple[str | None, bool]:
    reading = read_reply(reply, SCHEMA, tool_name=tool_name)
    return reading.result.kind if isinstance(reading.result, Failure) else None, reading.reask


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text=POS, finish_reason="stop"),
        Reply(text=POS),
        Reply(text=None, tool_calls=calls(POS), finish_reason="tool_calls"),
        Reply(text="Let me call it.", tool_calls=calls(POS)),
        Reply(text=None, tool_calls=calls(POS, SAME)),
    ],
)
def test_one_answer_is_read_from_text_or_from_the_offered_function(reply):
    assert read_reply(reply, SCHEMA, tool_name="Label") == Reading(ANSWER)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_cut_reply_is_truncated_even_when_it_looks_complete(reason):
    for reply in (
        Reply(text=POS, finish_reason=reason),
        Reply(text=POS[:9], finish_reason=reason),
        Reply(text="", finish_reason=reason),
        Reply(text=None, tool_calls=calls(POS), finish_reason=reason),
    ):
        assert outcome(reply) == ("truncated", False)


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "PROHIBITED_CONTENT"])
def test_a_filtered_reply_is_not_asked_for_again(reason):
    assert outcome(Reply(text=None, finish_reason=reason)) == ("content_filter", False)
    assert outcome(Reply(text=POS, finish_reason=reason, refusal="no")) == ("content_filter", False)


def test_a_refusal_keeps_its_words():
    reading = read_reply(Reply(text=None, refusal="I can't\nhelp with that."), SCHEMA, tool_name=None)
    assert reading == Reading(Failure("refusal", "I can't help with that."))
    assert outcome(Reply(text="No.", finish_reason="refusal")) == ("refusal", False)
    long = read_reply(Reply(text=None, refusal="no " * 500), SCHEMA, tool_name=None)
    assert len(str(long.result)) < 100


@pytest.mark.parametrize(
    ("reply", "tool_name", "said"),
    [
        (Reply(text=None, tool_calls=calls(POS, NEG)), "Label", "2 answers that differ"),
        (Reply(text=None, tool_calls=calls(POS, "{")), "Label", "2 answers that differ"),
        (
            Reply(
                text=None, tool_calls=calls('{"label": "pos", "confidence": 1}', '{"label": "pos", "confidence": true}')
            ),
            "Label",
            "differ",
        ),
        (Reply(text=None, tool_calls=calls(POS, name="other")), "Label", "calls 'other', 'Label' was offered"),
        (Reply(text=None, tool_calls=(*calls(POS), *calls(POS, name="other"))), "Label", "calls 'other'"),
        (Reply(text=POS, tool_calls=calls(POS)), None, "calls 'Label', none was offered"),
    ],
)
def test_calls_that_differ_or_were_not_offered_are_an_error_of_their_own(reply, tool_name, said):
    reading = read_reply(reply, SCHEMA, tool_name=tool_name)
    assert isinstance(reading.result, Failure)
    assert (reading.result.kind, reading.reask) == ("tool_call", False)
    assert said in reading.result.detail


@pytest.mark.parametrize("arguments", ["{", '{"label": "pos"', "", "null", '{"label": "happy", "confidence": 1}'])
def test_malformed_arguments_are_invalid_and_may_be_asked_for_again(arguments):
    assert outcome(Reply(text=None, tool_calls=calls(arguments))) == ("invalid", True)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_text_is_empty_and_not_asked_for_again(text):
    assert outcome(Reply(text=text, finish_reason="stop")) == ("empty", False)
    assert read_reply(Reply(text=text), FREE, tool_name=None).result == Failure("empty", "the reply has no text")


def test_a_text_that_does_not_fit_may_be_asked_for_again():
    assert outcome(Reply(text="Sure!"), tool_name=None) == ("invalid", True)
    assert outcome(Reply(text=NEG + POS), tool_name=None) == ("invalid", True)


def test_free_text_is_taken_as_it_is():
    assert read_reply(Reply(text=" Hi\n"), FREE, tool_name=None) == Reading(Answer(" Hi\n", (" Hi\n",)))
