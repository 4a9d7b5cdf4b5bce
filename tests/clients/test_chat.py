"""The chat-completions form: the wire schema stands in it, and any reply can be read."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llmframe.clients.base import Dialect, Message
from llmframe.clients.chat import Shape, read_chat, reask_messages, shape_of
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall
from llmframe.core.schema import schema_of


class Sentiment(BaseModel):
    label: Literal["pos", "neg"]
    notes: dict[str, str] | None = None


class Topic(BaseModel):
    topic: Literal["bug", "praise"]


STRICT = schema_of(Topic)
OPEN = schema_of(Sentiment)


def test_json_schema_sends_the_wire_schema_and_strict_only_where_it_holds():
    for schema in (STRICT, OPEN):
        asked = shape_of(schema, "json_schema").body["response_format"]
        assert asked["type"] == "json_schema"
        assert asked["json_schema"]["schema"] == schema.wire
        assert asked["json_schema"]["name"] == schema.name
        assert asked["json_schema"].get("strict", False) is schema.strict
    assert STRICT.strict
    assert not OPEN.strict


def test_tools_force_one_function_named_after_the_schema():
    body = shape_of(STRICT, "tools").body
    function = body["tools"][0]["function"]
    assert (function["name"], function["parameters"], function["strict"]) == ("Topic", STRICT.wire, True)
    assert len(body["tools"]) == 1
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Topic"}}


def test_json_mode_tells_the_schema_in_the_system_message():
    shape = shape_of(STRICT, "json")
    assert shape.body == {"response_format": {"type": "json_object"}}
    assert shape.instruction is not None
    assert '"praise"' in shape.instruction
    assert shape.instruction == shape.instruction.strip()


def test_free_text_asks_for_no_shape():
    assert shape_of(schema_of(None), "text") == Shape()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([{"role": "user", "content": "q"}], [{"role": "system", "content": "I"}, {"role": "user", "content": "q"}]),
        (
            [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
            [{"role": "system", "content": "s\n\nI"}, {"role": "user", "content": "q"}],
        ),
        (
            [{"role": "developer", "content": [{"type": "text", "text": "s"}]}],
            [{"role": "developer", "content": [{"type": "text", "text": "s"}, {"type": "text", "text": "I"}]}],
        ),
    ],
)
def test_an_instruction_joins_the_system_message_and_leaves_the_users_list_alone(
    messages: list[Message], expected: list[Message]
):
    before = json.dumps(messages)
    assert Shape({}, "I").instructed(messages) == expected
    assert json.dumps(messages) == before


def test_a_whole_reply_is_read():
    data = {
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": {"content": "hi", "refusal": None}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
    }
    assert read_chat(data) == Reply(text="hi", finish_reason="stop", usage=Usage(3, 2, 1), model="m-1")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": ""}, Reply(text=None)),
        ({"content": None, "refusal": "no"}, Reply(text=None, refusal="no")),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, Reply(text="ab")),
        ({"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]}, Reply(text="a")),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, Reply(text=None, refusal="no")),
        (
            {"tool_calls": [{"function": {"name": "T", "arguments": '{"a":1}'}}]},
            Reply(text=None, tool_calls=(ToolCall("T", '{"a":1}'),)),
        ),
        (
            {"tool_calls": [{"function": {"name": "T", "arguments": {"a": 1}}}]},
            Reply(text=None, tool_calls=(ToolCall("T", '{"a": 1}'),)),
        ),
        (
            {"function_call": {"name": "T", "arguments": "{}"}},
            Reply(text=None, tool_calls=(ToolCall("T", "{}"),)),
        ),
    ],
)
def test_messages_of_other_servers_are_read(message: dict[str, Any], expected: Reply):
    assert read_chat({"choices": [{"message": message}]}) == expected


def test_no_choices_are_no_text_and_missing_usage_is_unknown():
    assert read_chat({"choices": []}) == Reply(text=None)
    assert read_chat({}).usage == Usage(None, None, None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "tool_calls", "function", "usage", "refusal"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "model"]), JSON, max_size=3))
def test_no_json_object_breaks_the_reading(data: dict[str, Any]):
    assert isinstance(read_chat(data), Reply)


def test_a_reask_keeps_the_messages_and_answers_every_call():
    messages: list[Message] = [{"role": "user", "content": "q"}]
    reply = Reply(text=None, tool_calls=(ToolCall("Topic", "{}"), ToolCall("Topic", "[]")))
    made = reask_messages(messages, reply, "topic: missing", Dialect("tools"))
    assert made[0] == messages[0]
    assert [message["role"] for message in made[1:]] == ["assistant", "tool", "tool"]
    assert all("topic: missing" in str(message["content"]) for message in made[2:])
    assert len(messages) == 1


def test_a_reask_in_words_shows_reply_and_problem():
    made = reask_messages([{"role": "user", "content": "q"}], Reply(text="{bad"), "not JSON", Dialect("json_schema"))
    assert made[1] == {"role": "assistant", "content": "{bad"}
    assert "not JSON" in str(made[2]["content"])
