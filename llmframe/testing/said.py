"""What the simulated model says, whatever the envelope."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from llmframe.testing import steps
from llmframe.testing.calls import CHARS_PER_TOKEN, Call
from llmframe.testing.instances import instance
from llmframe.testing.logprobs import Emitted, emitted
from llmframe.testing.shapes import JsonObject, is_object, plain_json

ECHO = re.compile(r"row-\d+")
CREATED = 1_700_000_000
"""Unix seconds that every answer claims to be from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Content, tool calls `(name, arguments)` or a refusal, and why it ended; the content's tokens if they are told."""

    finish: str
    content: str | None = None
    tool_calls: tuple[tuple[str, str], ...] | None = None
    refusal: str | None = None
    emitted: list[Emitted] | None = None

    @property
    def tokens(self) -> int:
        """What it counts as."""
        if self.emitted is not None:
            return len(self.emitted)
        calls = self.tool_calls or ()
        chars = len(self.content or "") + len(self.refusal or "") + sum(len(name) + len(text) for name, text in calls)
        return chars // CHARS_PER_TOKEN + 1


def say(call: Call, step: steps.Step | None) -> Said:
    """What the model says to a call under a step."""
    said = _say(call, step)
    if call.request.get("logprobs") is not True or said.content is None:
        return said
    given = isinstance(step, steps.Text | steps.Object | steps.Empty)
    likeliest = None if given or call.schema is None else _first_thought(call, call.schema)
    return replace(said, emitted=emitted(call, said.content, likeliest))


def _say(call: Call, step: steps.Step | None) -> Said:
    match step:
        case steps.Text():
            return Said(content=step.content, finish=step.finish_reason)
        case steps.Refusal():
            return Said(refusal=step.text, finish="stop")
        case steps.Filtered():
            return Said(finish="content_filter")
        case steps.Empty():
            return Said(content="", finish="stop")
        case steps.ToolCalls():
            calls = ((name, text if isinstance(text, str) else json.dumps(text)) for name, text in step.calls)
            return Said(tool_calls=tuple(calls), finish=step.finish_reason)
        case _:
            text = plain_json(step.value) if isinstance(step, steps.Object) else usual_text(call)
            if isinstance(step, steps.Truncated):
                return _in_form(call, text[: int(len(text) * step.share)], finish="length")
            return _in_form(call, text, finish=None)


def _in_form(call: Call, text: str, *, finish: str | None) -> Said:
    """The text as the arguments of the function that was asked for, or as content."""
    if call.tool is None:
        return Said(content=text, finish=finish or "stop")
    # OpenAI says "stop" when one function was forced by name.
    usual = "stop" if is_object(call.request.get("tool_choice")) else "tool_calls"
    return Said(tool_calls=((call.tool, text),), finish=finish or usual)


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """The `usage` of an answer."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def usual_text(call: Call) -> str:
    """What the simulated model says by itself."""
    schema = call.schema
    if schema is None:
        if call.form != "json_object":
            return f"answer {call.seed:016x}"
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    value = _first_thought(call, schema)
    return plain_json(call.opinion.chosen(value, schema, prompt=call.prompt, seed=call.seed, sample=call.sample))


def _first_thought(call: Call, schema: JsonObject) -> object:
    echo = ECHO.search(call.prompt)
    return instance(schema, seed=call.seed, echo=echo.group() if echo else None)
