"""The user's `params`: what may be sent beside the messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from llmframe.clients.base import Logprobs
from llmframe.errors import UsageError

TokenName = Literal["max_tokens", "max_completion_tokens"]

_REFUSED = MappingProxyType(
    {
        "messages": "the prompt template and `system=` make them",
        "model": "give `model=`",
        "n": "give `samples=`",
        "response_format": "give `schema=`, and `output_mode=` for the way it is asked",
        "tools": 'give `schema=` with `output_mode="tools"`',
        "tool_choice": 'give `schema=` with `output_mode="tools"`',
        "functions": 'give `schema=` with `output_mode="tools"`',
        "function_call": 'give `schema=` with `output_mode="tools"`',
        "timeout": "give `timeout=`",
        "max_retries": "give `max_attempts=`",
        "api_key": "give `api_key=`",
        "base_url": "give `base_url=`",
    }
)
ALTERNATIVES: Final = 20
"""The most `top_logprobs` that OpenAI takes."""

_STREAM = ("stream", "stream_options")
_TRANSPORT = frozenset({"timeout", "max_retries", "api_key", "base_url"})
"""Of these, words that mean nothing to us inside a body: a server may have parameters of its own by that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """That answers are asked for in pieces.

    Parameters
    ----------
    silence
        Longest wait for the next piece, in seconds.
    options
        The user's own `stream_options`; `None` when unsaid.
    """

    silence: float = 60.0
    options: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """`params` taken apart: JSON for the body, the cap on output, headers and query of every request.

    `top_logprobs` is for how many alternatives of each token to ask, by `logprobs`; the body says nothing of it.
    """

    body: Mapping[str, object] = field(default_factory=dict[str, object])
    max_tokens: int | None = None
    max_tokens_name: TokenName = "max_tokens"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    streaming: Streaming | None = None
    logprobs: Logprobs = "no"
    top_logprobs: int | None = None

    def under(self, name: TokenName) -> dict[str, object]:
        """The body part with the cap, if there is one, under `name`."""
        return dict(self.body) if self.max_tokens is None else {**self.body, name: self.max_tokens}


def scored_params(params: Mapping[str, object]) -> dict[str, object]:
    """`params` of requests whose replies tell log-probabilities, as they count in fingerprints.

    Returns
    -------
    dict
        With `logprobs` True and `top_logprobs`, `ALTERNATIVES` unless said. Unchanged where `params` say
        `"logprobs": False`: such replies tell none.

    Raises
    ------
    UsageError
        If what `params` say of them can't be sent.
    """
    extra = _mapping(params.get("extra_body"), "extra_body")
    for key in ("logprobs", "top_logprobs"):
        if key in extra:
            raise UsageError(f"params['extra_body'] key {key!r} can't be set there; give it in params itself")
    wanted, top = params.get("logprobs", True), params.get("top_logprobs", ALTERNATIVES)
    if not isinstance(wanted, bool):
        raise UsageError(f"params['logprobs'] must be True or False, got {wanted!r}")
    if not wanted:
        return dict(params)
    if isinstance(top, bool) or not isinstance(top, int) or top < 0:
        raise UsageError(f"params['top_logprobs'] must be an integer from 0 to {ALTERNATIVES}, got {top!r}")
    return {**params, "logprobs": True, "top_logprobs": top}


def read_params(params: Mapping[str, object], *, silence: float = 60.0, logprobs: Logprobs = "no") -> Params:
    """`params` as requests use them.

    Parameters
    ----------
    params
        Whatever the endpoint accepts beside the messages; unknown names are passed on. `extra_body` is merged into the
        body, `extra_headers` and `extra_query` go where they say.
    silence
        Longest wait for the next piece of an answer that streams, in seconds.
    logprobs
        Whether replies are to tell log-probabilities.

    Raises
    ------
    UsageError
        If a key belongs to an argument of ours, a value isn't JSON, a header can't be sent, or log-probabilities are
        asked for and declined.
    """
    for key in params:
        if key in _REFUSED:
            raise UsageError(f"params key {key!r} can't be set there; {_REFUSED[key]}")
    rest = dict(params) if logprobs == "no" else scored_params(params)
    top = _alternatives(rest, logprobs)
    extra = _mapping(rest.pop("extra_body", None), "extra_body")
    for key in extra:
        if key in _REFUSED and key not in _TRANSPORT:
            raise UsageError(f"params['extra_body'] key {key!r} can't be set there; {_REFUSED[key]}")
        if key in _STREAM:
            raise UsageError(f"params['extra_body'] key {key!r} can't be set there; give it in params itself")
    streaming = _streaming(rest.pop("stream", None), rest.pop("stream_options", None), silence)
    headers = _mapping(rest.pop("extra_headers", None), "extra_headers")
    query = _mapping(rest.pop("extra_query", None), "extra_query")
    names: tuple[TokenName, ...] = ("max_tokens", "max_completion_tokens")
    said: list[TokenName] = [name for name in names if name in rest]
    if len(said) > 1:
        raise UsageError("params has both 'max_tokens' and 'max_completion_tokens'; keep one of them")
    name: TokenName = said[0] if said else "max_tokens"
    limit = rest.pop(name, None)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise UsageError(f"params[{name!r}] must be a positive integer, got {limit!r}")
    body = {**rest, **extra}
    for key, value in body.items():
        _check_json(key, value)
    for key, value in headers.items():
        _check_header(key, value)
    return Params(
        body=body,
        max_tokens=limit,
        max_tokens_name=name,
        headers=cast("dict[str, str]", headers),
        query=query,
        streaming=streaming,
        logprobs=logprobs,
        top_logprobs=top,
    )


def _alternatives(rest: dict[str, object], logprobs: Logprobs) -> int | None:
    """Take out of `rest` what scores ask about log-probabilities."""
    if logprobs == "no":
        return None
    if rest.get("logprobs"):
        rest.pop("logprobs")
        return cast("int", rest.pop("top_logprobs"))
    if logprobs == "asked":
        raise UsageError('params["logprobs"] is False with `confidence="logprobs"`; leave it out')
    return None


def _streaming(stream: object, options: object, silence: float) -> Streaming | None:
    if stream is not None and not isinstance(stream, bool):
        raise UsageError(f"params['stream'] must be True or False, got {stream!r}")
    if options is None:
        return Streaming(silence=silence) if stream else None
    if not stream:
        raise UsageError("params['stream_options'] means nothing without 'stream'; give `\"stream\": True` too")
    said = _mapping(options, "stream_options")
    _check_json("stream_options", said)
    return Streaming(silence=silence, options=said)


def _mapping(value: object, key: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"params[{key!r}] must be a dict, got {type(value).__name__}")
    return {str(name): entry for name, entry in cast("Mapping[Any, object]", value).items()}


def _check_json(key: str, value: object) -> None:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        raise UsageError(f"params[{key!r}] isn't JSON: {type(value).__name__}; give plain values") from None


def _check_header(name: str, value: object) -> None:
    """Refuse what SDKs would show in full when they fail to send it."""
    if not isinstance(value, str) or not value.isprintable() or not (name + value).isascii() or value != value.strip():
        raise UsageError(f"header {name!r} in params['extra_headers'] can't be sent; printable ASCII text is wanted")
