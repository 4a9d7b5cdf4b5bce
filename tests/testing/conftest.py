"""One plain HTTP call to a simulated provider, without any SDK."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

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
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=10)
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
