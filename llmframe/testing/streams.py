"""An answer as server-sent events, in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from llmframe.testing import steps
from llmframe.testing.calls import Call
from llmframe.testing.logprobs import Emitted, in_full
from llmframe.testing.said import CREATED, Said, say, usage
from llmframe.testing.shapes import plain_json

CONTENT_TYPE = "text/event-stream; charset=utf-8"
PIECE_CHARS = 8
"""Characters of text or arguments in one event."""
PIECE_TOKENS = 2
"""Tokens in one event, where they are told."""
PING = b": ping\n\n"
"""A comment, which keeps a connection alive and tells nothing."""
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in order, and the prompt's and the answer's tokens where one of them tells."""

    pieces: tuple[bytes, ...]
    usage: tuple[int, int] | None


def stream(call: Call, step: steps.Step | None) -> Stream:
    """The events of the answer to a call, as far as the step lets them get.

    Notes
    -----
    First the role, then the text (or each call's name and its arguments) in pieces, then the reason why it ended,
    the usage when `stream_options` asks for it, and `[DONE]`.
    """
    said = say(call, step)
    chunks = _Chunks(call, frozenset(step.keys) if isinstance(step, steps.Without) else frozenset())
    role = {"role": "assistant", "content": "" if said.content is not None else None, "refusal": None}
    opening = chunks.of(role)
    content = [chunks.of(delta, tokens=tokens) for delta, tokens in _deltas(call, said)]
    half = (len(content) + 1) // 2
    match step:
        case steps.Stall() | steps.StreamError():
            failed = [_event(error_of(step))] if isinstance(step, steps.StreamError) else []
            return Stream((opening, *content[: step.after], *failed), None)
        case steps.Cut():
            return Stream((opening, *content[:half]), None)
        case steps.NoChoices():
            content = []
            opening = chunks.without_choices()
            closing: list[bytes] = []
        case steps.BadBody():
            content.insert(half, b'data: {"id": "chatcmpl-\n\n')
            closing = [chunks.of({}, finish=said.finish)]
        case _:
            closing = [chunks.of({}, finish=said.finish)]
    told = None
    if call.include_usage and "usage" not in chunks.left_out:
        told = (call.prompt_tokens, said.tokens)
        closing.append(chunks.without_choices(usage(*told)))
    return Stream((opening, *content, *closing, DONE), told)


def error_of(step: steps.StreamError) -> dict[str, Any]:
    """The error object of a step."""
    return {"error": {"message": step.message, "type": "server_error", "param": None, "code": step.code}}


def _deltas(call: Call, said: Said) -> Iterator[tuple[dict[str, Any], list[Emitted] | None]]:
    """What each event adds to the message, and the tokens that it tells of."""
    if said.emitted is not None:
        yield from _told(said.emitted)
        return
    for delta in _parts(call, said):
        yield delta, None


def _told(tokens: list[Emitted]) -> Iterator[tuple[dict[str, Any], list[Emitted] | None]]:
    """An event for every two tokens; more where the text would end inside a character."""
    held: list[Emitted] = []
    for number, token in enumerate(tokens):
        held.append(token)
        text = b"".join(each.text for each in held).decode("utf-8", "replace")
        if number == len(tokens) - 1 or (len(held) >= PIECE_TOKENS and not text.endswith("\ufffd")):
            yield {"content": text}, held
            held = []


def _parts(call: Call, said: Said) -> Iterator[dict[str, Any]]:
    for word, text in (("content", said.content), ("refusal", said.refusal)):
        for part in _cut(text or ""):
            yield {word: part}
    for i, (name, arguments) in enumerate(said.tool_calls or ()):
        function = {"name": name, "arguments": ""}
        yield {"tool_calls": [{"index": i, "id": f"call_{call.number}_{i}", "type": "function", "function": function}]}
        for part in _cut(arguments):
            yield {"tool_calls": [{"index": i, "function": {"arguments": part}}]}


def _cut(text: str) -> Iterable[str]:
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + plain_json(data).encode() + b"\n\n"


class _Chunks:
    """Makes events of one answer, each without the keys in `left_out`."""

    def __init__(self, call: Call, left_out: frozenset[str]) -> None:
        self.left_out = left_out
        self._usage: dict[str, Any] = {"usage": None} if call.include_usage else {}
        self._head = {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": call.request.get("model"),
            "system_fingerprint": "fp_testing",
        }

    def of(self, delta: dict[str, Any], *, finish: str | None = None, tokens: list[Emitted] | None = None) -> bytes:
        told = in_full(tokens)
        choice = {"index": 0, "delta": self._kept(delta), "logprobs": told, "finish_reason": finish}
        return _event(self._kept({**self._head, "choices": [self._kept(choice)], **self._usage}))

    def without_choices(self, told: dict[str, Any] | None = None) -> bytes:
        usage_part = self._usage if told is None else {"usage": told}
        return _event(self._kept({**self._head, "choices": [], **usage_part}))

    def _kept(self, part: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in part.items() if key not in self.left_out} if self.left_out else part
