"""A streamed answer is the same answer, a silence ends it, and a cut one never becomes one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx2
import openai
import pytest
from aiohttp import web
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Client, Dialect, RequestError
from llmframe.clients.refusals import next_dialects, transient
from llmframe.clients.streaming import Streamed, receive
from llmframe.clients.transport import HttpAnswer, Prepared
from llmframe.core.outcome import Usage
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.testing import (
    BadBody,
    Cut,
    Delay,
    Drip,
    Empty,
    Filtered,
    Hang,
    Html,
    Object,
    Provider,
    Refusal,
    Reset,
    Stall,
    Status,
    Step,
    StreamError,
    Text,
    ToolCalls,
    Truncated,
    Without,
    run_in_fake_time,
)

MESSAGES: list[dict[str, object]] = [{"role": "user", "content": "Bug or praise? row-1"}]
TRANSPORTS = pytest.mark.parametrize("own", [False, True], ids=["session", "sdk"])


class Topic(BaseModel):
    topic: Literal["bug", "praise"]
    why: str


def made(client: object, **options: Any) -> Client:
    plain: dict[str, Any] = {"params": {"stream": True}, "schema": schema_of(Topic), "output_mode": "auto"}
    named = {"model": "m", "base_url": None, "api_key": None, "client": client}
    return open_client(**{**plain, **named, **options})


@asynccontextmanager
async def started(provider: Provider, *, own: bool, **options: Any) -> AsyncIterator[Client]:
    """A client on the session, or on the user's own connections through the SDK."""
    async with httpx2.AsyncClient() as http:
        connections: dict[str, Any] = {"http_client": http} if own else {}
        sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.api_key, **connections)
        client = made(sdk, **options)
        await client.start()
        yield client
        await client.close()


def asked(*steps: Step, own: bool, dialect: Dialect | None = None, **options: Any) -> tuple[Any, float, Provider]:
    """What one request came to, when by the simulated clock, and the provider."""

    async def main() -> tuple[Any, float, Provider]:
        async with Provider().serving() as provider, started(provider, own=own, **options) as client:
            provider.script(*steps)
            began = asyncio.get_running_loop().time()
            outcome: Any
            try:
                outcome = await client.send(MESSAGES, dialect or client.dialects[0])
            except RequestError as error:
                outcome = error
            return outcome, asyncio.get_running_loop().time() - began, provider

    return run_in_fake_time(main())


@TRANSPORTS
@pytest.mark.parametrize("mode", ["json_schema", "tools", "json", "text"])
def test_a_streamed_answer_is_the_answer_in_one_piece_in_every_mode(mode: str, *, own: bool):
    schema = schema_of(None if mode == "text" else Topic)
    options: dict[str, Any] = {"schema": schema, "output_mode": "auto" if mode == "text" else mode}
    streamed, _, provider = asked(own=own, **options)
    whole, _, other = asked(own=own, params={}, **options)
    assert isinstance(streamed, Reply)
    assert streamed == whole
    assert streamed.usage.output_tokens
    (body,), (plain,) = provider.bodies, other.bodies
    assert body.pop("stream") is True
    assert body.pop("stream_options") == {"include_usage": True}
    assert body == plain


@TRANSPORTS
@pytest.mark.parametrize(
    "step",
    [
        Text("  a text\nof two lines "),
        Object({"topic": "bug", "why": "ü 日本 \u2028"}),
        ToolCalls([("Topic", {"topic": "bug", "why": ""}), ("Other", "{broken")]),
        Refusal(),
        Filtered(),
        Truncated(0.5),
        Empty(),
        Without("usage"),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_may_stand_in_an_answer_is_read_alike(step: Step, *, own: bool):
    streamed, whole = (asked(step, own=own, params=params)[0] for params in ({"stream": True}, {}))
    assert isinstance(streamed, Reply)
    assert streamed == whole


@TRANSPORTS
@pytest.mark.parametrize(
    ("step", "kind", "told", "seconds"),
    [
        (Hang(), "timeout", "no news for 5 s before the first piece of the answer", 5),
        (Delay(60.0), "timeout", "no news for 5 s before the first piece of the answer", 5),
        (Stall(after=2), "timeout", "no news for 5 s in the middle of the answer", 5),
        (Stall(after=2, ping=1.0), "timeout", "no news for 5 s in the middle of the answer", 5),
        (Drip(), "timeout", "no news for 5 s before the first piece of the answer", 5),
        (Cut(), "connection", "", 0),
        (Cut(clean=True), "connection", "the answer ended without a finish_reason", 0),
        (Reset(), "connection", "", 0),
        (StreamError(code=429), "rate_limit", "429", 0),
        (StreamError(code="insufficient_quota"), "quota", "insufficient_quota", 0),
        (StreamError(), "server", "The server had an error", 0),
        (BadBody(), "server", "a piece of the answer isn't a JSON object", 0),
        (Html(), "server", "a body that isn't a JSON object (text/html)", 0),
        (Html(502), "server", "502", 0),
        (Status(429, retry_after=7), "rate_limit", "429", 0),
        (Status(401, "invalid_api_key"), "auth", "401", 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Step) else None,
)
def test_what_goes_wrong_has_its_kind_and_its_time(step: Step, kind: str, told: str, seconds: float, *, own: bool):
    error, took, provider = asked(step, own=own, timeout=5.0)
    assert isinstance(error, RequestError)
    assert error.kind == kind, error.detail
    assert told in error.detail
    assert took == pytest.approx(seconds, abs=0.01)
    assert provider.requests == 1
    if kind in ("timeout", "connection"):
        assert transient(error)


@TRANSPORTS
def test_a_stalled_connection_is_closed_and_the_next_request_has_another(*, own: bool):
    async def main() -> None:
        async with Provider().serving() as provider, started(provider, own=own, timeout=5.0) as client:
            provider.script(Stall(ping=1.0))
            with pytest.raises(RequestError):
                await client.send(MESSAGES, client.dialects[0])
            await asyncio.sleep(2.0)
            assert (provider.connections, provider.closed_in_flight) == (0, 1)
            for _ in range(3):
                await client.send(MESSAGES, client.dialects[0])
            assert provider.connections == 1  # a stream that was read to its end gives its connection back

    run_in_fake_time(main())


@TRANSPORTS
def test_a_long_answer_may_take_longer_than_a_silence(*, own: bool):
    async def main() -> None:
        provider = Provider(latency=4.0, piece_latency=4.0)
        async with provider.serving(), started(provider, own=own, timeout=5.0) as client:
            reply = await client.send(MESSAGES, client.dialects[0])
            assert json.loads(reply.text or "")["topic"] in ("bug", "praise")
            assert asyncio.get_running_loop().time() > 10

    run_in_fake_time(main())


@TRANSPORTS
def test_refused_stream_options_are_left_out_and_usage_is_unknown(*, own: bool):
    async def main() -> None:
        provider = Provider(refuses_params={"stream_options"})
        async with provider.serving(), started(provider, own=own) as client:
            with pytest.raises(RequestError) as caught:
                await client.send(MESSAGES, client.dialects[0])
            (dialect,) = next_dialects(client.dialects[0], caught.value, client.dialects)
            assert dialect == replace(client.dialects[0], asks_usage=False)
            reply = await client.send(MESSAGES, dialect)
            assert reply.text
            assert reply.usage == Usage()

    run_in_fake_time(main())


@TRANSPORTS
def test_a_cancelled_stream_leaves_the_server(*, own: bool):
    async def main() -> None:
        async with Provider().serving() as provider, started(provider, own=own) as client:
            provider.script(Stall())
            task = asyncio.create_task(client.send(MESSAGES, client.dialects[0]))
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(1.0)
            assert (provider.connections, provider.closed_in_flight) == (0, 1)

    run_in_fake_time(main())


@TRANSPORTS
async def test_a_server_that_overlooks_stream_is_read_whole(*, own: bool):
    said = {"role": "assistant", "content": '{"topic": "bug", "why": ""}'}
    body = {"model": "m", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(body, headers={"x-ratelimit-limit-requests": "60"})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with httpx2.AsyncClient() as http:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        sdk = openai.AsyncOpenAI(base_url=url, api_key="k", **({"http_client": http} if own else {}))
        client = made(sdk)
        await client.start()
        reply = await client.send(MESSAGES, client.dialects[0])
        await client.close()
    await runner.cleanup()
    limits = RateLimits(requests=Allowance(60.0, None, None))
    assert reply == Reply(text=str(said["content"]), finish_reason="stop", model="m", limits=limits)


def test_the_users_own_stream_options_go_out_as_they_are():
    options = {"include_usage": False}
    reply, _, provider = asked(own=False, params={"stream": True, "stream_options": options})
    assert provider.bodies[0]["stream_options"] == options
    assert reply.usage == Usage()


def test_stream_false_sends_nothing_and_asks_for_the_whole():
    reply, _, provider = asked(own=False, params={"stream": False})
    assert isinstance(reply, Reply)
    assert not {"stream", "stream_options"} & set(provider.bodies[0])


def test_a_client_says_whether_it_streams():
    with Provider() as provider:
        assert made(provider).streams
        assert not made(provider, params={}).streams


@dataclass
class Played:
    """A transport whose answer is a list of waits and bytes; the double of the port."""

    script: list[float | bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    closed: int = 0

    async def post(self, prepared: Prepared, messages: Any) -> HttpAnswer:
        raise NotImplementedError

    async def open(self, prepared: Prepared, messages: Any) -> Played:
        return self

    async def chunk(self) -> bytes:
        while self.script:
            step = self.script.pop(0)
            if isinstance(step, bytes):
                return step
            await asyncio.sleep(step)
        return b""

    async def close(self) -> None:
        self.closed += 1


PIECE = b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": null}]}\n\n'
LAST = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"


def received(played: Played) -> tuple[Any, float]:
    async def main() -> tuple[Any, float]:
        outcome: Any
        try:
            outcome = await receive(played, Prepared.of({}), [], silence=5.0)
        except RequestError as error:
            outcome = error
        return outcome, asyncio.get_running_loop().time()

    outcome, took = run_in_fake_time(main())
    assert played.closed == 1
    return outcome, took


def test_only_whole_pieces_are_news():
    drip = [each for i in range(len(PIECE)) for each in (1.0, PIECE[i : i + 1])]
    error, took = received(Played([PIECE, *drip]))
    assert "no news for 5 s in the middle" in error.detail
    assert took == pytest.approx(5)


def test_after_the_last_word_the_end_is_waited_for_no_longer_than_a_second():
    answer, took = received(Played([PIECE, LAST, DONE, 60.0]))
    assert isinstance(answer, Streamed)
    assert answer.body["choices"][0]["message"]["content"] == "x"
    assert took == pytest.approx(1)
    pings: list[float | bytes] = [0.5, b": ping\n\n"]
    assert received(Played([PIECE, LAST, DONE, *pings * 9]))[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([PIECE], "without a finish_reason"),
        ([PIECE, DONE], "without a finish_reason"),
        ([PIECE, DONE, 60.0], "without a finish_reason"),
        ([PIECE, PIECE[:20]], "in the middle of a piece"),
        ([PIECE, LAST, PIECE[:20]], "in the middle of a piece"),
        ([], "before its first piece"),
        ([b": ping\n\n", DONE], "before its first piece"),
    ],
)
def test_an_answer_without_its_end_is_no_answer(script: list[float | bytes], told: str):
    error, _ = received(Played(list(script)))
    assert (error.kind, error.detail) == ("connection", f"the answer ended {told}")


def test_the_end_may_come_without_its_last_word():
    assert isinstance(received(Played([PIECE, LAST.rstrip()]))[0], Streamed)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_server_that_answers_whole_is_read_whole(kind: str):
    body = b'{"choices": [{"message": {"content": "x"}}],\n\n"usage": null}'
    answer, _ = received(Played([body[:9], 1.0, body[9:]], headers={"content-type": kind}))
    assert answer == HttpAnswer(200, {"content-type": kind}, body)
    late, took = received(Played([b" ", 2.0] * 9, headers={"content-type": kind}))
    assert (late.kind, took) == ("timeout", pytest.approx(5))


def test_pieces_under_another_type_are_pieces():
    assert isinstance(received(Played([PIECE, 4.0, LAST, 4.0, DONE], headers={}))[0], Streamed)


def test_a_refusal_is_read_whole_whatever_its_type():
    answer, _ = received(Played([b'data: {"error": {}}\n\n'], status=503))
    assert answer == HttpAnswer(503, {"content-type": "text/event-stream"}, b'data: {"error": {}}\n\n')
