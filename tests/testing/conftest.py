"""Calls to a simulated provider: plain HTTP without any SDK, and the Batch API by the vendor's."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from openai.types import Batch, FileObject

from llmframe.testing import Provider

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"echo": {"type": "string"}, "label": {"type": "string", "enum": ["positive", "negative"]}},
    "required": ["echo", "label"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Got:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def choice(self) -> Any:
        return self.body["choices"][0]

    @property
    def content(self) -> Any:
        return self.choice["message"]["content"]

    @property
    def object(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> Any:
        return self.body["error"]


def ask(provider: Provider, prompt: str = "row-1: fine", *, key: str | None = None, **body: Any) -> Got:
    """One chat completion on a connection of its own."""
    request = {"model": "m", "messages": [{"role": "user", "content": prompt}], **body}
    return call(provider, "POST", "/chat/completions", json.dumps(request), key=key)


def call(provider: Provider, method: str, path: str, body: str | None = None, *, key: str | None = None) -> Got:
    url = urlsplit(provider.base_url)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)
    try:
        connection.request(method, url.path + path, body, {"Authorization": f"Bearer {key or provider.api_key}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)
    finally:
        connection.close()


def json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "Answer", "strict": True, "schema": schema}}


def function(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@dataclass(frozen=True, slots=True)
class Kit:
    """The helpers above, for tests that import no module of the test folder."""

    ask: Callable[..., Got] = ask
    call: Callable[..., Got] = call
    json_schema: Callable[[dict[str, Any]], dict[str, Any]] = json_schema
    function: Callable[[str, dict[str, Any]], dict[str, Any]] = function
    schema: dict[str, Any] = None  # type: ignore[assignment]


@pytest.fixture
def http_kit() -> Kit:
    return Kit(schema=SCHEMA)


@pytest.fixture
def make_provider() -> Iterator[Callable[..., Provider]]:
    """Providers that end with the test."""
    made: list[Provider] = []

    def make(**options: Any) -> Provider:
        made.append(Provider(**options))
        return made[-1]

    yield make
    for provider in made:
        provider.close()


@pytest.fixture
def crowd() -> Iterator[ThreadPoolExecutor]:
    """Threads that ask at the same time; their answers are awaited before the test ends."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


@dataclass(frozen=True, slots=True)
class BatchKit:
    """What the tests of the Batch API do over and over, by the vendor's own SDK."""

    provider: Provider
    sdk: openai.AsyncOpenAI

    @staticmethod
    def line(custom_id: str, prompt: str = "row-1", **changed: Any) -> dict[str, Any]:
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}], **changed.pop("body", {})}
        return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body, **changed}

    @staticmethod
    def jsonl(lines: list[dict[str, Any]]) -> bytes:
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    async def upload(self, data: bytes) -> FileObject:
        return await self.sdk.files.create(file=("lines.jsonl", data), purpose="batch")

    async def create(
        self, lines: int | bytes | list[dict[str, Any]] = 4, *, endpoint: Any = None, **more: Any
    ) -> Batch:
        """A batch of so many lines, `a0` asking `row-0` and so on, or of these."""
        if isinstance(lines, int):
            lines = [self.line(f"a{i}", f"row-{i}") for i in range(lines)]
        data = lines if isinstance(lines, bytes) else self.jsonl(lines)
        file = await self.upload(data)
        return await self.create_of(file.id, endpoint=endpoint or "/v1/chat/completions", **more)

    async def create_of(self, file_id: str, *, endpoint: Any = "/v1/chat/completions", **more: Any) -> Batch:
        return await self.sdk.batches.create(input_file_id=file_id, endpoint=endpoint, completion_window="24h", **more)

    async def ended(self, batch: Batch) -> Batch:
        """The batch, asked after once."""
        return await self.sdk.batches.retrieve(batch.id)

    async def rows(self, file_id: str | None) -> list[dict[str, Any]]:
        """The lines of a result file."""
        assert file_id is not None
        return [json.loads(line) for line in (await self.sdk.files.content(file_id)).text.splitlines()]


@pytest.fixture
def with_batches(make_provider: Callable[..., Provider]) -> Callable[..., Any]:
    """Runs a coroutine function with a kit for a provider of these options."""

    def run(main: Callable[[BatchKit], Coroutine[Any, Any, Any]], **options: Any) -> Any:
        async def within() -> Any:
            provider = make_provider(**options)
            connection = {"base_url": provider.base_url, "api_key": provider.api_key, "max_retries": 0, "timeout": 120}
            async with openai.AsyncOpenAI(**connection) as sdk:
                return await main(BatchKit(provider, sdk))

        return asyncio.run(within())

    return run
