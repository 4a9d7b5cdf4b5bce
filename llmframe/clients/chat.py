"""The chat-completions form: how a schema is asked for, how a reply is read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import from_json

from llmframe.clients.base import Dialect, Message, Mode
from llmframe.clients.logprobs import read_tokens
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall

if TYPE_CHECKING:
    from llmframe.core.ratelimits import RateLimits
    from llmframe.core.schema import Schema

_SYSTEM_ROLES = ("system", "developer")
_THOUGHTS = frozenset({"reasoning", "thinking"})
"""Types of content parts that are no part of the answer."""

_INDENT = re.compile(r"^ {12}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a dialect adds to a request: parts of the body, and a text for the system message."""

    body: dict[str, Any] = field(default_factory=dict[str, Any])
    instruction: str | None = None

    def instructed(self, messages: list[Message]) -> list[Message]:
        """`messages` with the instruction at the end of the first system message, or as one."""
        if self.instruction is None:
            return messages
        first = messages[0] if messages else None
        if first is None or first.get("role") not in _SYSTEM_ROLES:
            return [{"role": "system", "content": self.instruction}, *messages]
        content = first.get("content")
        if isinstance(content, list):
            parts = [*cast("list[object]", content), {"type": "text", "text": self.instruction}]
            return [{**first, "content": parts}, *messages[1:]]
        return [{**first, "content": f"{content}\n\n{self.instruction}"}, *messages[1:]]


def shape_of(schema: Schema, mode: Mode) -> Shape:
    """How `mode` asks for `schema`; instructor writes the form, our own schema stands in it.

    Called once a run and mode: instructor builds a class and a schema on every call (0.6 ms).
    """
    if schema.model is None or mode == "text":
        return Shape()
    from instructor.processing.response import handle_response_model  # noqa: PLC0415 - loads an SDK

    question: list[Any] = [{"role": "user", "content": ""}]
    prepare: Any = handle_response_model
    _, prepared = prepare(_stand_in(schema), mode=instructor_mode(mode), messages=question)
    body: dict[str, Any] = {key: value for key, value in prepared.items() if key != "messages"}
    if mode == "json":
        instruction = _INDENT.sub("", str(prepared["messages"][0]["content"])).strip()
        return Shape(body, instruction)
    name = schema.name
    if mode == "tools":
        function: dict[str, Any] = {**body["tools"][0]["function"], "name": name, "parameters": schema.wire}
        if schema.strict:
            function["strict"] = True
        choice = {"type": "function", "function": {"name": name}}
        return Shape({**body, "tools": [{"type": "function", "function": function}], "tool_choice": choice})
    wanted = {**body["response_format"]["json_schema"], "name": name, "schema": schema.wire}
    if schema.strict:
        wanted["strict"] = True
    return Shape({**body, "response_format": {"type": "json_schema", "json_schema": wanted}})


def instructor_mode(mode: Mode) -> Any:
    """instructor's name of `mode`."""
    from instructor import Mode as InstructorMode  # noqa: PLC0415 - loads an SDK

    return {"json_schema": InstructorMode.JSON_SCHEMA, "tools": InstructorMode.TOOLS}.get(mode, InstructorMode.JSON)


def parse(content: bytes) -> object:
    """The JSON that `content` holds; raises ValueError for anything else."""
    try:
        return from_json(content)  # 4 µs for a short answer, the standard library 10 µs
    except ValueError:
        return json.loads(content)  # takes UTF-16 and halves of surrogate pairs, which are the reader's to judge


def read_chat(data: dict[str, Any], *, limits: RateLimits | None = None) -> Reply:
    """A chat completion as a `Reply`; what is absent, null or of another type is `None`, never an error.

    `limits` is what its headers told.
    """
    choices = data.get("choices")
    choice = _dict(choices[0]) if isinstance(choices, list) and choices else {}  # pyright: ignore[reportUnknownArgumentType]
    message = _dict(choice.get("message"))
    content, logprobs = message.get("content"), choice.get("logprobs")
    text = text_of(content)
    return Reply(
        text=text,
        tool_calls=_tool_calls(message) if message.get("tool_calls") or message.get("function_call") else (),
        finish_reason=_text(choice.get("finish_reason")),
        refusal=_text(message.get("refusal")) or _refusal_part(content),
        usage=read_usage(_dict(data.get("usage"))),
        model=_text(data.get("model")),
        limits=limits,
        tokens=read_tokens(logprobs, text) if logprobs else None,
    )


def read_usage(usage: dict[str, Any]) -> Usage:
    """Tokens of an OpenAI-style `usage`; absent is unknown."""
    details = _dict(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_tokens=count(details.get("cached_tokens")),
    )


def text_of(content: object) -> str | None:
    """The text of a message: as it is, or the text parts of a list joined; empty is `None`."""
    if isinstance(content, list):
        parts = [_dict(part) for part in cast("list[object]", content)]
        said = [part for part in parts if part.get("type") not in _THOUGHTS]
        content = "".join(part["text"] for part in said if isinstance(part.get("text"), str))
    return content if isinstance(content, str) and content else None


def _refusal_part(content: object) -> str | None:
    """The refusal that stands among the parts of a message."""
    if not isinstance(content, list):
        return None
    parts = cast("list[object]", content)
    return next((said for part in parts if (said := _text(_dict(part).get("refusal"))) is not None), None)


def arguments_text(arguments: object) -> str:
    """The arguments of a call as JSON text; some servers send them parsed."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False, default=str)


def count(value: object) -> int | None:
    """A token count, or `None` for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def completion_of(reply: Reply) -> Any:
    """`reply` as the SDK's `ChatCompletion`, which instructor's re-ask texts are made from."""
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - loads an SDK

    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for number, call in enumerate(reply.tool_calls)
    ]
    message = {"role": "assistant", "content": reply.text, "tool_calls": calls or None}
    return ChatCompletion.model_validate(
        {
            "id": "reask",
            "created": 0,
            "object": "chat.completion",
            "model": reply.model or "",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        }
    )


def reask_messages(messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
    """`messages`, the invalid reply and instructor's words about `problem`."""
    from instructor.processing.response import handle_reask_kwargs  # noqa: PLC0415 - loads an SDK

    reask: Any = handle_reask_kwargs
    made = reask({"messages": list(messages)}, instructor_mode(dialect.mode), completion_of(reply), ValueError(problem))
    return cast("list[Message]", made["messages"])


def _stand_in(schema: Schema) -> Any:
    """A pydantic class whose JSON schema is our wire schema, for instructor to write its form around."""
    from pydantic import BaseModel  # noqa: PLC0415 - with the other late imports

    def model_json_schema(cls: Any, *_args: Any, **_kwargs: Any) -> dict[str, Any]:  # noqa: ARG001 - pydantic's form
        return {"title": schema.name, **schema.wire}

    return type(
        schema.name, (BaseModel,), {"model_json_schema": classmethod(model_json_schema), "__module__": __name__}
    )


def _tool_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    calls = message.get("tool_calls")
    functions = (
        [_dict(_dict(call).get("function")) for call in cast("list[object]", calls)] if isinstance(calls, list) else []
    )
    if not functions and isinstance(message.get("function_call"), dict):
        functions = [_dict(message["function_call"])]
    return tuple(ToolCall(str(call.get("name") or ""), arguments_text(call.get("arguments"))) for call in functions)


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
