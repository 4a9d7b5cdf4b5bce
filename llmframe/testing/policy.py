"""What a simulated provider refuses or overlooks: keys, request forms, parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from llmframe.errors import UsageError
from llmframe.testing.answers import Response, error
from llmframe.testing.shapes import as_object

FORMS = ("json_schema", "json_object", "tools")
"""Request forms that `refuses` and `ignores` may name."""

IGNORED = (*FORMS, "logprobs")
"""What `ignores` may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What one provider refuses and overlooks; `api_key=None` lets every key pass."""

    api_key: str | None
    refuses: frozenset[str]
    names_param: bool
    refuses_params: frozenset[str]
    ignores: frozenset[str]
    most_top_logprobs: int = 20

    def unauthorized(self, headers: dict[str, str]) -> Response | None:
        """The 401 for a wrong key."""
        if self.api_key is None or headers.get("authorization") == f"Bearer {self.api_key}":
            return None
        return error(401, "Incorrect API key provided.", code="invalid_api_key")

    def refusal(self, request: dict[str, Any]) -> Response | None:
        """The 400 for a request that this provider doesn't support."""
        if request.get("stream_options") is not None and not request.get("stream"):
            message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
            return error(400, message, param="stream_options")
        for name in request:
            if name in self.refuses_params:
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return error(400, message, code="unsupported_parameter", param=name)
        top = request.get("top_logprobs")
        if isinstance(top, int) and "logprobs" not in self.ignores:
            if request.get("logprobs") is not True:
                message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
                return error(400, message, param="top_logprobs")
            if top > self.most_top_logprobs:
                message = (
                    "Invalid 'top_logprobs': integer above maximum value. Expected a value <= "
                    f"{self.most_top_logprobs}, but got {top} instead."
                )
                return error(400, message, code="integer_above_max_value", param="top_logprobs")
        sent = {str(as_object(request.get("response_format")).get("type"))}
        if request.get("tools"):
            sent.add("tools")
        for form in FORMS:
            if form in sent and form in self.refuses:
                param = "tools" if form == "tools" else "response_format"
                message = f"{request.get('model')} does not support {form}"
                return error(400, message, param=param if self.names_param else None)
        return None


def names(word: str, given: Collection[str]) -> frozenset[str]:
    """The names of the argument `word`; a bare str is a slip and a `UsageError`."""
    if isinstance(given, str):
        msg = f"{word}={given!r} is a str; write `{word}=({given!r},)`"
        raise UsageError(msg)
    return frozenset(given)


def forms(word: str, given: Collection[str], known: tuple[str, ...] = FORMS) -> frozenset[str]:
    """The request forms of the argument `word`; an unknown one is a `UsageError`."""
    for name in names(word, given):
        if name not in known:
            msg = f"{word} holds {name!r}; known forms: {', '.join(map(repr, known))}"
            raise UsageError(msg)
    return frozenset(given)
