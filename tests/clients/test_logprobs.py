"""Log-probabilities become tokens, and what is no log-probability becomes none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.chat import read_chat
from llmframe.clients.logprobs import read_tokens
from llmframe.core.tokens import Token


def entry(text: str, logprob: object = -0.5, *, spelt: object = None, top: object = None) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": spelt, "top_logprobs": top}


def read(*entries: object, text: str | None = None) -> tuple[Token, ...] | None:
    said = "".join(str(each["token"]) for each in entries if isinstance(each, dict)) if text is None else text
    return read_tokens({"content": list(entries), "refusal": None}, said)


def told(*entries: object) -> tuple[Token, ...]:
    tokens = read(*entries)
    assert tokens is not None
    return tokens


def test_a_token_has_its_bytes_its_log_probability_and_the_likeliest_in_their_order():
    top = [entry("neg", -0.1), entry("pos", -2.5)]
    assert read(entry("pos", -2.5, spelt=list(b"pos"), top=top)) == (
        Token(b"pos", -2.5, ((b"neg", -0.1), (b"pos", -2.5))),
    )


def test_bytes_are_the_token_and_its_text_stands_in_where_there_are_none():
    # "ä" in two tokens: OpenAI writes their text as "bytes:\xc3", which isn't what they are
    halves = [entry("bytes:\\xc3", spelt=[0xC3]), entry("bytes:\\xa4", spelt=[0xA4])]
    assert [token.text for token in read(*halves, text="ä") or ()] == [b"\xc3", b"\xa4"]
    assert read(entry("ä")) == (Token("ä".encode(), -0.5),)


@pytest.mark.parametrize("told", [None, [], {}, "no", 3, {"content": None}, {"content": []}, {"content": "x"}])
def test_nothing_told_is_none(told: object):
    assert read_tokens(told, "pos") is None


@pytest.mark.parametrize(
    "odd", [None, 7, "pos", {}, entry("x", None), entry("x", True), entry("x", "-1"), entry("x", math.nan)]
)
def test_a_gap_leaves_none_of_the_tokens_and_only_itself_out_of_the_likeliest(odd: object):
    assert read(entry("a"), odd, entry("b"), text="ab") is None
    assert read(entry("a", top=[odd, entry("b", -3)])) == (Token(b"a", -0.5, ((b"b", -3.0),)),)


def test_the_likeliest_are_a_sequence_like_any_other():
    (found,) = told(entry("a", -0.5, top=[entry("a", -0.5), None, entry("b", -1)]))
    (same,) = told(entry("a", -0.5, top=[entry("a", -0.5), entry("b", -1)]))
    pairs = ((b"a", -0.5), (b"b", -1.0))
    assert (len(found.top), found.top[0], found.top[-1:], tuple(found.top)) == (2, pairs[0], pairs[1:], pairs)
    assert found == same == Token(b"a", -0.5, pairs)
    assert found != Token(b"a", -0.5, pairs[:1])
    assert len({found, same, Token(b"a", -0.5, pairs)}) == 1
    assert repr(found) == repr(Token(b"a", -0.5, pairs))


@pytest.mark.parametrize("endless", [10**400, -(10**400)])
def test_a_whole_number_past_all_numbers_is_a_gap(endless: int):
    assert read(entry("a", endless)) is None
    assert read(entry("a", top=[entry("b", endless)])) == (Token(b"a", -0.5),)


@pytest.mark.parametrize("spelt", [[256], [-1], ["a"], [None]])
def test_bytes_that_are_none_are_a_gap(spelt: object):
    assert read(entry("a", spelt=spelt)) is None


def test_a_probability_is_never_above_one():
    assert read(entry("a", 1e-7)) == (Token(b"a", 0.0),)


def test_parallel_lists_of_older_servers_are_read_alike():
    told = {"tokens": ["a", "b"], "token_logprobs": [-1, -2.0], "top_logprobs": [{"a": -1, "x": -3}, None]}
    assert read_tokens(told, "ab") == (Token(b"a", -1.0, ((b"a", -1.0), (b"x", -3.0))), Token(b"b", -2.0))
    assert read_tokens({**told, "top_logprobs": None}, "ab") == (Token(b"a", -1.0), Token(b"b", -2.0))
    assert read_tokens({**told, "token_logprobs": [None, -2.0]}, "ab") is None
    assert read_tokens({**told, "token_logprobs": [-1.0]}, "ab") is None


def test_tokens_of_a_thought_before_the_text_and_of_its_end_are_left_out():
    tokens = read(*(entry(text) for text in ("<think>", "a", "</think>", '{"a', '": 1}', "<|end|>")), text='{"a": 1}')
    assert [token.text for token in tokens or ()] == [b'{"a', b'": 1}']
    # a token that is partly the text's stays whole
    tokens = read(entry("\n{"), entry("}"), text="{}")
    assert [token.text for token in tokens or ()] == [b"\n{", b"}"]


def test_tokens_that_are_not_those_of_the_text_stay_as_they_are():
    assert [token.text for token in read(entry("x"), entry("y"), text="other") or ()] == [b"x", b"y"]


def test_a_reply_has_the_tokens_of_its_text_and_none_for_a_call_or_a_refusal():
    def reply(message: dict[str, Any]) -> object:
        told = {"content": [entry("pos")], "refusal": [entry("no")]}
        return read_chat({"choices": [{"message": message, "logprobs": told}]}).tokens

    assert reply({"content": "pos"}) == (Token(b"pos", -0.5),)
    assert reply({"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}) is None
    assert reply({"content": None, "refusal": "no"}) is None
    assert read_chat({"choices": [{"message": {"content": "pos"}, "logprobs": None}]}).tokens is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "token", "logprob", "bytes", "top_logprobs", "tokens"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, st.text(max_size=4) | st.none())
def test_no_log_probabilities_of_any_shape_break_a_reply(told: object, text: str | None):
    assert read_tokens(told, text) is None or text
