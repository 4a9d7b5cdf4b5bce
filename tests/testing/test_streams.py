"""Streamed answers, as events and as the SDK reads them."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from llmframe.testing import (
    BadBody,
    Empty,
    Filtered,
    NoChoices,
    Object,
    Refusal,
    StreamError,
    Text,
    ToolCalls,
    Truncated,
    Without,
)

ASK: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def events(text: str) -> list[Any]:
    """The data of each event; the last must be `[DONE]`."""
    lines = [block.removeprefix("data: ") for block in text.split("\n\n") if not block.startswith(":")]
    assert lines[-2:] == ["[DONE]", ""]
    return [json.loads(line) for line in lines[:-2]]


def deltas(chunks: list[Any]) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def said(chunks: list[Any], word: str) -> str:
    return "".join(delta.get(word) or "" for delta in deltas(chunks))


def ends(chunks: list[Any]) -> list[str]:
    found = [chunk["choices"][0].get("finish_reason") for chunk in chunks if chunk["choices"]]
    assert found[:-1] == [None] * (len(found) - 1)
    return found[-1]


def test_a_text_comes_in_pieces_between_the_role_and_the_reason(make_provider, http_kit):
    provider = make_provider()
    whole = http_kit.ask(provider)
    got = http_kit.ask(provider, **ASK)
    chunks = events(got.text)
    assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert deltas(chunks)[0] == {"role": "assistant", "content": "", "refusal": None}
    assert deltas(chunks)[-1] == {}
    assert len(deltas(chunks)) == 2 + 3  # "answer " and 16 digits are 23 characters, 8 in a piece
    assert said(chunks, "content") == whole.content
    assert ends(chunks) == "stop"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole.body["usage"]
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_usage_comes_only_when_it_is_asked_for_and_is_counted_only_then(make_provider, http_kit):
    provider = make_provider()
    silent = events(http_kit.ask(provider, stream=True).text)
    assert not any("usage" in chunk for chunk in silent)
    assert (provider.prompt_tokens, provider.completion_tokens) == (0, 0)
    told = events(http_kit.ask(provider, **ASK).text)[-1]["usage"]
    assert (provider.prompt_tokens, provider.completion_tokens) == (told["prompt_tokens"], told["completion_tokens"])
    assert provider.statuses == {200: 2}


def test_the_arguments_of_a_function_come_in_pieces_after_its_name(make_provider, http_kit):
    provider = make_provider()
    asked = {"tools": [http_kit.function("Answer", http_kit.schema)]}
    whole = http_kit.ask(provider, "row-7", **asked).choice["message"]["tool_calls"][0]["function"]
    chunks = events(http_kit.ask(provider, "row-7", **asked, **ASK).text)
    assert deltas(chunks)[0] == {"role": "assistant", "content": None, "refusal": None}
    first, *others = [delta["tool_calls"][0] for delta in deltas(chunks)[1:-1]]
    assert (first["index"], first["type"], first["function"]) == (0, "function", {"name": "Answer", "arguments": ""})
    assert all(part.keys() == {"index", "function"} for part in others)
    assert "".join(part["function"]["arguments"] for part in others) == whole["arguments"]
    assert ends(chunks) == "tool_calls"


def test_several_calls_keep_their_numbers(make_provider, http_kit):
    provider = make_provider()
    provider.script(ToolCalls([("a", {"x": 1}), ("b", "{broken")]))
    parts = [delta["tool_calls"][0] for delta in deltas(events(http_kit.ask(provider, **ASK).text))[1:-1]]
    assert [(part["index"], part["function"].get("name")) for part in parts if "id" in part] == [(0, "a"), (1, "b")]
    assert "".join(part["function"]["arguments"] for part in parts if part["index"] == 1) == "{broken"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Text("ä" * 20), ("ä" * 20, "", "stop")),
        (Object({"label": "x"}), ('{"label": "x"}', "", "stop")),
        (Refusal("I would rather not"), ("", "I would rather not", "stop")),
        (Filtered(), ("", "", "content_filter")),
        (Empty(), ("", "", "stop")),
        (Truncated(0.0), ("", "", "length")),
    ],
    ids=repr,
)
def test_steps_mean_the_same_in_a_stream(make_provider, http_kit, step, expected):
    provider = make_provider()
    provider.script(step)
    chunks = events(http_kit.ask(provider, **ASK).text)
    assert (said(chunks, "content"), said(chunks, "refusal"), ends(chunks)) == expected


def test_a_stream_may_have_no_choice_at_all(make_provider, http_kit):
    provider = make_provider()
    provider.script(NoChoices())
    chunks = events(http_kit.ask(provider, **ASK).text)
    assert [chunk["choices"] for chunk in chunks] == [[], []]


def test_keys_can_be_left_out_of_every_event(make_provider, http_kit):
    provider = make_provider()
    provider.script(Without("usage", "finish_reason", "role"))
    chunks = events(http_kit.ask(provider, **ASK).text)
    assert not any("usage" in chunk for chunk in chunks)
    assert not any("finish_reason" in chunk["choices"][0] or "role" in chunk["choices"][0]["delta"] for chunk in chunks)
    assert provider.prompt_tokens == 0


def test_one_event_of_a_bad_body_is_broken(make_provider, http_kit):
    provider = make_provider()
    provider.script(BadBody())
    with pytest.raises(json.JSONDecodeError):
        events(http_kit.ask(provider, **ASK).text)


def test_an_error_may_come_in_mid_stream(make_provider, http_kit):
    provider = make_provider()
    provider.script(StreamError(after=2, message="overloaded", code=503), StreamError())
    got = http_kit.ask(provider, **ASK)
    *chunks, last = [json.loads(block.removeprefix("data: ")) for block in got.text.split("\n\n")[:-1]]
    assert got.status == 200
    assert len(chunks) == 1 + 2
    assert last["error"] == {"message": "overloaded", "type": "server_error", "param": None, "code": 503}
    assert (provider.prompt_tokens, provider.faults.total()) == (0, 1)
    whole = http_kit.ask(provider)  # not streamed: the error in place of an answer
    assert (whole.status, whole.body.keys()) == (200, {"error"})


def test_the_openai_sdk_reads_its_streams_and_their_errors(make_provider, http_kit):
    provider = make_provider()
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "row-3"}]}
    with openai.OpenAI(base_url=provider.base_url, api_key=provider.api_key, max_retries=0) as client:
        with client.chat.completions.stream(
            **asked, response_format=http_kit.json_schema(http_kit.schema), stream_options={"include_usage": True}
        ) as stream:
            done = stream.get_final_completion()
        assert json.loads(done.choices[0].message.content or "")["echo"] == "row-3"
        assert done.usage is not None
        assert done.usage.prompt_tokens == provider.prompt_tokens
        provider.script(StreamError(message="overloaded"))
        with pytest.raises(openai.APIError, match="overloaded"):
            list(client.chat.completions.create(**asked, stream=True))
