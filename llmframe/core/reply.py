"""How a reply is read: one reader for live, batch and stored replies."""

from __future__ import annotations

from dataclasses import dataclass

from llmframe.core.outcome import Usage


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call in a reply; `arguments` is its JSON text as received."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a provider said, in the project's words; nothing in it is validated yet."""

    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    refusal: str | None = None
    usage: Usage = Usage()
    model: str | None = None
