"""What a request asks for."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from llmframe.testing import closed, telling
from llmframe.testing.closed import Opinion
from llmframe.testing.shapes import as_object, as_objects, is_object, is_objects
from llmframe.testing.telling import Logprobs

Form = Literal["json_schema", "tools", "json_object", "text"]
"""How a request asks for its answer's shape."""

CHARS_PER_TOKEN = 4
MESSAGE_TOKENS = 4
"""Tokens that every message costs beside its text."""
ASSUMED_OUTPUT_TOKENS = 16
"""What a token limit charges for the answer when the request sets no limit."""

# A ready encoder saves 2 µs a request: json.dumps makes one for every call with an option.
_canonical = json.JSONEncoder(sort_keys=True).encode
_SCHEMA_WORDS = frozenset({"properties", "$ref", "anyOf", "allOf", "oneOf", "enum"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request for a chat completion, read.

    `seed` is a digest of its messages; `sample` tells samples of them apart.
    """

    number: int
    request: dict[str, Any]
    prompt: str
    prompt_tokens: int
    form: Form
    schema: dict[str, Any] | None
    tool: str | None
    seed: int
    stream: bool
    include_usage: bool
    opinion: Opinion = closed.USUAL
    sample: str = ""
    logprobs: Logprobs = telling.USUAL
    hides_logprobs: bool = False

    @property
    def charge(self) -> int:
        """Tokens that a token limit charges at the door."""
        limit = self.request.get("max_completion_tokens") or self.request.get("max_tokens")
        return self.prompt_tokens + (limit if isinstance(limit, int) else ASSUMED_OUTPUT_TOKENS)


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
    digest = hashlib.blake2b(_canonical(messages).encode(), digest_size=8).digest()
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
        stream=bool(request.get("stream")),
        include_usage=as_object(request.get("stream_options")).get("include_usage") is True,
        hides_logprobs="logprobs" in ignores,
    )


def content_text(content: object) -> str:
    """The text of a message's content, which is a str or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content) if is_objects(content) else ""


def input_texts(given: object) -> list[str]:
    """The texts to embed, one for a list of token numbers; none when it's neither."""
    if isinstance(given, str):
        return [given]
    items = cast("list[object]", given) if isinstance(given, list) else []
    if items and all(isinstance(item, int) for item in items):
        return [json.dumps(items)]
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


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
