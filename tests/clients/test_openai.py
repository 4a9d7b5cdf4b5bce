"""The client of OpenAI-compatible endpoints, over a simulated provider."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any, Literal

import httpx2
import openai
import pytest
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.openai import OpenAIClient, Origin
from llmframe.clients.params import Params
from llmframe.clients.refusals import FOREIGN_LOOP, next_dialects
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.testing import BadBody, Html, NoChoices, Object, Provider, Text, ToolCalls, Without


class Topic(BaseModel):
    topic: Literal["bug", "praise"]


TOPIC = schema_of(Topic)
MESSAGES: list[dict[str, object]] = [{"role": "user", "content": "Bug or praise? row-1"}]


def opened(client: object, **options: Any) -> OpenAIClient:
    plain: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "params": {}, "schema": TOPIC}
    found = open_client(**{"output_mode": "auto", **plain, **options}, client=client)
    assert isinstance(found, OpenAIClient)
    return found


async def once(client: OpenAIClient, dialect: Dialect | None = None, messages: Any = MESSAGES) -> Any:
    await client.start()
    try:
        return await client.send(messages, dialect or client.dialects[0])
    finally:
        await client.close()


async def test_each_mode_asks_in_its_own_form_and_gets_its_answer():
    with Provider() as provider:
        client = opened(provider, params={"temperature": 0, "max_tokens": 9})
        replies = [await once(client, dialect) for dialect in client.dialects]
    by_schema, by_tools, by_json = provider.bodies
    assert [dialect.mode for dialect in client.dialects] == ["json_schema", "tools", "json"]
    assert by_schema["response_format"]["json_schema"]["schema"] == TOPIC.wire
    assert by_tools["tools"][0]["function"]["parameters"] == TOPIC.wire
    assert by_json["response_format"] == {"type": "json_object"}
    assert set(by_schema) == {"model", "messages", "temperature", "max_tokens", "response_format"}
    assert [body["messages"][-1] for body in provider.bodies] == MESSAGES * 3
    said = [reply.text or reply.tool_calls[0].arguments for reply in replies]
    assert all(json.loads(text)["topic"] in {"bug", "praise"} for text in said)


async def test_a_mode_that_is_refused_is_followed_by_the_next_and_max_tokens_by_its_other_name():
    with Provider(refuses={"json_schema"}, refuses_params={"max_tokens"}) as provider:
        client = opened(provider, params={"max_tokens": 9})
        await client.start()
        dialect, tried = client.dialects[0], []
        while True:
            tried.append(dialect)
            try:
                await client.send(MESSAGES, dialect)
                break
            except RequestError as error:
                dialect = next_dialects(dialect, error, client.dialects)[0]
        await client.close()
    assert dialect == Dialect("tools", "max_completion_tokens")
    assert len(tried) == provider.requests == 3


async def test_an_explicit_mode_is_the_only_one():
    with Provider() as provider:
        assert opened(provider, output_mode="tools").dialects == (Dialect("tools"),)
        assert opened(provider, schema=schema_of(None)).dialects == (Dialect("text"),)
        assert (
            opened(provider, params={"max_completion_tokens": 1}).dialects[0].max_tokens_name == "max_completion_tokens"
        )


@pytest.mark.parametrize("step", [BadBody(), Html(), Html(502)])
async def test_a_broken_body_is_a_server_error(step: Any):
    with Provider() as provider:
        provider.script(step)
        with pytest.raises(RequestError) as caught:
            await once(opened(provider))
    assert caught.value.kind == "server"
    assert "<" not in caught.value.detail


async def test_odd_replies_are_replies():
    with Provider() as provider:
        provider.script(
            NoChoices(),
            Without("usage", "refusal", "tool_calls"),
            ToolCalls([("a", {"x": 1}), ("b", "{broken")]),
            Text("```json\n{}\n```"),
        )
        client = opened(provider)
        none, bare, calls, fenced = [await once(client) for _ in range(4)]
    assert (none.text, none.tool_calls) == (None, ())
    assert (bare.usage.input_tokens, bare.usage.output_tokens) == (None, None)
    assert [(call.name, call.arguments) for call in calls.tool_calls][1] == ("b", "{broken")
    assert fenced.text == "```json\n{}\n```"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "rate_limit"),
        ({"choices": [{"error": {"message": "gone", "code": 502}, "message": {}}]}, "server"),
        ({"object": "error", "message": "no such model", "code": 404}, "not_found"),
        ({"error": "no credits"}, "server"),
        ([1, 2], "server"),
    ],
)
async def test_an_error_inside_a_200_is_an_error(body: object, kind: str):
    sdk = openai.AsyncOpenAI(
        base_url="http://double/v1",
        api_key="k",
        http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))),
    )
    with pytest.raises(RequestError) as caught:
        await once(opened(sdk, model="m"))
    assert caught.value.kind == kind
    await sdk.close()


@pytest.mark.parametrize("own", [False, True])
async def test_a_lone_surrogate_is_an_encoding_error_before_anything_is_sent(*, own: bool):
    with Provider() as provider:
        async with httpx2.AsyncClient() as http:
            sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", **({"http_client": http} if own else {}))
            with pytest.raises(RequestError) as caught:
                await once(opened(sdk, model="m"), messages=[{"role": "user", "content": "SECRET\ud800"}])
    assert caught.value.kind == "encoding"
    assert "SECRET" not in str(caught.value)
    assert provider.requests == 0


def test_a_users_client_works_in_one_loop_after_the_other_and_stays_the_users():
    with Provider() as provider:
        sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k")
        client = opened(sdk, model="m")

        async def mine() -> int:
            await sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "row-2"}])
            return len(await asyncio.gather(*(once(opened(sdk, model="m")) for _ in range(4))))

        with asyncio.Runner() as owner:
            assert owner.run(mine()) == 4
            for _ in range(3):
                asyncio.run(once(client))
            assert owner.run(mine()) == 4
            owner.run(sdk.close())
        assert not client.foreign_loop


def test_a_users_own_transport_is_shared_and_another_loop_is_told():
    with Provider() as provider:
        sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", http_client=httpx2.AsyncClient())
        client = opened(sdk, model="m")
        assert client.foreign_loop
        with asyncio.Runner() as owner, asyncio.Runner() as other:

            async def four() -> list[object]:
                await client.start()
                sends = (client.send(MESSAGES, client.dialects[0]) for _ in range(4))
                return await asyncio.gather(*sends, return_exceptions=True)

            assert not any(isinstance(reply, RequestError) for reply in owner.run(four()))
            failed = [reply for reply in other.run(four()) if isinstance(reply, RequestError)]
            assert all(error.code == FOREIGN_LOOP for error in failed)
            owner.run(client.close())
            assert not sdk.is_closed()
            owner.run(sdk.close())


@pytest.mark.parametrize("own", [False, True])
async def test_limits_are_told_with_good_and_bad_answers_over_both_transports(*, own: bool):
    with Provider(requests_per_minute=1) as provider:  # one, and the next a minute later
        async with httpx2.AsyncClient() as http:
            sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", **({"http_client": http} if own else {}))
            client = opened(sdk, model="m")
            await client.start()
            results = await asyncio.gather(
                *(client.send(MESSAGES, client.dialects[0]) for _ in range(3)), return_exceptions=True
            )
            await client.close()
    assert {type(result) for result in results} == {Reply, RequestError}
    for result in results:
        assert isinstance(result, Reply | RequestError)
        assert result.limits is not None
        assert result.limits.requests is not None
        assert result.limits.requests.limit == 1


async def test_an_error_inside_a_200_keeps_what_its_headers_tell():
    headers = {"retry-after": "7", "x-ratelimit-limit-requests": "60"}
    body = {"error": {"message": "slow down", "code": 429}}
    double = httpx2.MockTransport(lambda _: httpx2.Response(200, json=body, headers=headers))
    async with httpx2.AsyncClient(transport=double) as http:
        sdk = openai.AsyncOpenAI(base_url="http://double/v1", api_key="k", http_client=http)
        with pytest.raises(RequestError) as caught:
            await once(opened(sdk, model="m"))
    limits = RateLimits(requests=Allowance(60.0, None, None))
    assert (caught.value.kind, caught.value.retry_after, caught.value.limits) == ("rate_limit", 7.0, limits)


async def test_an_embedded_model_starts_late_and_its_port_is_no_identity():
    class Embedded:
        identity = "sha256:abc"
        alias = "tiny"
        started = 0

        def start(self) -> tuple[str, str]:
            self.started += 1
            return provider.base_url, provider.api_key

    with Provider(check_key=True) as provider:
        embedded = Embedded()
        origin = Origin(embedded=embedded)
        client = OpenAIClient(
            origin, model="tiny", schema=TOPIC, params=Params(), dialects=(Dialect("json_schema"),), provider=None
        )
        assert (client.identity, embedded.started) == ("sha256:abc", 0)
        await once(client)
        assert embedded.started == 1


async def test_extra_body_and_an_answer_of_any_shape_pass():
    with Provider() as provider:
        provider.script(Object({"topic": "bug"}))
        await once(opened(provider, params={"extra_body": {"guided": {"a": 1}}, "seed": 3}))
    assert provider.bodies[0]["guided"] == {"a": 1}
    assert provider.bodies[0]["seed"] == 3
    assert provider.bodies[0]["model"] == "simulated"


async def test_a_cancelled_send_leaves_the_server():
    with Provider() as provider:
        client = opened(provider)
        await client.start()
        provider.hold()
        task = asyncio.create_task(client.send(MESSAGES, client.dialects[0]))
        await asyncio.to_thread(provider.wait_in_flight, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(provider.wait_idle)
        assert provider.closed_in_flight == 1
        provider.release()
        await client.close()


def test_a_request_error_survives_pickling():
    limits = RateLimits(requests=Allowance(60.0, 59.0, 1.0))
    error = RequestError("rate_limit", "slow", status=429, code="c", param="p", retry_after=2.0, limits=limits)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize("stream", [False, True])
async def test_log_probabilities_are_asked_for_and_come_with_the_reply(*, stream: bool):
    with Provider(probabilities={"bug": 0.75, "praise": 0.25}) as provider:
        client = opened(provider, params={"stream": True} if stream else {}, logprobs="asked")
        reply = await once(client)
        plain = await once(opened(provider))
    assert {key: provider.bodies[0][key] for key in ("logprobs", "top_logprobs")} == {
        "logprobs": True,
        "top_logprobs": 20,
    }
    assert b"".join(token.text for token in reply.tokens).decode() == reply.text == '{"topic": "bug"}'
    assert {len(token.top) for token in reply.tokens} == {20}
    assert plain.tokens is None
    assert "logprobs" not in provider.bodies[1]


def test_a_dialect_is_read_back_from_what_a_ledger_says():
    for dialect in (Dialect("json", "max_completion_tokens", top_logprobs=5), Dialect("tools")):
        assert Dialect.of_form(dialect.form, dialect.max_tokens_name) == dialect
