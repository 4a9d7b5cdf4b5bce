"""One request for a message, and what answers it."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message
from anthropic.types.shared.error_response import ErrorResponse

from llmframe.testing import Empty, Filtered, Object, Refusal, Text, ToolCalls, Truncated
from llmframe.testing.anthropic_messages import answered, incomplete, prompt_of, refused, trouble

PARAMS: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
TOOL: dict[str, Any] = {
    "tools": [{"name": "Label", "input_schema": {"type": "object", "properties": {"x": {"const": 1}}}}],
    "tool_choice": {"type": "tool", "name": "Label"},
}


@pytest.mark.parametrize(
    ("step", "stop", "content"),
    [
        (Text("hello"), "end_turn", [("text", "hello")]),
        (Object({"x": 1}), "tool_use", [("tool_use", {"x": 1})]),
        (Truncated(0.5), "max_tokens", [("tool_use", {})]),
        (Refusal("No."), "refusal", [("text", "No.")]),
        (Filtered(), "refusal", []),
        (Empty(), "end_turn", []),
        (
            ToolCalls([("Label", {"x": 1}), ("Other", "{broken")]),
            "tool_use",
            [("tool_use", {"x": 1}), ("tool_use", {})],
        ),
    ],
)
def test_each_step_is_a_message_of_the_sdks_type(step: Any, stop: str, content: list[tuple[str, object]]):
    message = Message.model_validate(answered({**PARAMS, **TOOL}, step, number=7, tier="batch"))
    assert message.stop_reason == stop
    said = [(block.type, block.text if block.type == "text" else block.input) for block in message.content]  # type: ignore[union-attr]
    assert said == content
    assert (message.id, message.model, message.usage.service_tier) == ("msg_000000000000000000000007", "m", "batch")


def test_system_text_that_is_marked_for_the_cache_is_read_from_it():
    system = [{"type": "text", "text": "x" * 400, "cache_control": {"type": "ephemeral"}}]
    usage = answered({**PARAMS, "system": system}, None, number=1, tier="standard")["usage"]
    # 400 characters are 100 tokens; beside them 4 for each of the two messages, and "hi" has none
    assert (usage["cache_read_input_tokens"], usage["input_tokens"]) == (100, 8)


@pytest.mark.parametrize("missing", ["model", "max_tokens", "messages"])
def test_a_request_that_lacks_a_field_is_incomplete(missing: str):
    wrong = incomplete({name: value for name, value in PARAMS.items() if name != missing})
    assert wrong is not None
    assert wrong.message == f"{missing}: Field required"
    assert incomplete(PARAMS) is None
    assert incomplete([]) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"max_tokens": 0},
        {"max_tokens": "9"},
        {"max_tokens": True},
        {"messages": []},
        {"messages": "hi"},
        {"messages": [{"role": "system", "content": "hi"}]},
        {"messages": [{"role": "user", "content": " "}]},
    ],
)
def test_a_complete_request_may_be_wrong_all_the_same(changes: dict[str, Any]):
    wrong = refused({**PARAMS, **changes})
    assert wrong is not None
    assert wrong.status == 400
    assert refused(PARAMS) is None


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500, 502, 504, 529])
def test_a_refusal_is_of_the_sdks_type(status: int):
    told = ErrorResponse.model_validate(trouble(status).body("req_1"))
    assert told.error.message
    assert told.request_id == "req_1"


def test_the_prompt_is_the_last_thing_that_the_user_said():
    said = [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b"}]
    assert prompt_of({"messages": said}) == "a"
    assert prompt_of({}) == ""
