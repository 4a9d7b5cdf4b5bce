"""The client of every provider with an SDK of its own, through instructor."""

from __future__ import annotations

import asyncio
import inspect
import sys
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llmframe.clients.base import Dialect, Message, Mode, RequestError
from llmframe.clients.chat import text_of
from llmframe.clients.faults import from_exception
from llmframe.clients.keys import key_digest
from llmframe.clients.params import Params
from llmframe.clients.replies import read_reply
from llmframe.core.reply import Reply
from llmframe.errors import UsageError

if TYPE_CHECKING:
    from llmframe.core.schema import Schema

# Google's names where its SDK doesn't take OpenAI's; instructor renames them only when there is a schema.
_GOOGLE = frozenset({"google", "generative-ai"})
_GOOGLE_NAMES = MappingProxyType({"max_tokens": "max_output_tokens", "stop": "stop_sequences"})
_SYSTEM_ROLES = ("system", "developer")
_DEFAULT_CLIENT = "AsyncHttpxClientWrapper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """A provider by name, or the user's own `AsyncInstructor`.

    Parameters
    ----------
    name
        The provider's name; the identity in fingerprints.
    model
        `"provider/model"`, as instructor takes it.
    api_key
        The key that the user gave; `None` lets the SDK read its environment.
    key
        The key that will be used, if it is known; never shown.
    price_name
        The provider's name for prices.
    given
        The user's own client.
    """

    name: str
    model: str = ""
    api_key: str | None = field(default=None, repr=False)
    key: str = field(default="", repr=False)
    price_name: str | None = None
    given: Any = None


class InstructorClient:
    """One provider, one model, one schema; sends a request once.

    instructor writes the request and names the SDK's method; the method is called here, so that there is one attempt,
    no log entry and no judgement of the reply: that is the reader's.

    Attributes
    ----------
    foreign_loop
        Whether the connections are the user's own, bound to the loop they were first used in.
    sdk
        The SDK's client as requests use it, from `start` to `close`: one attempt, no time limit, the user's headers.
    secrets
        What no message may hold.
    """

    def __init__(
        self, origin: Wrapped, *, model: str, schema: Schema, params: Params, dialects: tuple[Dialect, ...]
    ) -> None:
        if params.streaming is not None:
            raise UsageError(
                f"params key 'stream' can't be set for {origin.name!r}; it works with OpenAI-compatible endpoints: "
                "leave it out, or give `base_url=` of one"
            )
        self.identity = origin.name
        self.model = model
        self.provider = origin.price_name or (origin.name if origin.given is not None else None)
        self.dialects = dialects
        self.streams = False
        self.foreign_loop = origin.given is not None and not _is_copyable(origin.given.client)
        given_key: Any = getattr(getattr(origin.given, "client", None), "api_key", None)
        self._key: str = origin.key or (given_key if isinstance(given_key, str) else "")
        self.account = key_digest(self._key)
        self._origin = origin
        self._schema = schema
        self._params = params
        self._client: Any = None
        self._call: Any = None
        self._owned: Any = None
        self._names: frozenset[str] = frozenset()
        self.sdk: Any = None

    async def start(self) -> None:
        """Build the client in the running loop; the provider's SDK is imported in a thread.

        Raises
        ------
        UsageError
            If the provider can't be asked in the chosen output mode.
        """
        if self._call is not None:
            return
        self._client = await asyncio.to_thread(self._build)
        self._call = getattr(self._client.create_fn, "__wrapped__", None)
        if self._call is None:
            raise UsageError("client AsyncInstructor has a `create` that instructor didn't wrap; use `from_provider`")
        await asyncio.to_thread(self._check_modes)
        self._claim()
        self._names = frozenset(inspect.signature(self._call).parameters)

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        """One HTTP attempt without a retry.

        Raises
        ------
        RequestError
            If the request failed or was refused.
        """
        answer: object
        try:
            answer = await self._call(**self._taken(self.request(messages, dialect)))
        except Exception as error:  # noqa: BLE001 - the seam: any SDK's exception becomes the row's error
            answer = from_exception(error, secrets=self.secrets, where=self.identity)
        if isinstance(answer, RequestError):
            raise answer  # outside the except block: the cause may hold headers, so no chain may lead to it
        return read_reply(answer)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key and the values of the user's headers."""
        return (self._key, *self._params.headers.values())

    @property
    def query(self) -> dict[str, object]:
        """What the user adds to the address of every request."""
        return dict(self._params.query)

    def request(self, messages: list[Message], dialect: Dialect, *, shaped: bool = True) -> dict[str, Any]:
        """What the SDK's method is called with, once started.

        Parameters
        ----------
        shaped
            Whether the schema is asked for, as `dialect` does it; without it a request takes 40 µs, with it 700.
        """
        from instructor.processing.response import handle_response_model  # noqa: PLC0415 - loads SDKs

        sent: dict[str, Any] = {
            **self._client.kwargs,
            "model": self.model,
            **self._params.under(dialect.max_tokens_name),
        }
        if self._params.query:
            sent["extra_query"] = dict(self._params.query)
        provider = self._client.provider
        shown: list[Any] = list(messages)
        if provider.value == "genai":
            shown = _google_messages(messages, sent)
            if self._schema.model is None:
                names = [name for name in self._params.body if name != "config"] + [dialect.max_tokens_name]
                config = {_GOOGLE_NAMES.get(name, name): sent.pop(name) for name in names if name in sent}
                sent["config"] = {**config, **sent.get("config", {})}
        prepare: Any = handle_response_model
        _, prepared = prepare(
            self._schema.model if shaped else None,
            mode=self._mode(dialect.mode),
            provider=provider,
            **sent,
            messages=shown,
        )
        return prepared

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:  # noqa: ARG002 - the port's form
        """The messages that show the model its invalid reply and what was wrong with it, in plain words for any SDK."""
        said = reply.text or "\n".join(call.arguments for call in reply.tool_calls)
        shown: list[Message] = [{"role": "assistant", "content": said}] if said else []
        asked: Message = {
            "role": "user",
            "content": f"Validation error found:\n{problem}\nAnswer again in the same form, with the errors fixed.",
        }
        return [*messages, *shown, asked]

    async def close(self) -> None:
        """Close what `start` opened; a second call does nothing."""
        owned, self._owned, self._call, self._client, self.sdk = self._owned, None, None, None, None
        for name in ("aclose", "close"):
            method: Any = getattr(getattr(owned, "aio", owned), name, None)
            if callable(method):
                result: Any = method()
                if inspect.isawaitable(result):
                    await result
                return

    def _build(self) -> Any:
        if self._origin.given is not None:
            return self._origin.given
        import instructor  # noqa: PLC0415 - loads SDKs

        options: dict[str, Any] = {} if self._origin.api_key is None else {"api_key": self._origin.api_key}
        if self._origin.name in _GOOGLE:
            from google.genai import types  # noqa: PLC0415 - loads an SDK

            # Without options of its own the SDK waits up to 10 s after a reset and sends the request again.
            options["http_options"] = types.HttpOptions(
                retry_options=types.HttpRetryOptions(attempts=1), headers=dict(self._params.headers) or None
            )
        build: Any = instructor.from_provider
        return build(self._origin.model, async_client=True, **options)

    def _claim(self) -> None:
        """Let the SDK's client try once and wait without end, on connections of this loop, with the user's headers."""
        given = self._origin.given is not None
        sdk = self._client.client
        owner: Any = getattr(self._call, "__self__", None)
        if owner is None or not hasattr(sdk, "copy") or not hasattr(sdk, "max_retries"):
            if self._params.query or (self._params.headers and (given or self._origin.name not in _GOOGLE)):
                raise UsageError(f"params for {self._origin.name!r} can't hold 'extra_headers' or 'extra_query'")
            self._owned, self.sdk = None if given else sdk, sdk
            return
        changes: dict[str, Any] = {"max_retries": 0, "timeout": None}
        if self._params.headers:
            # Not in the request: what is given there is logged at DEBUG.
            changes["default_headers"] = dict(self._params.headers)
        fresh = given and _is_copyable(sdk)
        if fresh:
            package = sys.modules[type(sdk).__module__.partition(".")[0]]
            changes["http_client"] = package.DefaultAsyncHttpxClient(timeout=None)
        copied = sdk.copy(**changes)
        self._call = getattr(type(owner)(copied), self._call.__name__)
        self._owned, self.sdk = copied if fresh or not given else None, copied

    def _taken(self, request: dict[str, Any]) -> dict[str, Any]:
        """`request` as the SDK's method takes it: what it has no name for goes by its door for that, if it has one."""
        unknown = request.keys() - self._names
        if not unknown or "extra_body" not in self._names:
            return request
        body = {name: value for name, value in request.items() if name in unknown}
        known = {name: value for name, value in request.items() if name not in unknown}
        return {**known, "extra_body": body}

    def _check_modes(self) -> None:
        from instructor.v2 import mode_registry  # noqa: PLC0415 - loads SDKs

        for dialect in self.dialects:
            if dialect.mode != "text" and self._mode(dialect.mode) is None:
                known = sorted(mode.value for mode in mode_registry.get_modes_for_provider(self._client.provider))
                raise UsageError(
                    f"{self._origin.name!r} can't be asked with output_mode {dialect.mode!r}; instructor's modes for "
                    f"it: {', '.join(known)}"
                )

    def _mode(self, mode: Mode) -> Any:
        """instructor's name of `mode` for this provider; `None` when it has none."""
        from instructor import Mode as InstructorMode  # noqa: PLC0415 - loads SDKs
        from instructor.v2 import mode_registry  # noqa: PLC0415

        wanted = {
            "json_schema": (InstructorMode.JSON_SCHEMA,),
            "tools": (InstructorMode.TOOLS,),
            "json": (InstructorMode.JSON, InstructorMode.MD_JSON),
            "text": (self._client.mode,),
        }[mode]
        provider = self._client.provider
        return next((name for name in wanted if mode_registry.is_registered(provider, name)), None)


def _google_messages(messages: list[Message], sent: dict[str, Any]) -> list[Any]:
    """Messages with Google's roles; the system text goes into `sent`, where braces in it are text and no template."""
    texts = [(str(message.get("role")), _joined(message.get("content"))) for message in messages]
    system = "\n\n".join(text for role, text in texts if role in _SYSTEM_ROLES)
    if system:
        sent["system"] = system
    return [
        {"role": "model" if role == "assistant" else "user", "content": text}
        for role, text in texts
        if role not in _SYSTEM_ROLES
    ]


def _joined(content: object) -> str:
    return content if isinstance(content, str) else text_of(content) or ""


def _is_copyable(sdk: Any) -> bool:
    inner: Any = getattr(sdk, "_client", None)
    hooks: dict[str, list[Any]] = getattr(inner, "event_hooks", {})
    return type(inner).__name__ == _DEFAULT_CLIENT and not any(hooks.values())
