from __future__ import annotations

from llmframe.testing import Refusal, Text, ToolCalls, Truncated
from llmframe.testing.calls import Call, read_call
from llmframe.testing.said import Said, say, usage, usual_text

TOOL = {"type": "function", "function": {"name": "Answer", "parameters": {"type": "object", "properties": {}}}}


def call_of(prompt: str = "a", **request: object) -> Call:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], **request}
    return read_call(body, number=1, ignores=frozenset())


def test_equal_messages_get_equal_answers_and_others_do_not():
    one, same, other = (usual_text(call_of(prompt)) for prompt in ("a", "a", "b"))
    assert one == same != other


def test_a_step_decides_what_is_said_and_the_form_where_it_is_said():
    assert say(call_of(), Text("x", "length")) == Said(content="x", finish="length")
    assert say(call_of(), Refusal("no")) == Said(refusal="no", finish="stop")
    assert say(call_of(), ToolCalls([("a", {"b": 1}), ("c", "{")])).tool_calls == (("a", '{"b": 1}'), ("c", "{"))
    assert say(call_of(tools=[TOOL]), None) == Said(tool_calls=(("Answer", "{}"),), finish="tool_calls")
    assert say(call_of(tools=[TOOL]), Truncated(0.5)) == Said(tool_calls=(("Answer", "{"),), finish="length")


def test_an_answer_costs_a_quarter_of_its_characters_and_one():
    assert Said(content="123456789", finish="stop").tokens == 3
    assert Said(tool_calls=(("name", "12345678"),), finish="stop").tokens == 4
    assert usage(4, 3)["total_tokens"] == 7
