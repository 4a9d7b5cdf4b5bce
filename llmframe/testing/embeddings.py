"""Embeddings: what a request asks for, and vectors that follow from the texts alone."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from array import array
from dataclasses import dataclass, replace
from typing import Any, cast

from llmframe.testing import steps
from llmframe.testing.answers import Response, broken, error, fault
from llmframe.testing.calls import CHARS_PER_TOKEN, input_texts

MAX_INPUTS = 2_048
"""Texts in one request."""
MAX_INPUT_TOKENS = 8_192
"""Tokens of one text."""
MAX_TOKENS = 300_000
"""Tokens of all texts of one request."""
MAX_DIMENSIONS = 3_072
_HALF_RANGE = 2.0**15


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """One request for embeddings, read; `seed` is a digest of its texts."""

    request: dict[str, Any]
    texts: tuple[str, ...]
    prompt_tokens: int
    seed: int
    dimensions: int
    base64: bool

    @property
    def prompt(self) -> str:
        """The texts, a line each."""
        return "\n".join(self.texts)

    @property
    def charge(self) -> int:
        """Tokens that a token limit charges at the door."""
        return self.prompt_tokens


def read_embedding(request: dict[str, Any], *, dimensions: int) -> EmbeddingCall | Response:
    """Read a request body; one that OpenAI refuses gives its 400.

    Parameters
    ----------
    dimensions
        Of a vector, where the request names none.
    """
    given = request.get("input")
    texts = input_texts(given)
    asked = request.get("dimensions", dimensions)
    form = request.get("encoding_format", "float")
    refused = _refusal_of_input(given, texts)
    if refused is not None:
        return refused
    if not isinstance(request.get("model"), str):
        return error(400, "you must provide a model parameter")
    if not isinstance(asked, int) or not 0 < asked <= MAX_DIMENSIONS:
        return error(400, f"Invalid value for 'dimensions' = {asked}.", param="dimensions")
    if form not in {"float", "base64"}:
        return error(
            400, f"Invalid value: '{form}'. Supported values are: 'float' and 'base64'.", param="encoding_format"
        )
    counts = _token_counts(given, texts)
    for at, count in enumerate(counts):
        if count > MAX_INPUT_TOKENS:
            return error(
                400, f"Invalid 'input[{at}]': maximum input length is {MAX_INPUT_TOKENS} tokens.", param="input"
            )
    total = sum(counts)
    if total > MAX_TOKENS:
        word = "max_tokens_per_request"
        return error(400, f"Requested {total} tokens, max {MAX_TOKENS} tokens per request", code=word, kind=word)
    digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return EmbeddingCall(request, tuple(texts), total, int.from_bytes(digest, "little"), asked, form == "base64")


def embed(call: EmbeddingCall, step: steps.Step | None) -> Response:
    """The answer to a call under a step; a step about a chat's reply leaves the usual answer.

    Notes
    -----
    `Object` with a list of one list of numbers a text gives these vectors; `NoChoices` gives none at all.
    """
    if isinstance(step, steps.Delay):
        inner = embed(call, step.then)
        return replace(inner, delay=inner.delay + step.seconds)
    unasked = None if step is None else fault(step)
    if unasked is not None:
        return unasked
    vectors = _given(step, len(call.texts)) or [vector(text, call.dimensions) for text in call.texts]
    data: list[dict[str, Any]] = [
        {"object": "embedding", "index": at, "embedding": _encoded(one) if call.base64 else one.tolist()}
        for at, one in enumerate(vectors)
    ]
    tokens = call.prompt_tokens
    body: dict[str, Any] = {
        "object": "list",
        "data": [] if isinstance(step, steps.NoChoices) else data,
        "model": call.request["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    if isinstance(step, steps.Without):
        for key in step.keys:
            for part in (body, *data):
                part.pop(key, None)
        tokens = tokens if "usage" in body else 0
    answer = Response(body=json.dumps(body).encode(), prompt_tokens=tokens)
    return answer if step is None else broken(answer, step)


def vector(text: str, dimensions: int) -> array[float]:
    """The vector of a text: 32-bit floats of unit length that depend on nothing else."""
    drawn = array("h", hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(2 * dimensions))
    shifted = [(number + 0.5) / _HALF_RANGE for number in drawn]
    length = math.hypot(*shifted)
    return array("f", [number / length for number in shifted])


def _refusal_of_input(given: object, texts: list[str]) -> Response | None:
    if given is None:
        return error(400, "Missing required parameter: 'input'.", code="missing_required_parameter", param="input")
    if given == []:
        return error(400, "Invalid 'input': input cannot be an empty array.", param="input")
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    if not texts or not all(isinstance(item, str | list | int) for item in items):
        return error(
            400, "Invalid type for 'input': expected a string or an array.", code="invalid_type", param="input"
        )
    if any(item in ("", []) for item in items):
        return error(400, "Invalid 'input': input cannot be an empty string.", param="input")
    if len(texts) > MAX_INPUTS:
        message = (
            f"Invalid 'input': array too long. Expected an array with maximum length {MAX_INPUTS}, "
            f"but got an array with length {len(texts)} instead."
        )
        return error(400, message, code="array_above_max_length", param="input")
    return None


def _token_counts(given: object, texts: list[str]) -> list[int]:
    """Tokens of each text: a list of token numbers counts itself, else 4 characters are one."""
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    if isinstance(items[0], int):
        return [len(items)]
    return [
        len(cast("list[object]", item)) if isinstance(item, list) else -(-len(text) // CHARS_PER_TOKEN)
        for item, text in zip(items, texts, strict=True)
    ]


def _encoded(one: array[float]) -> str:
    return base64.b64encode(one.tobytes()).decode()


def _given(step: steps.Step | None, count: int) -> list[array[float]] | None:
    """The vectors that a test's own function gave, if it gave one a text."""
    value = step.value if isinstance(step, steps.Object) else None
    rows = cast("list[object]", value) if isinstance(value, list) else []
    if len(rows) != count or not all(isinstance(row, list) for row in rows):
        return None
    return [array("f", cast("list[float]", row)) for row in rows]
