"""Anthropic's Messages form: what a request must hold, what a message answers it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from llmframe.testing import steps
from llmframe.testing.calls import Call, content_text, read_call
from llmframe.testing.said import Said, say
from llmframe.testing.shapes import as_object, as_objects, is_object, is_objects

ERROR_TYPES = MappingProxyType(
    {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
)
"""Anthropic's words by HTTP status; other statuses from 500 on are `api_error`."""

_REQUIRED = ("model", "max_tokens", "messages")
_ROLES = frozenset({"user", "assistant"})
_STOPS = MappingProxyType({"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """A refusal: HTTP status, Anthropic's word for it, a message."""

    status: int
    type: str
    message: str

    def body(self, request_id: str | None) -> dict[str, Any]:
        """The error's JSON, with the id of the request that it answers."""
        told = {"type": "error", "error": {"type": self.type, "message": self.message}}
        return {**told, "request_id": request_id}


def trouble(status: int, message: str | None = None, *, type_: str | None = None) -> Trouble:
    """The refusal of a status, in Anthropic's words unless others are given."""
    word = type_ or ERROR_TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")  # noqa: PLR2004 - HTTP's classes
    known = {code.value: code.phrase for code in HTTPStatus}
    return Trouble(status, word, message or known.get(status, "Overloaded"))


def incomplete(params: object) -> Trouble | None:
    """What a request for a message lacks, in the service's words; `None` when nothing."""
    if not is_object(params):
        return trouble(400, "Input should be an object")
    return next((trouble(400, f"{name}: Field required") for name in _REQUIRED if name not in params), None)


def refused(params: dict[str, Any]) -> Trouble | None:
    """What is wrong with a complete request; `None` when it can be answered."""
    limit = params["max_tokens"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        return trouble(400, "max_tokens: Input should be a valid integer")
    if limit < 1:
        return trouble(400, "max_tokens: Input should be greater than or equal to 1")
    messages = params["messages"]
    if not is_objects(messages) or not messages:
        return trouble(400, "messages: at least one message is required")
    for at, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            return trouble(400, f'messages: Unexpected role "{message.get("role")}"')
        if not content_text(message.get("content")).strip():
            return trouble(400, f"messages.{at}: all messages must have non-empty content")
    return None


def answered(params: dict[str, Any], step: steps.Step | None, *, number: int, tier: str) -> dict[str, Any]:
    """The message that answers a request which `refused` lets pass, under a step that isn't an error.

    Parameters
    ----------
    tier
        `"standard"` or `"batch"`, as its usage tells.
    """
    call = _call(params, number)
    said = say(call, step)
    cached = sum(_tokens(block) for block in as_objects(params.get("system")) if "cache_control" in block)
    return {
        "id": f"msg_{number:024d}",
        "type": "message",
        "role": "assistant",
        "model": params["model"],
        "content": _content(said, number),
        "stop_reason": _stop(said),
        "stop_sequence": None,
        "usage": {
            "input_tokens": call.prompt_tokens - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "output_tokens": said.tokens,
            "service_tier": tier,
        },
    }


def prompt_of(params: dict[str, Any]) -> str:
    """The last user message."""
    said = [message for message in as_objects(params.get("messages")) if message.get("role") == "user"]
    return content_text(said[-1].get("content")) if said else ""


def _call(params: dict[str, Any], number: int) -> Call:
    """The request as the simulated model reads it, which knows OpenAI's form alone."""
    system = params.get("system")
    first = [{"role": "system", "content": system}] if system else []
    tools = [
        {"type": "function", "function": {"name": tool.get("name"), "parameters": tool.get("input_schema")}}
        for tool in as_objects(params.get("tools"))
    ]
    choice = as_object(params.get("tool_choice"))
    request: dict[str, Any] = {"messages": [*first, *params["messages"]]}
    if tools and choice.get("type") != "none":
        forced = {"type": "function", "function": {"name": choice.get("name")}}
        request |= {"tools": tools, "tool_choice": forced if choice.get("type") == "tool" else "auto"}
    return read_call(request, number=number, ignores=frozenset())


def _content(said: Said, number: int) -> list[dict[str, Any]]:
    text = said.refusal or said.content
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text, "citations": None}] if text else []
    for at, (name, arguments) in enumerate(said.tool_calls or ()):
        try:
            given: object = json.loads(arguments)
        except ValueError:
            given = {}  # the service cuts a call at the token limit to what was whole
        blocks.append({"type": "tool_use", "id": f"toolu_{number:020d}{at:04d}", "name": name, "input": given})
    return blocks


def _stop(said: Said) -> str:
    if said.refusal is not None or said.finish == "content_filter":
        return "refusal"
    if said.tool_calls and said.finish == "stop":
        return "tool_use"
    return _STOPS.get(said.finish, said.finish)


def _tokens(block: dict[str, Any]) -> int:
    return len(str(block.get("text") or "")) // 4
