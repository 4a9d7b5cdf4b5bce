"""Simulated log-probabilities."""

from __future__ import annotations

import json
import math
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing import Logprobs, Object, Refusal, Text, ToolCalls, Truncated
from llmframe.testing.calls import Call, read_call
from llmframe.testing.closed import Opinion
from llmframe.testing.said import say

LABELS = ["good", "good-ish", "bad", "schön"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "label": {"enum": LABELS},
        "count": {"anyOf": [{"enum": [1, 10]}, {"type": "null"}]},
        "echo": {"type": "string"},
    },
    "required": ["label", "count", "echo"],
}
FORM = {"type": "json_schema", "json_schema": {"name": "Answer", "schema": SCHEMA}}


def call(prompt: str = "row-1", *, top: int | None = 20, stated: Any = None, **traits: Any) -> Call:
    asked = {"logprobs": True, "top_logprobs": top} if top is not None else {}
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "response_format": FORM, **asked}
    read = read_call(body, number=1, ignores=frozenset())
    return type(read)(
        **{name: getattr(read, name) for name in read.__slots__}
        | {
            "opinion": Opinion(stated=stated),
            "logprobs": Logprobs(**traits),
        }
    )


def entries(asked: Call, step: Any = None) -> list[dict[str, Any]]:
    return [token.entry for token in say(asked, step).emitted or ()]


def chance(asked: Call, value: str, step: Any = None) -> float:
    """The probability of the tokens of `"label": "<value>"` in the answer, the model's part outside left out."""
    said = say(asked, step)
    text, product, at = (said.content or "").encode(), 1.0, 0
    begin = text.index(b'"label": ') + len(b'"label": ')
    end = begin + len(json.dumps(value, ensure_ascii=False).encode())
    for token in said.emitted or ():
        after = at + len(token.text)
        # the tokens that decide: from the label's first byte to the character that ends it
        if after > begin + 1 and at < end + 1:
            product *= math.exp(token.entry["logprob"])
        at = after
    return product / (1 - asked.logprobs.outside)


@given(
    prompt=st.text(max_size=20),
    step=st.sampled_from([None, Text("no JSON ✓"), Object({"label": "bad", "x": [1]})]),
    per_byte=st.booleans(),
)
def test_tokens_make_up_the_text_and_carry_their_bytes(prompt: str, step: Any, *, per_byte: bool):
    asked = call(prompt, per_byte=per_byte)
    said = say(asked, step)
    assert b"".join(bytes(token.entry["bytes"]) for token in said.emitted or ()).decode() == said.content
    assert said.tokens == len(said.emitted or ())
    for token in said.emitted or ():
        assert token.text == bytes(token.entry["bytes"])
        assert len(token.entry["top_logprobs"]) == 20
        assert sum(math.exp(each["logprob"]) for each in token.entry["top_logprobs"]) <= 1 + 1e-9
    if per_byte:
        assert {len(token.text) for token in said.emitted or ()} == {1}


@given(prompt=st.text(max_size=20), label=st.sampled_from(LABELS), per_byte=st.booleans())
def test_a_listed_value_has_its_stated_probability_over_all_of_its_tokens(prompt: str, label: str, *, per_byte: bool):
    shares = dict(zip(LABELS, (0.4, 0.3, 0.2, 0.1), strict=True))
    asked = call(prompt, stated=shares, per_byte=per_byte, outside=0.25)
    assert chance(asked, label, Object({"label": label, "count": 1, "echo": ""})) == pytest.approx(shares[label])


def test_what_is_said_is_the_likeliest_and_the_same_every_time():
    for number in range(20):
        asked = call(f"row-{number}")
        assert entries(asked) == entries(asked)
        label = json.loads(say(asked, None).content or "")["label"]
        assert chance(asked, label) >= 0.5


def test_values_are_cut_in_many_ways_and_characters_too():
    firsts: set[bytes] = set()
    broken = 0
    for number in range(40):
        for token in say(call(f"row-{number}"), Object({"label": "schön", "count": None, "echo": ""})).emitted or ():
            if b"sch" in token.text or token.text.endswith(b"sc"):
                firsts.add(token.text)
            broken += token.entry["token"].startswith("bytes:")
    assert any(first.startswith(b'"') for first in firsts), "with its quote"
    assert any(first.startswith(b"s") for first in firsts), "without"
    assert broken


def test_a_quote_decides_where_null_may_stand_in_a_texts_place():
    schema = {"type": "object", "properties": {"label": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}}}
    for number in range(10):
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": str(number)}],
            "logprobs": True,
            "top_logprobs": 3,
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
        }
        asked = read_call(body, number=1, ignores=frozenset())
        own = next(
            each
            for each in entries(asked, Object({"label": "a"}))
            if "a" in each["token"].removeprefix('"') and "l" not in each["token"]
        )
        assert own["token"].startswith('"')
        assert any(other["token"].startswith("nu") for other in own["top_logprobs"])


def test_before_a_grammar_is_applied_the_answer_may_be_missing_among_the_likeliest():
    asked = call(stated={"bad": 0.9}, top=3, outside=0.99)
    label = next(each for each in entries(asked) if each["logprob"] < math.log(0.5))
    assert label["token"] not in [each["token"] for each in label["top_logprobs"]]
    # 0.9 of the hundredth that the values have together
    assert math.exp(label["logprob"]) == pytest.approx(0.009)


def test_a_token_that_is_hidden_leaves_its_place_to_the_next():
    for each in entries(call(hides_emitted=True, top=2)):
        assert each["bytes"] not in [other["bytes"] for other in each["top_logprobs"]]
        assert len(each["top_logprobs"]) == 2


def test_fewer_come_back_than_were_asked_for_and_bytes_may_be_untold():
    told = entries(call(tops=4, tells_bytes=False, per_byte=True), Object({"label": "schön", "count": 1, "echo": ""}))
    assert {len(each["top_logprobs"]) for each in told} == {4}
    assert {each["bytes"] for each in told} == {None}
    assert "\ufffd" in [each["token"] for each in told]


def test_nothing_is_told_unasked_or_of_anything_but_text():
    assert say(call(top=None), None).emitted is None
    for step in (Refusal(), ToolCalls([("f", {})])):
        assert say(call(), step).emitted is None
    assert {len(each["top_logprobs"]) for each in entries(call(top=0))} == {0}


def test_an_answer_that_is_cut_has_the_tokens_up_to_there():
    said = say(call(), Truncated(0.4))
    assert b"".join(token.text for token in said.emitted or ()).decode() == said.content


def test_they_stand_in_the_choice_as_the_sdk_reads_them(make_provider, http_kit):
    provider = make_provider()
    client = openai.OpenAI(base_url=provider.base_url, api_key="k")
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "row-1"}], "response_format": FORM}
    choice = client.chat.completions.create(**asked, logprobs=True, top_logprobs=2).choices[0]
    assert choice.logprobs is not None
    told = choice.logprobs.content or []
    assert b"".join(bytes(each.bytes or ()) for each in told).decode() == choice.message.content
    assert http_kit.ask(provider).choice["logprobs"] is None
    pieces = list(client.chat.completions.create(**asked, logprobs=True, top_logprobs=2, stream=True))
    streamed = [
        each
        for piece in pieces
        for each in (piece.choices[0].logprobs.content or [] if piece.choices[0].logprobs else [])
    ]
    assert streamed == told
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == choice.message.content
    client.close()


def test_usage_counts_the_tokens_that_are_told(make_provider, http_kit):
    got = http_kit.ask(make_provider(), response_format=FORM, logprobs=True)
    assert got.body["usage"]["completion_tokens"] == len(got.choice["logprobs"]["content"])


@pytest.mark.parametrize(
    ("traits", "body", "told"),
    [
        ({"refuses_params": ("logprobs",)}, {"logprobs": True}, ("unsupported_parameter", "logprobs")),
        ({}, {"logprobs": True, "top_logprobs": 21}, ("integer_above_max_value", "top_logprobs")),
        (
            {"logprobs": Logprobs(most=5)},
            {"logprobs": True, "top_logprobs": 6},
            ("integer_above_max_value", "top_logprobs"),
        ),
        ({}, {"top_logprobs": 2}, (None, "top_logprobs")),
    ],
)
def test_what_a_server_does_not_take_is_a_400_that_names_it(make_provider, http_kit, traits, body, told):
    got = http_kit.ask(make_provider(**traits), **body)
    assert (got.status, got.error["code"], got.error["param"]) == (400, *told)


def test_a_server_may_overlook_them_in_silence(make_provider, http_kit):
    got = http_kit.ask(make_provider(ignores=("logprobs",)), logprobs=True, top_logprobs=99)
    assert (got.status, got.choice["logprobs"]) == (200, None)
