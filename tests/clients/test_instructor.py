"""What is particular to providers reached through instructor; the table of outcomes is in the contract's file."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any, Literal

import anthropic
import instructor
import pytest
from aiohttp import web
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.instructor import InstructorClient, Wrapped
from llmframe.clients.params import Params
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Write {{braces}}."},
    {"role": "user", "content": [{"type": "text", "text": "Bug or praise?"}]},
    {"role": "assistant", "content": "bug"},
    {"role": "user", "content": "Sure?"},
]


class Topic(BaseModel):
    topic: Literal["bug", "praise"]


TOPIC = schema_of(Topic)


class Busy:
    """A server that is always overloaded, and counts."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        return web.json_response({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, status=529)


@pytest.fixture
async def busy() -> AsyncIterator[Busy]:
    server = Busy()
    app = web.Application()
    app.router.add_post("/{tail:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    yield server
    await runner.cleanup()


def opened(**options: Any) -> InstructorClient:
    plain: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "client": None, "params": {}}
    client = open_client(**{**plain, "schema": TOPIC, "output_mode": "auto", **options})
    assert isinstance(client, InstructorClient)
    return client


async def refused(client: InstructorClient) -> RequestError:
    await client.start()
    with pytest.raises(RequestError) as caught:
        await client.send(MESSAGES, client.dialects[0])
    await client.close()
    return caught.value


async def test_a_users_client_is_copied_and_asked_once(busy: Busy):
    sdk = anthropic.AsyncAnthropic(base_url=busy.url, api_key="sk-mine", max_retries=4)
    client = opened(client=instructor.from_anthropic(sdk), model="claude-test", params={"max_tokens": 9})
    assert not client.foreign_loop
    assert (client.identity, client.provider, client.model) == ("anthropic", "anthropic", "claude-test")
    assert (await refused(client)).status == 529
    assert len(busy.bodies) == 1
    assert busy.bodies[0]["model"] == "claude-test"
    assert not sdk.is_closed()
    await sdk.close()


async def test_a_users_own_transport_is_shared_and_said_to_be_foreign(busy: Busy):
    http = anthropic.DefaultAsyncHttpxClient()
    sdk = anthropic.AsyncAnthropic(base_url=busy.url, api_key="sk-mine", http_client=http)
    client = opened(client=instructor.from_anthropic(sdk), model="claude-test", params={"max_tokens": 9})
    assert client.foreign_loop
    assert (await refused(client)).status == 529
    assert not http.is_closed
    await http.aclose()


async def test_the_limit_that_anthropic_wants_is_set_where_the_user_set_none(
    busy: Busy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", busy.url)
    for params in ({}, {"max_tokens": 9}):
        await refused(opened(model="anthropic/claude-test", api_key="sk-x", params=params))
    assert [body["max_tokens"] for body in busy.bodies] == [4096, 9]


async def test_params_that_an_sdk_has_no_name_for_are_sent_all_the_same(busy: Busy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", busy.url)
    await refused(opened(model="anthropic/claude-test", api_key="sk-x", params={"temperature": 0.5, "new_word": [1]}))
    assert (busy.bodies[0]["temperature"], busy.bodies[0]["new_word"]) == (0.5, [1])


async def test_google_gets_its_own_roles_and_braces_in_the_system_text_are_text(
    busy: Busy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", busy.url)
    await refused(opened(model="google/gemini-test", api_key="sk-x"))
    body = busy.bodies[0]
    assert [entry["role"] for entry in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][0]["parts"] == [{"text": "Bug or praise?"}]
    assert body["systemInstruction"]["parts"] == [{"text": "Write {{braces}}."}]


async def test_a_mode_that_instructor_lacks_for_a_provider_is_told_before_anything_is_sent():
    client = opened(model="google/gemini-test", api_key="sk-x", output_mode="json_schema")
    with pytest.raises(UsageError, match="'google' can't be asked with output_mode 'json_schema'"):
        await client.start()


async def test_headers_that_a_provider_cant_take_are_told():
    async def create(**_: Any) -> None: ...

    class Sdk: ...

    made = instructor.patch(create=create, mode=instructor.Mode.TOOLS)
    given = instructor.AsyncInstructor(client=Sdk(), create=made, mode=instructor.Mode.TOOLS)
    client = InstructorClient(
        Wrapped(name="odd", given=given),
        model="m",
        schema=TOPIC,
        params=Params(headers={"x": "y"}),
        dialects=(Dialect("tools"),),
    )
    with pytest.raises(UsageError, match="extra_headers"):
        await client.start()


async def test_a_client_that_instructor_didnt_wrap_is_refused():
    async def create(**_: Any) -> None: ...

    given = instructor.AsyncInstructor(client=object(), create=create, mode=instructor.Mode.TOOLS)
    client = InstructorClient(
        Wrapped(name="odd", given=given), model="m", schema=TOPIC, params=Params(), dialects=(Dialect("tools"),)
    )
    with pytest.raises(UsageError, match="from_provider"):
        await client.start()


def test_opening_a_client_of_another_provider_needs_no_network():
    assert opened(model="anthropic/claude-test", api_key="sk-x").dialects == (Dialect("tools"), Dialect("json"))
    assert "anthropic" in sys.modules
