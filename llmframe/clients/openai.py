"""The client of OpenAI and every endpoint that speaks its chat completions."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from llmframe.clients import chat, rate_headers
from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.clients.endpoints import identity_of
from llmframe.clients.faults import failure_inside, from_exception, from_response, status_inside
from llmframe.clients.keys import PLACEHOLDER, key_digest
from llmframe.clients.params import Params
from llmframe.clients.streaming import Streamed, receive
from llmframe.clients.transport import PATH, HttpAnswer, Prepared, SdkTransport, Transport, is_copyable, open_transport
from llmframe.core.reply import Reply

if TYPE_CHECKING:
    from llmframe.core.schema import Schema

_REDIRECT_STATUS, _ERROR_STATUS = 300, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where requests go: an address and a key, or a client of the user's, or an embedded server.

    Parameters
    ----------
    base_url, api_key
        As they are sent.
    azure_version
        The API version of an Azure address; `None` elsewhere.
    given
        The user's own `AsyncOpenAI` or `AsyncAzureOpenAI`.
    embedded
        An embedded model: `identity`, `alias`, and a blocking `start()` that returns an address and a key.
    name
        Stands for the address in fingerprints: of a simulated provider, whose port may be another's tomorrow.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    azure_version: str | None = None
    given: Any = None
    embedded: Any = None
    name: str | None = None

    @property
    def identity(self) -> str:
        """Part of the fingerprint; an embedded model's never holds a port."""
        if self.embedded is not None:
            return str(self.embedded.identity)
        if self.name is not None:
            return self.name
        return identity_of(str(self.given.base_url) if self.given is not None else self.base_url)

    @property
    def key(self) -> str:
        """The key now in use; empty when it isn't a fixed text."""
        if self.given is None:
            return self.api_key
        if getattr(self.given, "_azure_ad_token_provider", None) is not None:
            return ""
        # Beside a token of Azure's directory the SDK's `api_key` is a word in place of a key.
        key: Any = getattr(self.given, "_azure_ad_token", None) or self.given.api_key
        return key if isinstance(key, str) else ""


class OpenAIClient:
    """One endpoint, one model, one schema; sends a request once.

    Parameters
    ----------
    origin
        Where requests go.
    model
        The name as it is sent.
    schema
        What is asked for.
    params
        What is sent beside the messages.
    dialects
        The dialects to try, the preferred one first.
    provider
        The provider's name for prices, or `None`.

    Attributes
    ----------
    foreign_loop
        Whether the connections are the user's own, bound to the loop they were first used in.
    origin, schema, params
        As given.
    """

    path: ClassVar[str] = PATH

    def __init__(  # noqa: PLR0913 - one argument a fact of the endpoint
        self,
        origin: Origin,
        *,
        model: str,
        schema: Schema,
        params: Params,
        dialects: tuple[Dialect, ...],
        provider: str | None,
    ) -> None:
        self.identity = origin.identity
        self.account = key_digest(origin.key)
        self.model = model
        self.provider = provider
        self.dialects = dialects
        self.foreign_loop = origin.given is not None and not is_copyable(origin.given)
        self.streams = params.streaming is not None
        self.origin = origin
        self.schema = schema
        self.params = params
        self._secrets: tuple[str, ...] = (*params.headers.values(),)
        if origin.key != PLACEHOLDER:
            self._secrets = (origin.key, *self._secrets)
        self._transport: Transport | None = None
        self._prepared: dict[Dialect, tuple[chat.Shape, Prepared]] = {}

    async def start(self) -> None:
        """Open connections in the running loop; SDKs are imported in a thread, they take a second or more."""
        if self._transport is not None:
            return
        await asyncio.to_thread(self._load)
        sdk = await self._sdk()
        if self.foreign_loop:
            self._transport = SdkTransport(sdk.with_options(max_retries=0, timeout=None), self.params, owned=False)
        else:
            self._transport = await open_transport(sdk, self.params, model=self.model, path=self.path)

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        """One HTTP attempt without a retry.

        Raises
        ------
        RequestError
            If the request failed or was refused, or the answer can't be read.
        """
        if self._transport is None:
            raise RequestError("internal", "the client wasn't started")
        shape, prepared = self.prepare(dialect)
        streaming = self.params.streaming
        try:
            if streaming is None:
                answer = await self._transport.post(prepared, shape.instructed(messages))
            else:
                answer = await receive(self._transport, prepared, shape.instructed(messages), silence=streaming.silence)
        except Exception as error:  # noqa: BLE001 - the seam: whatever an SDK or transport raises becomes the row's error
            answer = self._fault(error)
        if isinstance(answer, RequestError):
            raise answer  # outside the except block: the cause holds headers, so no chain may lead to it
        return self._read(answer) if isinstance(answer, HttpAnswer) else self._reply(answer)

    def prepare(self, dialect: Dialect) -> tuple[chat.Shape, Prepared]:
        """What a dialect adds to the messages, and the part of the body that is the same for every row."""
        if dialect not in self._prepared:
            shape = chat.shape_of(self.schema, dialect.mode)
            body = {"model": self.model, **self.params.under(dialect.max_tokens_name), **dialect.body, **shape.body}
            if self.params.streaming is not None:
                options = {"include_usage": True} if dialect.asks_usage else self.params.streaming.options
                body |= {"stream": True} if options is None else {"stream": True, "stream_options": options}
            self._prepared[dialect] = (shape, Prepared.of(body))
        return self._prepared[dialect]

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """The messages that show the model its invalid reply and what was wrong with it, in instructor's words."""
        return chat.reask_messages(messages, reply, problem, dialect)

    async def close(self) -> None:
        """Close the connections that `start` opened; the user's own stay open."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def _load(self) -> None:
        """Import what requests need; it takes a second or more."""
        for module in ("openai", "aiohttp", "instructor.processing.response"):
            importlib.import_module(module)

    def _fault(self, error: Exception) -> RequestError:
        if isinstance(error, RequestError):
            return error
        return from_exception(error, secrets=self._secrets, where=self.identity)

    def _read(self, answer: HttpAnswer) -> Reply:
        return self._reply(self._parsed(answer))

    def _parsed(self, answer: HttpAnswer) -> Streamed:
        if _REDIRECT_STATUS <= answer.status < _ERROR_STATUS:
            # Where to isn't shown: a sign-in address holds tokens.
            moved = "the address sends requests elsewhere; give the one where the server stands as `base_url`"
            raise from_response(answer.status, {"message": moved})
        if answer.status >= _ERROR_STATUS:
            raise from_response(answer.status, answer.content, answer.headers, secrets=self._secrets)
        try:
            data = chat.parse(answer.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            kind = answer.headers.get("content-type", "unknown type").split(";")[0]
            raise RequestError(
                "server", f"status {answer.status} with a body that isn't a JSON object ({kind})", status=answer.status
            )
        return Streamed(answer.status, answer.headers, cast("dict[str, Any]", data))

    def _refuse_failure(self, answer: Streamed) -> None:
        failed = failure_inside(answer.body)
        if failed is not None:
            raise from_response(status_inside(failed) or answer.status, failed, answer.headers, secrets=self._secrets)

    def _reply(self, answer: Streamed) -> Reply:
        self._refuse_failure(answer)
        return chat.read_chat(answer.body, limits=rate_headers.read(answer.headers))

    async def _sdk(self) -> Any:
        if self.origin.embedded is None:
            return sdk_of(self.origin)
        base_url, api_key = await asyncio.to_thread(self.origin.embedded.start)
        self._secrets = (api_key, *self._secrets)
        return sdk_of(Origin(base_url=base_url, api_key=api_key))


def sdk_of(origin: Origin) -> Any:
    """The user's own SDK client, or one for an address and a key; its import takes a second."""
    import openai  # noqa: PLC0415 - a second of import

    if origin.given is not None:
        return origin.given
    if origin.azure_version is not None:
        return openai.AsyncAzureOpenAI(
            azure_endpoint=origin.base_url, api_key=origin.api_key, api_version=origin.azure_version, max_retries=0
        )
    return openai.AsyncOpenAI(base_url=origin.base_url, api_key=origin.api_key, max_retries=0, timeout=None)
