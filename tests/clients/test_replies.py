"""Replies of providers whose SDKs aren't installed here, by the forms that they document."""

from __future__ import annotations

import pytest

from llmframe.clients.base import RequestError
from llmframe.clients.replies import read_reply
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall


def test_coheres_form_is_read():
    raw = {
        "id": "x",
        "finish_reason": "MAX_TOKENS",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "hi"}],
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "T", "arguments": "{}"}}],
        },
        "usage": {"tokens": {"input_tokens": 3.0, "output_tokens": 2.0}},
    }
    expected = Reply(text="hi", tool_calls=(ToolCall("T", "{}"),), finish_reason="length", usage=Usage(3, 2))
    assert read_reply(raw) == expected


def test_bedrocks_form_is_read():
    raw = {
        "output": {"message": {"role": "assistant", "content": [{"toolUse": {"name": "T", "input": {"a": 1}}}]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
    }
    expected = Reply(text=None, tool_calls=(ToolCall("T", '{"a": 1}'),), finish_reason="tool_calls", usage=Usage(3, 2))
    assert read_reply(raw) == expected


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"])
def test_googles_filters_have_one_word(reason: str):
    assert read_reply({"candidates": [{"finish_reason": reason}]}).finish_reason == "content_filter"


def test_a_prompt_that_google_blocks_has_no_candidates():
    raw = {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}}
    assert read_reply(raw) == Reply(text=None, finish_reason="content_filter")


def test_googles_thoughts_are_no_text():
    parts = [{"text": "hm", "thought": True}, {"text": "hi"}]
    assert read_reply({"candidates": [{"content": {"parts": parts}}]}).text == "hi"


def test_an_answer_that_isnt_json_may_pass_and_an_unknown_form_is_named():
    with pytest.raises(RequestError) as page:
        read_reply("<html>")
    assert page.value.kind == "server"
    with pytest.raises(RequestError, match="type object"):
        read_reply(object())
