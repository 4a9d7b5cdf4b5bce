"""What a request asks for, and the bytes that answer it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmframe.testing import steps
from llmframe.testing.http import phrase
from llmframe.testing.instances import instance
from llmframe.testing.shapes import as_object, as_objects, is_object, is_objects

Form = Literal["json_schema", "tools", "json_object", "text"]
"""How a request asks for its answer's shape."""

ECHO = re.compile(r"row-\d+")
CHARS_PER_TOKEN = 4
MESSAGE_TOKENS = 4
"""Tokens that every message costs beside its text."""
ASSUMED_OUTPUT_TOKENS = 16
"""What a token limit charges for the answer when the request sets no limit."""
CREATED = 1_700_000_000
"""Unix seconds that every answer claims to be from."""

_SCHEMA_WORDS = frozenset({"properties", "$ref", "anyOf", "allOf", "oneOf", "enum"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request for a chat completion, read."""

    number: int
    request: dict[str, Any]
    prompt: str
    prompt_tokens: int
    form: Form
    schema: dict[str, Any] | None
    tool: str | None
    seed: int

    @property
    def charge(self) -> int:
        """Tokens that a token limit charges at the door."""
        limit = self.request.get("max_completion_tokens") or self.request.get("max_tokens")
        return self.prompt_tokens + (limit if isinstance(limit, int) else ASSUMED_OUTPUT_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer as it goes out; `ending` tells how far it gets."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: Literal["whole", "cut", "reset", "hang", "drip"] = "whole"
    interval: float = 0.0
    delay: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def read_call(request: dict[str, Any], *, number: int, ignores: frozenset[str]) -> Call:
    """Read a request body.

    Raises
    ------
    ValueError
        If the messages are missing or not a list of objects.
    """
    messages = request.get("messages")
    if not is_objects(messages) or not messages:
        msg = "'messages' must be a list of at least one message"
        raise ValueError(msg)
    texts = [(message.get("role"), content_text(message.get("content"))) for message in messages]
    prompt = next((text for role, text in reversed(texts) if role == "user"), "")
    digest = hashlib.blake2b(json.dumps(messages, sort_keys=True).encode(), digest_size=8).digest()
    form, schema, tool = _asked_shape(request, [text for _, text in texts], ignores)
    return Call(
        number=number,
        request=request,
        prompt=prompt,
        prompt_tokens=sum(len(text) // CHARS_PER_TOKEN + MESSAGE_TOKENS for _, text in texts),
        form=form,
        schema=schema,
        tool=tool,
        seed=int.from_bytes(digest, "little"),
    )


def content_text(content: object) -> str:
    """The text of a message's content, which is a str or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content) if is_objects(content) else ""


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """An error in OpenAI's form."""
    kind = "server_error" if status >= 500 else "requests" if status == 429 else "invalid_request_error"  # noqa: PLR2004 - HTTP
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Response(status=status, body=json.dumps(body).encode(), headers=headers or {})


def respond(call: Call, step: steps.Step | None) -> Response:
    """The answer to a call under a step; `None` is the usual answer.

    Raises
    ------
    ValueError
        If the call's schema has no finite instance.
    """
    match step:
        case steps.Delay():
            inner = respond(call, step.then)
            return replace(inner, delay=inner.delay + step.seconds)
        case steps.Status():
            headers = dict(step.headers)
            if step.retry_after is not None:
                headers["retry-after"] = str(step.retry_after)
            message = step.message if step.message is not None else phrase(step.code)
            return error(step.code, message, code=step.error_code, param=step.param, headers=headers)
        case steps.Html():
            page = b"<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>"
            return Response(status=step.code, body=page, content_type="text/html; charset=utf-8")
        case steps.Hang():
            return Response(ending="hang")
        case steps.Reset():
            return Response(ending="reset")
        case steps.Drip():
            return Response(ending="drip", interval=step.interval)
        case steps.Cut():
            return replace(_completion(call, None), ending="cut")
        case steps.BadBody():
            whole = _completion(call, None)
            return replace(whole, body=whole.body[: len(whole.body) // 2])
        case _:
            return _completion(call, step)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What the model said, whatever the envelope."""

    finish: str
    content: str | None = None
    tool_calls: tuple[tuple[str, str], ...] | None = None
    refusal: str | None = None

    @property
    def chars(self) -> int:
        calls = self.tool_calls or ()
        return len(self.content or "") + len(self.refusal or "") + sum(len(name) + len(text) for name, text in calls)


def _say(call: Call, step: steps.Step | None) -> _Said:
    match step:
        case steps.Text():
            return _Said(content=step.content, finish=step.finish_reason)
        case steps.Refusal():
            return _Said(refusal=step.text, finish="stop")
        case steps.Filtered():
            return _Said(finish="content_filter")
        case steps.Empty():
            return _Said(content="", finish="stop")
        case steps.ToolCalls():
            calls = ((name, text if isinstance(text, str) else json.dumps(text)) for name, text in step.calls)
            return _Said(tool_calls=tuple(calls), finish=step.finish_reason)
        case _:
            text = json.dumps(step.value, ensure_ascii=False) if isinstance(step, steps.Object) else usual_text(call)
            if isinstance(step, steps.Truncated):
                return _in_form(call, text[: int(len(text) * step.share)], finish="length")
            return _in_form(call, text, finish=None)


def _in_form(call: Call, text: str, *, finish: str | None) -> _Said:
    """The text as the arguments of the function that was asked for, or as content."""
    if call.tool is None:
        return _Said(content=text, finish=finish or "stop")
    # OpenAI says "stop" when one function was forced by name.
    usual = "stop" if is_object(call.request.get("tool_choice")) else "tool_calls"
    return _Said(tool_calls=((call.tool, text),), finish=finish or usual)


def _completion(call: Call, step: steps.Step | None) -> Response:
    """A 200 with a chat completion."""
    said = _say(call, step)
    completion_tokens = said.chars // CHARS_PER_TOKEN + 1
    message: dict[str, Any] = {"role": "assistant", "content": said.content, "refusal": said.refusal}
    if said.tool_calls is not None:
        message["tool_calls"] = [
            {"id": f"call_{call.number}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(said.tool_calls)
        ]
    choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None, "finish_reason": said.finish}
    body: dict[str, Any] = {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": call.request.get("model"),
        "choices": [] if isinstance(step, steps.NoChoices) else [choice],
        "usage": {
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": call.prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "system_fingerprint": "fp_testing",
    }
    if isinstance(step, steps.Without):
        for key in step.keys:
            for part in (body, choice, message):
                part.pop(key, None)
    return Response(
        body=json.dumps(body).encode(), prompt_tokens=call.prompt_tokens, completion_tokens=completion_tokens
    )


def usual_text(call: Call) -> str:
    """What the simulated model says by itself."""
    echo = ECHO.search(call.prompt)
    schema = call.schema
    if schema is None:
        if call.form != "json_object":
            return f"answer {call.seed:016x}"
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    value = instance(schema, seed=call.seed, echo=echo.group() if echo else None)
    return json.dumps(value, ensure_ascii=False)


def _asked_shape(
    request: dict[str, Any], texts: list[str], ignores: frozenset[str]
) -> tuple[Form, dict[str, Any] | None, str | None]:
    """The form, the schema, and the function to call."""
    tools = as_objects(request.get("tools"))
    choice = request.get("tool_choice")
    if tools and choice != "none":
        functions = [as_object(tool.get("function")) for tool in tools]
        forced = as_object(as_object(choice).get("function")).get("name")
        function = next((one for one in functions if one.get("name") == forced), functions[0])
        schema = as_object(function.get("parameters")) or {"type": "object"}
        if "tools" in ignores:
            return "text", schema, None
        return "tools", schema, str(function.get("name"))
    response_format = as_object(request.get("response_format"))
    form = response_format.get("type")
    if form == "json_schema" and form not in ignores:
        return "json_schema", as_object(as_object(response_format.get("json_schema")).get("schema")), None
    quoted = next((found for text in texts if (found := _schema_in(text)) is not None), None)
    return ("json_object" if form == "json_object" and form not in ignores else "text"), quoted, None


@functools.lru_cache(maxsize=512)
def _schema_in(text: str) -> dict[str, Any] | None:
    """The first JSON schema that is quoted in a text."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            found, end = None, at + 1
        if is_object(found):
            inner = found.get("schema", found)
            if is_object(inner) and _SCHEMA_WORDS & inner.keys():
                return inner
        at = text.find("{", end)
    return None
