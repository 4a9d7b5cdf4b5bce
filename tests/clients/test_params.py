"""What may be sent beside the messages."""

from __future__ import annotations

import pytest

from llmframe.clients.params import Params, Streaming, read_params, scored_params
from llmframe.errors import UsageError


@pytest.mark.parametrize(
    "key", ["n", "messages", "model", "tools", "tool_choice", "response_format", "timeout", "max_retries"]
)
def test_a_key_that_belongs_to_an_argument_is_refused_by_name(key: str):
    with pytest.raises(UsageError, match=f"params key '{key}'"):
        read_params({key: 1})


@pytest.mark.parametrize("key", ["n", "messages", "model", "tools", "response_format", "stream"])
def test_an_extra_body_is_no_way_round_an_argument(key: str):
    with pytest.raises(UsageError, match=f"extra_body'\\] key '{key}'"):
        read_params({"extra_body": {key: 1}})


def test_streaming_is_no_part_of_the_body():
    assert read_params({"stream": True}, silence=5.0) == Params(streaming=Streaming(silence=5.0))
    said = read_params({"stream": True, "stream_options": {"include_usage": False}})
    assert (said.streaming, said.body) == (Streaming(options={"include_usage": False}), {})
    assert read_params({"stream": False}) == read_params({"stream": None}) == Params()


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"stream": "yes"}, "must be True or False, got 'yes'"),
        ({"stream": 1}, "must be True or False, got 1"),
        ({"stream_options": {}}, "means nothing without 'stream'"),
        ({"stream": False, "stream_options": {"include_usage": True}}, "means nothing without 'stream'"),
        ({"stream": True, "stream_options": [1]}, "must be a dict, got list"),
        ({"stream": True, "stream_options": {"x": object()}}, "isn't JSON"),
        ({"extra_body": {"stream_options": {}}}, "give it in params itself"),
    ],
)
def test_streaming_said_wrongly_is_refused(params: dict[str, object], told: str):
    with pytest.raises(UsageError, match=told):
        read_params(params)


def test_unknown_keys_pass_and_extras_go_where_they_say():
    params = read_params(
        {
            "temperature": 0,
            "top_k": 3,
            "extra_body": {"guided": True},
            "extra_headers": {"x-a": "b"},
            "extra_query": {"q": "1"},
        }
    )
    assert params.under("max_tokens") == {"temperature": 0, "top_k": 3, "guided": True}
    assert (params.headers, params.query) == ({"x-a": "b"}, {"q": "1"})


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_the_limit_goes_out_under_the_name_that_is_wanted(name: str):
    params = read_params({name: 7})
    assert params.max_tokens_name == name
    assert params.under("max_completion_tokens") == {"max_completion_tokens": 7}
    assert params.under("max_tokens") == {"max_tokens": 7}


def test_nothing_is_sent_that_wasnt_set():
    assert read_params({}).under("max_tokens") == {}


@pytest.mark.parametrize(
    "params",
    [
        {"max_tokens": 1, "max_completion_tokens": 1},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"max_tokens": "7"},
        {"seed": object()},
        {"user": "half a pair: \ud800"},
        {"temperature": float("nan")},
        {"extra_body": [1]},
        {"extra_headers": {"x": 1}},
    ],
)
def test_a_value_that_cant_be_sent_is_refused(params: dict[str, object]):
    with pytest.raises(UsageError):
        read_params(params)


@pytest.mark.parametrize("value", ["SECRET\n", " SECRET", "clé-SECRET", "SEC\x00RET"])
def test_a_header_that_cant_be_sent_is_refused_and_not_shown(value: str):
    with pytest.raises(UsageError, match="'x-key'") as caught:
        read_params({"extra_headers": {"x-key": value}})
    assert "SECRET" not in str(caught.value)


def test_scores_ask_for_as_many_alternatives_as_openai_takes_and_the_users_word_counts():
    assert scored_params({"temperature": 0}) == {"temperature": 0, "logprobs": True, "top_logprobs": 20}
    assert scored_params({"top_logprobs": 5}) == {"logprobs": True, "top_logprobs": 5}
    assert scored_params(scored_params({})) == scored_params({})
    assert scored_params({"logprobs": False}) == {"logprobs": False}


def test_what_scores_ask_is_no_part_of_the_body_and_what_the_user_asks_without_them_is():
    said = read_params({"logprobs": True, "top_logprobs": 5, "seed": 1}, logprobs="tried")
    assert (said.body, said.top_logprobs, said.logprobs) == ({"seed": 1}, 5, "tried")
    assert read_params({"logprobs": True, "top_logprobs": 5}).body == {"logprobs": True, "top_logprobs": 5}


def test_scores_that_the_user_declines_are_left_out_where_they_are_only_tried():
    assert read_params({"logprobs": False}, logprobs="tried").top_logprobs is None
    with pytest.raises(UsageError, match=r'params\["logprobs"\] is False with `confidence="logprobs"`'):
        read_params({"logprobs": False}, logprobs="asked")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"logprobs": 5}, "must be True or False, got 5"),
        ({"top_logprobs": -1}, "must be an integer from 0 to 20, got -1"),
        ({"top_logprobs": True}, "must be an integer from 0 to 20, got True"),
        ({"extra_body": {"top_logprobs": 3}}, "extra_body'\\] key 'top_logprobs' can't be set there"),
    ],
)
def test_log_probabilities_that_cannot_be_asked_for_are_told(params: dict[str, object], told: str):
    with pytest.raises(UsageError, match=told):
        read_params(params, logprobs="asked")
