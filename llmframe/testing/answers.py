"""The bytes that answer a request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmframe.testing import steps, streams
from llmframe.testing.calls import Call
from llmframe.testing.http import phrase
from llmframe.testing.logprobs import in_full
from llmframe.testing.said import CREATED, say, usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer as it goes out; `ending` tells how far it gets.

    A stream has `pieces` in place of a `body`; the tokens are those that a whole answer tells of in its `usage`.
    """

    status: int = 200
    body: bytes = b""
    pieces: tuple[bytes, ...] | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: Literal["whole", "cut", "reset", "hang", "drip", "stall"] = "whole"
    interval: float | None = None
    delay: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def error(  # noqa: PLR0913 - one argument a field of the error
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """An error in OpenAI's form; without a `kind` its `type` follows from the status."""
    usual = "server_error" if status >= 500 else "requests" if status == 429 else "invalid_request_error"  # noqa: PLR2004 - HTTP
    kind = usual if kind is None else kind
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Response(status=status, body=json.dumps(body).encode(), headers=headers or {})


def respond(call: Call, step: steps.Step | None) -> Response:
    """The answer to a call under a step; `None` is the usual answer.

    Raises
    ------
    ValueError
        If the call's schema has no finite instance.
    """
    if isinstance(step, steps.Delay):
        inner = respond(call, step.then)
        return replace(inner, delay=inner.delay + step.seconds)
    unasked = None if step is None else fault(step)
    if unasked is not None:
        return unasked
    if call.stream:
        return _stream(call, step)
    usual = isinstance(step, steps.Drip | steps.Stall | steps.StreamError | steps.Cut | steps.BadBody)
    answer = _completion(call, None if usual else step)
    return broken(answer, step) if usual else answer


def fault(step: steps.Step) -> Response | None:
    """The answer of a step that is the same whatever was asked; `None` for any other step."""
    match step:
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
        case _:
            return None


def broken(answer: Response, step: steps.Step) -> Response:
    """As much of an answer in one piece as the step leaves; all of it under a step that isn't about that."""
    match step:
        case steps.Drip():
            return Response(ending="drip", interval=step.interval)
        case steps.Stall():
            return replace(answer, ending="stall", interval=step.ping)
        case steps.StreamError():
            return Response(body=json.dumps(streams.error_of(step)).encode())
        case steps.Cut(clean=False):
            return replace(answer, ending="cut")
        case steps.BadBody() | steps.Cut():
            return Response(body=answer.body[: len(answer.body) // 2])
        case _:
            return answer


def _stream(call: Call, step: steps.Step | None) -> Response:
    """The answer as server-sent events, or as much of it as the step leaves."""
    if isinstance(step, steps.Drip):
        return Response(pieces=(), content_type=streams.CONTENT_TYPE, ending="stall", interval=step.interval)
    stream = streams.stream(call, step)
    answer = Response(pieces=stream.pieces, content_type=streams.CONTENT_TYPE)
    match step:
        case steps.Cut(clean=False):
            return replace(answer, ending="cut")
        case steps.Stall():
            return replace(answer, ending="stall", interval=step.ping)
        case _:
            told = stream.usage
            return replace(answer, prompt_tokens=told[0], completion_tokens=told[1]) if told is not None else answer


def _completion(call: Call, step: steps.Step | None) -> Response:
    """A 200 with a chat completion."""
    said = say(call, step)
    prompt_tokens, completion_tokens = call.prompt_tokens, said.tokens
    message: dict[str, Any] = {"role": "assistant", "content": said.content, "refusal": said.refusal}
    if said.tool_calls is not None:
        message["tool_calls"] = [
            {"id": f"call_{call.number}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(said.tool_calls)
        ]
    told = in_full(said.emitted)
    choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": told, "finish_reason": said.finish}
    body: dict[str, Any] = {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": call.request.get("model"),
        "choices": [] if isinstance(step, steps.NoChoices) else [choice],
        "usage": usage(prompt_tokens, completion_tokens),
        "system_fingerprint": "fp_testing",
    }
    if isinstance(step, steps.Without):
        for key in step.keys:
            for part in (body, choice, message):
                part.pop(key, None)
        if "usage" not in body:
            prompt_tokens = completion_tokens = 0
    return Response(body=json.dumps(body).encode(), prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
