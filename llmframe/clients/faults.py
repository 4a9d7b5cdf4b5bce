"""One table from what servers and SDKs say went wrong to a `RequestError`.

Decided by status, code and type, never by the wording of a message. An SDK's exception is read by its attributes, not
by its class, so that every provider's exceptions go through the same table.
"""

from __future__ import annotations

import errno
import json
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from llmframe.clients import rate_headers
from llmframe.clients.base import RequestError
from llmframe.clients.endpoints import is_loopback
from llmframe.clients.refusals import FOREIGN_LOOP, MODEL_NOT_FOUND, NOT_REACHED
from llmframe.clients.retry_after import retry_after
from llmframe.errors import ErrorKind

_ERROR_STATUS = 400

MESSAGE_CHARS = 160
"""Most characters of a server's message that an error quotes."""

_BY_WORD: tuple[tuple[ErrorKind, frozenset[str]], ...] = (
    (
        "context_length",
        frozenset(
            {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large"}
        ),
    ),
    (
        "content_filter",
        frozenset(
            {"content_filter", "responsibleaipolicyviolation", "content_policy_violation", "data_inspection_failed"}
        ),
    ),
    (
        "quota",
        frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached", "billing_error"}),
    ),
    ("not_found", MODEL_NOT_FOUND),
    ("auth", frozenset({"invalid_api_key", "api_key_invalid", "authentication_error", "account_deactivated"})),
    # The server itself checked the model's output against the schema: the fault of one answer, not of the request.
    ("invalid", frozenset({"json_validate_failed", "tool_use_failed"})),
)

_BY_STATUS: dict[int, tuple[ErrorKind, str]] = {
    400: ("bad_request", "BadRequestError"),
    401: ("auth", "AuthenticationError"),
    402: ("quota", "PaymentRequiredError"),
    403: ("auth", "PermissionDeniedError"),
    404: ("not_found", "NotFoundError"),
    408: ("timeout", "RequestTimeoutError"),
    409: ("server", "ConflictError"),
    413: ("context_length", "RequestTooLargeError"),
    415: ("bad_request", "UnsupportedMediaTypeError"),
    422: ("bad_request", "UnprocessableEntityError"),
    425: ("server", "TooEarlyError"),
    429: ("rate_limit", "RateLimitError"),
    501: ("bad_request", "NotImplementedError"),
    508: ("not_found", "RedirectError"),
    529: ("server", "OverloadedError"),
}

# Words that name no more than the status does: a refusal that has only these is one without a code.
_PLAIN = frozenset(
    {
        *("error", "bad_request", "badrequest", "badrequesterror", "bad request", "invalid_request"),
        *("invalid_request_error", "invalidrequesterror", "invalid_argument", "value_error", "validation_error"),
        *("not_found", "not_found_error", "notfounderror", "notfound", "unprocessable_entity", "unimplemented"),
        *("server_error", "api_error", "internal_error", "internal", "internalservererror", "upstream_error"),
        *("rate_limit_error", "permission_error", "not_supported_error", "notimplementederror"),
    }
)

# Exceptions without a status, by any name in their class tree.
_BY_NAME: dict[str, ErrorKind] = {
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "APITimeoutError": "timeout",
    "APIConnectionError": "connection",
    "TransportError": "connection",
    "ClientError": "connection",
    "ClientPayloadError": "connection",
    "ConnectionClosed": "connection",
    "WebSocketConnectionClosedError": "connection",
    "WebSocketQueueFullError": "connection",
    "OSError": "connection",
    "BotoCoreError": "connection",
    "UnicodeEncodeError": "encoding",
    "ContentFilterFinishReasonError": "content_filter",
    "LengthFinishReasonError": "truncated",
    "SubjectTokenProviderError": "auth",
    "CredentialsError": "auth",
    "NoCredentialsError": "auth",
    "APIResponseValidationError": "server",
    "UnknownApiResponseError": "server",
    "JSONDecodeError": "server",
    "InvalidWebhookSignatureError": "server",
    "OpenAIError": "internal",
    "AnthropicError": "internal",
}

# Exceptions of the time before a connection stands, by any name in their class tree.
_CONNECTING = frozenset({"ConnectionRefusedError", "gaierror", "ConnectError", "ClientConnectorError"})

LONG_CHARS, SHORT_CHARS = 8, 4
"""Keys from so many characters on are hidden inside of words too; those with fewer than the second number are none."""

# Keys as providers write them; their own messages quote them ("Incorrect API key provided: …").
_KEY_SHAPE = re.compile(r"\b(?:sk|rk|gsk|xai|pplx|AIza)[-_]?[\w\-*]{8,}")


@dataclass(frozen=True, slots=True)
class _Body:
    """The words of an error body, whoever's form it has."""

    code: str | None = None
    type: str | None = None
    param: str | None = None
    message: str = ""
    inner: str | None = None
    wait: float | None = None


def from_response(
    status: int, body: object, headers: Mapping[str, str] | None = None, *, secrets: Iterable[str] = ()
) -> RequestError:
    """The error of an HTTP answer.

    Parameters
    ----------
    status
        HTTP status; below 400 the answer was unreadable or its body said that it failed.
    body
        The error body: parsed JSON, or text or bytes.
    headers
        Response headers, for `retry_after` and `limits`.
    secrets
        Texts that the detail must not hold, such as the key.
    """
    words = _read_body(body)
    kind, name = _by_status(status)
    for candidate, known in _BY_WORD:
        if any(word and word.lower() in known for word in (words.code, words.inner, words.type)):
            kind = candidate
            break
    code = next((word for word in (words.code, words.inner, words.type) if word and word.lower() not in _PLAIN), None)
    wait = retry_after(headers) if headers else None
    head = " ".join(str(part) for part in (name, status, code or words.code or words.type) if part)
    message = clean(words.message, secrets=secrets)
    return RequestError(
        kind,
        f"{head}: {message}" if message else head,
        status=status,
        code=code,
        param=words.param,
        retry_after=words.wait if wait is None else wait,
        limits=rate_headers.read(headers) if headers else None,
    )


def from_exception(error: BaseException, *, secrets: Iterable[str] = (), where: str | None = None) -> RequestError:
    """The error that an SDK or a transport raised.

    An exception without an HTTP status is told by class names alone: its text and its causes may hold a header. `where`
    is then added, the address without user and query.
    """
    status, body, headers = _answer_of(error)
    if status is not None:
        return from_response(status, body, headers, secrets=secrets)
    chain = list(_chain(error))
    if any(type(link) is RuntimeError for link in chain):
        return RequestError(
            "connection",
            "RuntimeError: the client's connections belong to another event loop; give "
            '`loop="current"`, or a client without an `http_client` of its own',
            code=FOREIGN_LOOP,
        )
    if any(isinstance(link, UnicodeEncodeError) for link in chain):
        return RequestError("encoding", "UnicodeEncodeError: text that UTF-8 can't hold")
    kind = _by_name(error)
    told = _described(chain) + (f" at {where}" if where else "")
    code = NOT_REACHED if kind == "connection" and _never_connected(chain) else None
    return RequestError(kind, told + _remedy(chain, where), code=code)


def failure_inside(body: dict[str, Any]) -> dict[str, Any] | None:
    """The error that a gateway sends with status 200, at the top or in the first choice."""
    choices: Any = body.get("choices")
    if body.get("object") == "error":  # older vLLM and FastChat
        return body
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else body
    error: object = cast("dict[str, object]", first).get("error") if isinstance(first, dict) else None
    if isinstance(error, str) and error:
        return {"message": error}
    return cast("dict[str, Any]", error) if isinstance(error, dict) and error else None


def status_inside(error: dict[str, Any]) -> int | None:
    """The HTTP status that such an error gives as its code."""
    code = error.get("code")
    return int(code) if isinstance(code, int | str) and str(code).isdigit() and int(code) >= _ERROR_STATUS else None


def clean(text: str, *, secrets: Iterable[str] = ()) -> str:
    """`text` on one line without `secrets` or anything shaped like a key, cut to `MESSAGE_CHARS`.

    Short ones are hidden only as words of their own, the shortest not at all: servers of one's own are given `"x"` for
    a key, and headers hold `"1"`.
    """
    for secret in secrets:
        if len(secret) >= LONG_CHARS:
            text = text.replace(secret, "[key]")
        elif len(secret) >= SHORT_CHARS:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[key]", text)
    line = " ".join(_KEY_SHAPE.sub("[key]", text).split())
    return line if len(line) <= MESSAGE_CHARS else line[: MESSAGE_CHARS - 1] + "…"


def _by_status(status: int) -> tuple[ErrorKind, str]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:  # noqa: PLR2004 - HTTP's classes
        return "not_found", "RedirectError"
    if status >= 500 or status < 400:  # noqa: PLR2004 - HTTP's classes
        return "server", "InternalServerError" if status >= 500 else "InvalidReply"  # noqa: PLR2004
    return "bad_request", "APIStatusError"


def _by_name(error: BaseException) -> ErrorKind:
    for link in _chain(error):
        for ancestor in type(link).__mro__:
            if ancestor.__name__ in _BY_NAME:
                return _BY_NAME[ancestor.__name__]
    return "internal"


def _described(chain: list[BaseException]) -> str:
    """The two outermost class names and the system's word: `APIConnectionError: ConnectError (ECONNREFUSED)`."""
    names = list(dict.fromkeys(type(link).__name__ for link in chain))
    # TLS has numbers of its own, which the system's table would name wrongly.
    system = [link for link in chain if isinstance(link, OSError) and not _is_tls(link)]
    number = next((link.errno for link in system if link.errno), None)
    word = f" ({errno.errorcode[number]})" if number is not None and number in errno.errorcode else ""
    return (names[0] if len(names) == 1 else f"{names[0]}: {names[1]}") + word


def _remedy(chain: Sequence[BaseException], where: str | None) -> str:
    """What to look at first after a fault of the system, where that is clear."""
    if any(isinstance(link, OSError) and link.errno in (errno.EMFILE, errno.ENFILE) for link in chain):
        return "; too many files are open: lower `max_concurrency`, or raise `ulimit -n`"
    if any(isinstance(link, socket.gaierror) for link in chain):
        return "; is the host's name right, and the network there?"
    if where and is_loopback(where) and any(isinstance(link, ConnectionRefusedError) for link in chain):
        return "; is the server running?"
    return ""


def _never_connected(chain: Sequence[BaseException]) -> bool:
    """Whether it failed before a request could go out."""
    return any(kind.__name__ in _CONNECTING for link in chain for kind in type(link).__mro__)


def _is_tls(error: OSError) -> bool:
    return "SSL" in type(error).__name__ or "Certificate" in type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _answer_of(error: BaseException) -> tuple[int | None, object, Mapping[str, str] | None]:
    """Status, body and headers where the exception carries them (openai, anthropic, google, cohere, boto, …)."""
    if any(kind.__name__ == "ClientResponseError" for kind in type(error).__mro__):
        return None, None, None  # aiohttp's own word for HTTP that it can't read: its 400 is no server's answer
    raised = cast("Any", error)
    response: Any = getattr(raised, "response", None)
    if isinstance(response, dict):  # botocore's own form
        answer = cast("dict[str, Any]", response)
        metadata: dict[str, Any] = answer.get("ResponseMetadata", {})
        return metadata.get("HTTPStatusCode"), answer.get("Error"), metadata.get("HTTPHeaders")
    candidates: tuple[Any, ...] = (
        getattr(raised, "status_code", None),
        getattr(raised, "code", None),
        getattr(response, "status_code", None),
    )
    status = next((value for value in candidates if isinstance(value, int) and not isinstance(value, bool)), None)
    body: Any = getattr(raised, "body", None)
    if body is None:
        body = getattr(raised, "details", None)
    if body is None or callable(body):
        body = getattr(raised, "message", None)
    headers: Any = getattr(response, "headers", None)
    if headers is None:
        headers = getattr(raised, "headers", None)
    return status, body, cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else None


def _read_body(body: object) -> _Body:
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return _Body(message="" if body.lstrip().startswith("<") else body)  # a proxy's page says nothing
    if isinstance(body, list) and body:
        body = cast("list[object]", body)[0]
    if not isinstance(body, dict):
        return _Body(message=body if isinstance(body, str) else "")
    outer = cast("dict[str, Any]", body)
    inside = outer.get("error", outer.get("Error"))
    if isinstance(inside, str):
        return _Body(message=inside)
    return _read_words(cast("dict[str, Any]", inside) if isinstance(inside, dict) else outer)


def _read_words(error: dict[str, Any]) -> _Body:
    reason, wait = _google_details(error.get("details"))
    inner: Any = error.get("innererror") or error.get("inner_error")
    message: Any = error.get("message") or error.get("Message") or error.get("detail") or ""
    return _Body(
        code=_word(error.get("code")) or _word(error.get("Code")) or reason,
        type=_word(error.get("type")) or _word(error.get("status")),
        param=_word(error.get("param")),
        message=message if isinstance(message, str) else json.dumps(message, default=str),
        inner=_word(cast("dict[str, Any]", inner).get("code")) if isinstance(inner, dict) else None,
        wait=wait,
    )


def _word(value: object) -> str | None:
    """A code that is a word: numbers only repeat the status."""
    return value if isinstance(value, str) and value and not value.isdigit() else None


def _google_details(details: object) -> tuple[str | None, float | None]:
    """`reason` of an ErrorInfo and seconds of a RetryInfo, as Google's APIs put them into a list."""
    reason: str | None = None
    wait: float | None = None
    for entry in cast("list[Any]", details) if isinstance(details, list) else []:
        if not isinstance(entry, dict):
            continue
        facts = cast("dict[str, Any]", entry)
        reason = reason or _word(facts.get("reason"))
        delay = facts.get("retryDelay")
        if isinstance(delay, str):
            wait = retry_after({"retry-after": delay.removesuffix("s")})
    return reason, wait
