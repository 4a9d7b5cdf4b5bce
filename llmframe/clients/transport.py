"""The two ways a prepared request goes out: our own aiohttp session, or the SDK's low-level `post`.

Measured, 64 in flight: the session costs 0.1 ms of CPU a request, the SDK's `post` 0.85 ms. The session takes URL and
headers from a request that the SDK itself builds once, so both send the same thing. A client with connections, hooks or
changing keys of its own goes through the SDK.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from pydantic_core import to_json

from llmframe.clients.base import Message, RequestError
from llmframe.clients.faults import from_response
from llmframe.clients.params import Params

PATH = "/chat/completions"

MAX_CONNECTIONS = 1000
"""Idle connections kept; open ones aren't bounded here, the engine bounds requests in flight."""

MAX_REDIRECTS = 5
"""Hops of one request; servers that add or take a slash need one."""

_SAME_REQUEST = frozenset({307, 308})  # the others make a GET of it
_ERROR_STATUS, _LOOP_DETECTED = 400, 508
_KEEPALIVE_S = 5.0  # as the SDK: servers close idle connections soon after
# What the SDK makes when no `http_client` was given, and its aiohttp client. An explicit DefaultAsyncHttpx2Client stays
# the user's: a proxy or certificate given to it would be lost in a copy.
_COPYABLE_CLIENTS = frozenset({"AsyncHttpxClientWrapper", "_InstalledAioHttpClient"})
_SDK_CLASSES = frozenset({"AsyncOpenAI", "AsyncAzureOpenAI"})
_LIVE_CREDENTIALS = (
    "_api_key_provider",
    "_provider_runtime",
    "_workload_identity_auth",
    "workload_identity",
    "_azure_ad_token_provider",
)
_OWN_HEADERS = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Prepared:
    """The part of a body that is the same for every row, as a mapping and as JSON up to the messages.

    `path` is where it goes, `field` what the messages are called there; texts to embed take their place.
    """

    body: dict[str, Any]
    head: bytes
    path: str = PATH
    field: str = "messages"

    @classmethod
    def of(cls, body: dict[str, Any], *, path: str = PATH, field: str = "messages") -> Prepared:
        """From a body that has `model` in it and no `messages`."""
        head = json.dumps(body, ensure_ascii=False)[:-1].encode() + f', "{field}": '.encode()
        return cls(body, head, path, field)

    def with_messages(self, messages: list[Message] | list[str]) -> bytes:
        """The whole body; raises `UnicodeEncodeError` where UTF-8 can't hold a text."""
        try:
            written = to_json(messages)  # 0.4 µs, the standard library 6 µs
        except ValueError:
            written = json.dumps(messages, ensure_ascii=False).encode()  # its exceptions tell what can't be sent
        return self.head + written + b"}"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status, headers and bytes of an HTTP answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class OpenAnswer(Protocol):
    """An HTTP answer whose body is still on its way."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers."""
        ...

    async def chunk(self) -> bytes:
        """The next bytes of the body, as they come; empty at its end."""
        ...

    async def close(self) -> None:
        """Give the connection back after the end of the body, else close it."""
        ...


class Transport(Protocol):
    """One HTTP attempt; raises what its library raises."""

    async def post(self, prepared: Prepared, messages: list[Message] | list[str]) -> HttpAnswer:
        """Send one request and read its answer; no retry and no time limit."""
        ...

    async def open(self, prepared: Prepared, messages: list[Message] | list[str]) -> OpenAnswer:
        """Send one request, and leave the body of its answer to be read; no retry and no time limit."""
        ...

    async def close(self) -> None:
        """Close the connections that belong to it."""
        ...


class SdkTransport:
    """Through `AsyncOpenAI.post`; an answer from 400 up leaves as the SDK's exception."""

    def __init__(self, sdk: Any, params: Params, *, owned: bool) -> None:
        self._sdk = sdk
        self._owned = owned
        # The user's own client would follow to any host, with the prompt and every key but `Authorization`.
        self._options: dict[str, Any] = {"follow_redirects": False}
        if params.headers:
            # Not in the options: those are logged at DEBUG with their headers.
            self._sdk = sdk.copy(default_headers=dict(params.headers))
        self._query = {"params": dict(params.query)} if params.query else {}

    async def post(self, prepared: Prepared, messages: list[Message] | list[str]) -> HttpAnswer:
        """Send one request and read its answer."""
        answer = await self._send(prepared, messages, {})
        return HttpAnswer(answer.status_code, answer.headers, answer.content)

    async def open(self, prepared: Prepared, messages: list[Message] | list[str]) -> OpenAnswer:
        """Send one request."""
        import openai  # noqa: PLC0415 - a second of import

        return _SdkAnswer(await self._send(prepared, messages, {"stream": True, "stream_cls": openai.AsyncStream}))

    async def _send(self, prepared: Prepared, messages: list[Message] | list[str], form: dict[str, Any]) -> Any:
        import httpx2  # noqa: PLC0415 - comes with the SDK
        import openai  # noqa: PLC0415 - a second of import

        body = {**prepared.body, prepared.field: messages}
        origin, url, options = "", prepared.path, {**self._options, **self._query}
        for _ in range(MAX_REDIRECTS):
            try:
                return await self._sdk.post(url, cast_to=httpx2.Response, body=body, options=options, **form)
            except openai.APIStatusError as error:
                if error.status_code >= _ERROR_STATUS:
                    raise
                answer = error.response
            here = str(answer.request.url)
            origin = origin or here
            target = moved(answer.status_code, answer.headers, here=here, origin=origin)
            if target is None:
                return answer
            url, options = target, self._options
        raise _endless()

    async def close(self) -> None:
        """Close the SDK's client unless it is the user's."""
        if self._owned:
            await self._sdk.close()


class _SdkAnswer:
    """httpx's response, asked with `stream=True`."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._chunks: Any = answer.aiter_bytes()
        self.status: int = answer.status_code
        self.headers: Mapping[str, str] = answer.headers

    async def chunk(self) -> bytes:
        """The next bytes."""
        return await anext(self._chunks, b"")

    async def close(self) -> None:
        """Let go of the connection."""
        await self._answer.aclose()


class SessionTransport:
    """Through an aiohttp session of the running loop."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        import aiohttp  # noqa: PLC0415 - loads in 0.2 s
        import yarl  # noqa: PLC0415 - comes with it

        secure: Any = False
        if url.startswith("https:"):
            import httpx2  # noqa: PLC0415 - its context trusts what the SDK trusts

            secure = httpx2.create_ssl_context()
        self.url = url
        self.headers = dict(headers)
        self._url = yarl.URL(url)
        self._session = aiohttp.ClientSession(
            # The session's own: given with every request they are merged every time, 4 µs.
            headers=self.headers,
            connector=aiohttp.TCPConnector(limit=0, ssl=secure, keepalive_timeout=_KEEPALIVE_S),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def post(self, prepared: Prepared, messages: list[Message] | list[str]) -> HttpAnswer:
        """Send one request and read its answer."""
        answer = await self._send(prepared, messages)
        return HttpAnswer(answer.status, answer.headers, await answer.read())

    async def open(self, prepared: Prepared, messages: list[Message] | list[str]) -> OpenAnswer:
        """Send one request."""
        return _SessionAnswer(await self._send(prepared, messages))

    async def _send(self, prepared: Prepared, messages: list[Message] | list[str]) -> Any:
        data = prepared.with_messages(messages)
        url = self._url
        for _ in range(MAX_REDIRECTS):
            answer = await self._session.post(url, data=data, allow_redirects=False)
            if answer.status not in _SAME_REQUEST:
                return answer
            target = moved(answer.status, answer.headers, here=str(url), origin=self.url)
            if target is None:
                return answer
            answer.release()
            url = target
        raise _endless()

    async def close(self) -> None:
        """Close the session."""
        await self._session.close()


class _SessionAnswer:
    """aiohttp's response."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.status: int = answer.status
        self.headers: Mapping[str, str] = answer.headers

    async def chunk(self) -> bytes:
        """The next bytes."""
        return await self._answer.content.readany()

    async def close(self) -> None:
        """Let go of the connection."""
        self._answer.close()


def moved(status: int, headers: Mapping[str, str], *, here: str, origin: str) -> str | None:
    """Where the same request goes on after a redirect: only on the server of `origin`, for keys and prompt go along."""
    if status not in _SAME_REQUEST or "location" not in headers:
        return None
    target = urljoin(here, headers["location"])
    first, there = urlsplit(origin), urlsplit(target)
    upgraded = (first.scheme, there.scheme) == ("http", "https") and first.hostname == there.hostname
    return target if (first.scheme, first.netloc) == (there.scheme, there.netloc) or upgraded else None


def _endless() -> RequestError:
    return from_response(_LOOP_DETECTED, {"message": "the server redirects without end"})


def is_copyable(sdk: Any) -> bool:
    """Whether a user's client has a transport of the SDK's own making, of which a new one can be made in any loop."""
    inner: Any = getattr(sdk, "_client", None)
    hooks: dict[str, list[Any]] = getattr(inner, "event_hooks", {})
    return type(inner).__name__ in _COPYABLE_CLIENTS and not any(hooks.values())


async def open_transport(sdk: Any, params: Params, *, model: str, path: str = PATH) -> Transport:
    """A transport in the running loop for a client that may be copied: the session where nothing speaks against it.

    The session sends everything to `path`.
    """
    import httpx2  # noqa: PLC0415 - comes with the SDK

    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={})

    plain = type(sdk).__name__ in _SDK_CLASSES and type(sdk).__module__.split(".")[0] == "openai"
    if plain and not any(getattr(sdk, name, None) for name in _LIVE_CREDENTIALS) and not _has_proxy(str(sdk.base_url)):
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), trust_env=False) as double:
            copied = sdk.copy(http_client=double, max_retries=0, timeout=None)
            await SdkTransport(copied, params, owned=False).post(Prepared.of({"model": model}, path=path), [])
        headers = {name: value for name, value in seen[0].headers.items() if name.lower() not in _OWN_HEADERS}
        return SessionTransport(str(seen[0].url), headers)
    return SdkTransport(copy_here(sdk), params, owned=True)


def copy_here(sdk: Any) -> Any:
    """A copy of `sdk` with connections of its own, made for the running loop, that neither retries nor times out."""
    import httpx2  # noqa: PLC0415 - comes with the SDK
    import openai  # noqa: PLC0415 - a second of import

    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=_KEEPALIVE_S
    )
    fresh = openai.DefaultAsyncHttpx2Client(limits=limits, timeout=None)
    return sdk.copy(http_client=fresh, max_retries=0, timeout=None)


def _has_proxy(url: str) -> bool:
    """Whether the environment sends `url` through a proxy; the SDK's transport knows how, the session doesn't."""
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()  # a lone NO_PROXY is in it, too
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(
        parts.hostname or ""
    )
