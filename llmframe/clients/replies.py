"""What providers with SDKs of their own answered, as a `Reply`."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, cast

from llmframe.clients.base import RequestError
from llmframe.clients.chat import arguments_text, count, read_chat, text_of
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall

_FINISH = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "complete": "stop",
        "max_tokens": "length",
        "model_length": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "tool_call": "tool_calls",
        "safety": "content_filter",
        "recitation": "content_filter",
        "blocklist": "content_filter",
        "prohibited_content": "content_filter",
        "spii": "content_filter",
        "image_safety": "content_filter",
        "guardrail_intervened": "content_filter",
        "content_filtered": "content_filter",
        "error_toxic": "content_filter",
    }
)
"""Providers' words for why a reply ended, lower case, in OpenAI's words; others stay as they are."""

_REFUSED = "the model refused to answer"


def read_reply(raw: object) -> Reply:
    """`raw` as a `Reply`, by the shape of what it holds.

    Parameters
    ----------
    raw
        An SDK's response object, or its dict: of OpenAI's form (groq, mistral, cerebras, …), Anthropic's, Google's,
        Cohere's or Bedrock's.

    Raises
    ------
    RequestError
        If the shape is none of these.
    """
    if isinstance(raw, str | bytes):  # what SDKs hand out for a 200 that isn't JSON, such as a proxy's page
        raise RequestError("server", "an answer that isn't JSON")
    data = _plain(raw)
    for mark, read in _READERS:
        if mark in data:
            return read(data)
    raise RequestError("internal", f"a reply of type {type(raw).__name__} has an unknown form")


def _anthropic(data: dict[str, Any]) -> Reply:
    blocks = _dicts(data.get("content"))
    stop = _lower(data.get("stop_reason"))
    usage = _dict(data.get("usage"))
    text = text_of([block for block in blocks if block.get("type") == "text"])
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    return Reply(
        text=text,
        tool_calls=_calls([block for block in blocks if block.get("type") == "tool_use"], "input"),
        finish_reason=_finish(stop),
        refusal=(text or _REFUSED) if stop == "refusal" else None,
        usage=Usage(
            # Anthropic counts cached tokens apart, the others inside.
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            output_tokens=count(usage.get("output_tokens")),
            cached_tokens=read,
        ),
        model=_text(data.get("model")),
    )


def _google(data: dict[str, Any]) -> Reply:
    candidates = _dicts(data.get("candidates"))
    candidate = candidates[0] if candidates else {}
    parts = [part for part in _dicts(_dict(candidate.get("content")).get("parts")) if not part.get("thought")]
    usage = _dict(data.get("usage_metadata"))
    blocked = _dict(data.get("prompt_feedback")).get("block_reason")
    answered, thought = count(usage.get("candidates_token_count")), count(usage.get("thoughts_token_count"))
    return Reply(
        text=text_of(parts),
        tool_calls=_calls([_dict(part["function_call"]) for part in parts if part.get("function_call")], "args"),
        finish_reason="content_filter" if blocked else _finish(_lower(candidate.get("finish_reason"))),
        usage=Usage(
            input_tokens=count(usage.get("prompt_token_count")),
            output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
            cached_tokens=count(usage.get("cached_content_token_count")),
        ),
        model=_text(data.get("model_version")),
    )


def _cohere(data: dict[str, Any]) -> Reply:
    message = _dict(data.get("message"))
    functions = [_dict(call.get("function")) for call in _dicts(message.get("tool_calls"))]
    tokens = _dict(_dict(data.get("usage")).get("tokens"))
    return Reply(
        text=text_of(message.get("content")),
        tool_calls=_calls(functions, "arguments"),
        finish_reason=_finish(_lower(data.get("finish_reason"))),
        usage=Usage(count(_whole(tokens.get("input_tokens"))), count(_whole(tokens.get("output_tokens")))),
    )


def _bedrock(data: dict[str, Any]) -> Reply:
    blocks = _dicts(_dict(_dict(data.get("output")).get("message")).get("content"))
    usage = _dict(data.get("usage"))
    return Reply(
        text=text_of(blocks),
        tool_calls=_calls([_dict(block["toolUse"]) for block in blocks if block.get("toolUse")], "input"),
        finish_reason=_finish(_lower(data.get("stopReason"))),
        usage=Usage(
            count(usage.get("inputTokens")),
            count(usage.get("outputTokens")),
            count(usage.get("cacheReadInputTokens")),
        ),
    )


_READERS: tuple[tuple[str, Callable[[dict[str, Any]], Reply]], ...] = (
    ("choices", read_chat),
    ("candidates", _google),
    ("stop_reason", _anthropic),
    ("output", _bedrock),
    ("message", _cohere),
)


def _plain(raw: object) -> dict[str, Any]:
    if isinstance(raw, dict):
        return cast("dict[str, Any]", raw)
    dump: Any = getattr(raw, "model_dump", None)
    if dump is None:
        return {}
    # Enums by value; a server's own additions may not fit the SDK's types, which isn't worth a warning on every row.
    return cast("dict[str, Any]", dump(mode="json", warnings=False))


def _calls(functions: list[dict[str, Any]], arguments: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(str(call.get("name") or ""), arguments_text(call.get(arguments))) for call in functions)


def _finish(word: str | None) -> str | None:
    return None if word is None else _FINISH.get(word, word)


def _lower(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [_dict(entry) for entry in cast("list[object]", value)] if isinstance(value, list) else []
