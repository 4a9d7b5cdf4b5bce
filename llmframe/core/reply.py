"""How a reply is read: one reader for live, batch and stored replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from llmframe.core.jsontext import parse, write
from llmframe.core.outcome import Answer, Failure, Usage
from llmframe.core.ratelimits import RateLimits
from llmframe.core.reading import quoted
from llmframe.core.schema import Schema
from llmframe.core.tokens import Token

CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
FILTER_REASONS = frozenset(
    "content_filter content_filtered guardrail_intervened safety recitation blocklist prohibited_content spii "
    "image_safety".split()
)
"""Finish reasons in the words of several providers, in lower case."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call in a reply; `arguments` is its JSON text as received."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a provider said, in the project's words; nothing in it is validated yet.

    `tokens` are those of `text`; `None` when the provider told none.
    """

    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    refusal: str | None = None
    usage: Usage = Usage()
    model: str | None = None
    limits: RateLimits | None = None
    tokens: tuple[Token, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply came to; `reask` says whether the model may be asked again with the problem told."""

    result: Answer | Failure
    reask: bool = False


def read_reply(reply: Reply, schema: Schema, *, tool_name: str | None) -> Reading:
    """Read a reply; what the provider says about it comes before what stands in it.

    Parameters
    ----------
    reply
        The reply of one request.
    schema
        What was asked for.
    tool_name
        The function that was offered, or `None` when none was.

    Returns
    -------
    Reading
        In this order: `truncated`, `content_filter`, `refusal`, `tool_call` (several that differ, or one that wasn't
        offered), `empty`, `invalid`, else the answer. Only after `invalid` another ask can help.
    """
    reason = (reply.finish_reason or "").lower()
    if reason in CUT_REASONS:
        return Reading(
            Failure(
                "truncated", f"the reply was cut at its longest (finish_reason {reason!r}); raise max_tokens in params"
            )
        )
    if reason in FILTER_REASONS:
        return Reading(Failure("content_filter", f"the provider held the reply back (finish_reason {reason!r})"))
    if reply.refusal or reason == "refusal":
        return Reading(Failure("refusal", quoted(reply.refusal or reply.text or "the model refused")))
    if reply.tool_calls:
        return _scored(_read_call(reply.tool_calls, schema, tool_name), schema, None, None)
    if reply.text is None or not reply.text.strip():
        return Reading(Failure("empty", "the reply has no text"))
    return _scored(_read_text(reply.text, schema), schema, reply.text, reply.tokens)


def _scored(reading: Reading, schema: Schema, text: str | None, tokens: tuple[Token, ...] | None) -> Reading:
    if schema.scoring is None or isinstance(reading.result, Failure):
        return reading
    return Reading(schema.scoring.of_tokens(reading.result, text, tokens))


def _read_call(calls: tuple[ToolCall, ...], schema: Schema, tool_name: str | None) -> Reading:
    for call in calls:
        if call.name != tool_name:
            offered = "none was offered" if tool_name is None else f"{tool_name!r} was offered"
            return Reading(Failure("tool_call", f"the reply calls {quoted(call.name)!r}, {offered}"))
    if len({_same(call.arguments) for call in calls}) > 1:
        return Reading(Failure("tool_call", f"the reply gives {len(calls)} answers that differ"))
    arguments = calls[0].arguments
    if not arguments.strip():
        return Reading(Failure("invalid", f"the call of {tool_name!r} has no arguments"), reask=True)
    return _read_text(arguments, schema)


def _same(arguments: str) -> str:
    """One text for equal arguments; what isn't JSON equals only itself."""
    try:
        return write(_sorted(parse(arguments)))
    except (ValueError, RecursionError):
        return arguments


def _sorted(node: object) -> object:
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        return {key: _sorted(members[key]) for key in sorted(members)}
    return [_sorted(each) for each in cast("list[object]", node)] if isinstance(node, list) else node


def _read_text(text: str, schema: Schema) -> Reading:
    result = schema.read(text)
    return Reading(result, reask=isinstance(result, Failure) and result.kind == "invalid")
