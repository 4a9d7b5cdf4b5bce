"""Which clients have batches, and what the others are told."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import openai
import pytest

from llmframe.clients import open_client
from llmframe.clients.base import Client
from llmframe.clients.embeddings import open_embeddings
from llmframe.clients.openai_batch import OpenAIBatches
from llmframe.clients.opening_batch import open_batches
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import Provider

KEY = "sk-SECRET-0123456789"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "GROQ_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://a.openai.azure.com")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def opened(**options: Any) -> Client:
    plain: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "client": None, "params": {}}
    return open_client(**{**plain, "schema": schema_of(None), "output_mode": "auto", "sending": False, **options})


@pytest.mark.parametrize(
    "client",
    [
        lambda: opened(model="openai/gpt-4o-mini"),
        lambda: opened(model="azure_openai/mine"),
        lambda: opened(model="org/model", base_url="http://localhost:8000/v1"),
        lambda: opened(model="m", client=openai.AsyncOpenAI(api_key=KEY)),
        lambda: opened(client=Provider()),
    ],
)
def test_endpoints_that_speak_openais_words_have_batches_and_nothing_is_sent(
    client: Callable[[], Client], monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise AssertionError

    live = client()
    monkeypatch.setattr(socket.socket, "connect", refuse)
    batches = open_batches(live)
    assert isinstance(batches, OpenAIBatches)
    assert (batches.identity, batches.account, batches.model) == (live.identity, live.account, live.model)
    assert batches.dialects == live.dialects
    assert KEY not in repr(batches)


def test_anthropics_batches_are_its_own():
    live = opened(model="anthropic/claude-haiku-4-5", api_key=KEY, params={"max_tokens": 9})
    batches = open_batches(live)
    assert (batches.name, batches.uploads, batches.identity) == ("anthropic", False, live.identity)
    assert batches.dialects == live.dialects


def test_a_client_that_embeds_has_batches_that_embed():
    options: dict[str, Any] = {"base_url": None, "api_key": KEY, "client": None, "params": {}, "dimensions": None}
    batches = open_batches(open_embeddings(model="openai/text-embedding-3-small", **options))
    assert isinstance(batches, OpenAIBatches)
    assert batches.kind == "embeddings"


@pytest.mark.parametrize("model", ["google/gemini-2.5-flash", "groq/llama-3.1-8b", "mistral/mistral-small"])
def test_a_provider_without_batches_here_is_told_what_works(model: str):
    with pytest.raises(UsageError, match=r'mode="live".*anthropic/.*base_url=') as caught:
        open_batches(opened(model=model))
    assert repr(model.partition("/")[0]) in str(caught.value)


def test_pieces_are_refused():
    with pytest.raises(UsageError, match="'stream'"):
        open_batches(opened(model="openai/gpt-4o-mini", params={"stream": True}))


def test_an_embedded_model_is_refused():
    class Embedded:
        identity = "sha256:0"
        alias = "tiny"

    from llmframe.clients.openai import OpenAIClient, Origin
    from llmframe.clients.params import Params

    client = OpenAIClient(
        Origin(embedded=Embedded()), model="tiny", schema=schema_of(None), params=Params(), dialects=(), provider=None
    )
    with pytest.raises(UsageError, match=r'embedded model.*mode="live"'):
        open_batches(client)
