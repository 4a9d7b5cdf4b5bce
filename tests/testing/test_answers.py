from __future__ import annotations

import json

from llmframe.testing import Delay, Drip, Hang, Object, Reset, Status, Text, answers
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


def choice(response: answers.Response):
    return json.loads(response.body)["choices"][0]


def test_a_tool_call_ends_with_stop_when_one_function_was_forced_by_name():
    forced = {"type": "function", "function": {"name": "Answer"}}
    assert choice(answers.respond(read(tools=[TOOL], tool_choice=forced), None))["finish_reason"] == "stop"
    assert choice(answers.respond(read(tools=[TOOL]), None))["finish_reason"] == "tool_calls"


def test_an_object_goes_out_in_the_form_that_was_asked_for():
    step = Object({"label": "ä"})
    asked = choice(answers.respond(read(tools=[TOOL]), step))["message"]
    assert asked["tool_calls"][0]["function"] == {"name": "Answer", "arguments": '{"label": "ä"}'}
    assert asked["content"] is None
    assert choice(answers.respond(read(), step))["message"]["content"] == '{"label": "ä"}'


def test_a_delay_adds_up_and_goes_before_another_step():
    response = answers.respond(read(), Delay(1.5, Delay(1, Status(503))))
    assert (response.delay, response.status) == (2.5, 503)


def test_broken_endings_are_told_apart():
    endings = [answers.respond(read(), step).ending for step in (None, Text("x"), Hang(), Reset(), Drip(0.1))]
    assert endings == ["whole", "whole", "hang", "reset", "drip"]
