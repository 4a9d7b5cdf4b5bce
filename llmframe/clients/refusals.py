"""What a failed request means for the requests after it; pure decisions."""

from __future__ import annotations

from dataclasses import replace

from llmframe.clients.base import Dialect, RequestError
from llmframe.errors import ErrorKind

FOREIGN_LOOP = "foreign_loop"
"""Code of the connection error of a transport that belongs to another event loop."""

NOT_REACHED = "not_reached"
"""Code of a connection error before anything was sent: the host is unknown, or nobody listens there."""

MODEL_NOT_FOUND = frozenset({"model_not_found", "deploymentnotfound", "deployment_not_found"})

_TRANSIENT: frozenset[ErrorKind] = frozenset({"timeout", "connection", "rate_limit", "server"})
_FATAL: frozenset[ErrorKind] = frozenset({"auth", "quota", "not_found"})
_UNCHARGED: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "auth", "quota", "not_found", "bad_request", "context_length", "encoding"}
)
_REFUSED_FROM = 400
_REFUSED = frozenset(
    {
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "invalid_json_schema",
        "invalid_function_parameters",
    }
)
_SHAPE_PARAMS = ("response_format", "tools", "tool_choice", "functions", "output_format", "output_config")
_SHAPE_CODES = frozenset({"invalid_json_schema", "invalid_function_parameters", "unsupported_response_format"})
_USAGE_PARAM = "stream_options"  # servers that check nothing but names put it into the message alone
_SCORES_PARAM = "logprobs"  # so do they for these; OpenAI names them in the words of a 403 alone
_FEW_ALTERNATIVES = 5  # what servers take that refuse 20
_TOKEN_NAMES = ("max_tokens", "max_completion_tokens")
_STEP_STATUS = frozenset({400, 404, 415, 422, 501})
_SCORES_STATUS = _STEP_STATUS | {403}
_NOT_FOUND = 404  # without a word on the form it's the model or the address, for all rows


def transient(error: RequestError) -> bool:
    """Whether the same request may succeed a little later: 408, 409, 425, 429, 5xx, connection, timeout, broken body.

    A used-up quota has a kind of its own and isn't transient, though providers send it as 429.
    """
    return error.kind in _TRANSIENT and error.code != FOREIGN_LOOP


def costs_nothing(error: RequestError) -> bool:
    """Whether the provider surely charges nothing: it refused, failed before an answer, or was never reached.

    A time-out, an answer that broke off or can't be read, and a lost connection may all have been worked on.
    """
    if error.kind in ("timeout", "cancelled"):
        return False
    refused = error.status is not None and error.status >= _REFUSED_FROM
    return refused or error.kind in _UNCHARGED or error.code in (NOT_REACHED, FOREIGN_LOOP)


def dooms_run(error: RequestError) -> bool:
    """Whether every other row would fail in the same way: sending should stop at once.

    Ask `next_dialects` first: a refused schema or parameter may have another form that the server takes.
    """
    if error.code == FOREIGN_LOOP or error.kind in _FATAL:
        return True
    return error.kind == "bad_request" and (error.code in _REFUSED or _names_shape(error.param))


def next_dialects(current: Dialect, error: RequestError, all_: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    """The dialects worth trying after a server refused a request in `current`, the best one first.

    Parameters
    ----------
    current
        The dialect of the refused request.
    error
        The refusal.
    all_
        The client's `dialects`; what stands after the current mode is tried next.

    Returns
    -------
    tuple of Dialect
        Empty when the refusal speaks of the row, the account or another parameter. A refused `max_tokens` gives the
        same mode with `max_completion_tokens`, and the reverse: a caller leaves out what it has tried already. Refused
        `stream_options` give the same mode without them, refused `logprobs` the same without these; before that
        `top_logprobs` are tried with fewer.
    """
    other = _other_token_name(current, error)
    if other is not None:
        return (other,)
    if current.logprobs and speaks_of_logprobs(error):
        return _fewer_scores(current, error, all_)
    silent = (replace(current, asks_usage=False),) if current.asks_usage else ()
    if silent and error.kind == "bad_request" and _USAGE_PARAM in f"{error.param} {error.detail}":
        return silent
    if not _speaks_of_shape(error):
        return ()
    return _following(current, all_) if error.param or error.code else (*silent, *_following(current, all_))


def speaks_of_logprobs(error: RequestError) -> bool:
    """Whether a server refused log-probabilities, by its param, else by its words."""
    if error.status not in _SCORES_STATUS or error.kind not in {"bad_request", "not_found", "auth"}:
        return False
    return _SCORES_PARAM in (error.detail if error.param is None else error.param)


def _other_token_name(current: Dialect, error: RequestError) -> Dialect | None:
    if error.kind != "bad_request" or error.param not in _TOKEN_NAMES or error.param != current.max_tokens_name:
        return None
    if error.code not in _REFUSED and error.code is not None:
        return None
    if current.max_tokens_name == "max_tokens":
        return replace(current, max_tokens_name="max_completion_tokens")
    return replace(current, max_tokens_name="max_tokens")


def _speaks_of_shape(error: RequestError) -> bool:
    """By its param or code; a refusal without either is given the benefit of the doubt, as local servers send such."""
    if error.kind not in {"bad_request", "not_found"} or error.status not in _STEP_STATUS:
        return False
    if _names_shape(error.param) or error.code in _SHAPE_CODES:
        return True
    return error.param is None and error.code is None and error.status != _NOT_FOUND


def _names_shape(param: str | None) -> bool:
    return param is not None and param.startswith(_SHAPE_PARAMS)


def _fewer_scores(current: Dialect, error: RequestError, all_: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    without = tuple(_put(each, current) for each in all_ if each.mode == current.mode and not each.logprobs)
    named = f"top_{_SCORES_PARAM}" in f"{error.param} {error.detail}"
    if named and (current.top_logprobs or 0) > _FEW_ALTERNATIVES:
        return (replace(current, top_logprobs=_FEW_ALTERNATIVES), *without)
    return without


def _following(current: Dialect, all_: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    forms = [(dialect.mode, dialect.logprobs) for dialect in all_]
    here = (current.mode, current.logprobs)
    return tuple(_put(each, current) for each in all_[forms.index(here) + 1 :]) if here in forms else ()


def _put(form: Dialect, current: Dialect) -> Dialect:
    """`form` with what is known already of the server's other words."""
    top = current.top_logprobs if form.logprobs and current.logprobs else form.top_logprobs
    return replace(form, max_tokens_name=current.max_tokens_name, asks_usage=current.asks_usage, top_logprobs=top)
