from __future__ import annotations

import json

import pytest

from llmframe.testing.calls import Call, read_call

SCHEMA = {"type": "object", "properties": {"echo": {"type": "string"}, "n": {"type": "integer", "minimum": 7}}}
TOOL = {"type": "function", "function": {"name": "Answer", "parameters": SCHEMA}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "Answer", "schema": SCHEMA}}


def read(prompt="row-5: x", *, ignores=(), system=None, **request) -> Call:
    messages = [{"role": "user", "content": prompt}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    body = {"model": "m", "messages": messages, **request}
    return read_call(body, number=1, ignores=frozenset(ignores))


def test_the_schema_is_found_in_each_form():
    quoted = f"Answer by this JSON schema: {json.dumps(SCHEMA)}"
    calls = [
        read(response_format=FORMAT),
        read(tools=[TOOL]),
        read(system=quoted, response_format={"type": "json_object"}),
        read(system=quoted),
        read(system=json.dumps({"name": "x", "schema": SCHEMA})),
    ]
    assert [call.form for call in calls] == ["json_schema", "tools", "json_object", "text", "text"]
    assert all(call.schema == SCHEMA for call in calls)


def test_the_forced_function_is_called_whatever_its_place():
    other = {"type": "function", "function": {"name": "Other", "parameters": {}}}
    forced = {"type": "function", "function": {"name": "Answer"}}
    assert read(tools=[other, TOOL], tool_choice=forced).tool == "Answer"
    assert read(tools=[other, TOOL], tool_choice="required").tool == "Other"
    assert read(tools=[other, TOOL], tool_choice="none").tool is None


def test_braces_in_a_message_that_are_no_schema_are_text():
    call = read('Reply as {"label": "pos"} for {x}')
    assert (call.form, call.schema) == ("text", None)


def test_the_prompt_is_the_text_of_the_last_user_message():
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "mine"},
        {"role": "user", "content": [{"type": "text", "text": "row-2"}, {"type": "text", "text": "last"}]},
        {"role": "assistant", "content": None},
    ]
    assert read_call({"messages": messages}, number=1, ignores=frozenset()).prompt == "row-2\nlast"


def test_tokens_are_a_quarter_of_the_characters_and_four_a_message():
    call = read("x" * 40, system="y" * 20, max_tokens=100)
    assert call.prompt_tokens == 10 + 4 + 5 + 4
    assert call.charge == 23 + 100
    assert read("x" * 40).charge == 14 + 16


@pytest.mark.parametrize("messages", [None, [], "x", [1]])
def test_messages_of_another_shape_are_a_value_error(messages):
    with pytest.raises(ValueError, match="'messages' must be a list"):
        read_call({"messages": messages}, number=1, ignores=frozenset())
