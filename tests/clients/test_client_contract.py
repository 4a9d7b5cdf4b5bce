"""One table of outcomes over every kind of client: whichever SDK answers, the project's words are the same."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from aiohttp import web
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.refusals import dooms_run, transient
from llmframe.core.reply import Reply
from llmframe.testing import Cut, Empty, Html, Object, Provider, Refusal, Reset, Status, Step, Text, Truncated

# google-genai derives a class from aiohttp's session.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

KEY = "sk-SECRET-0123456789"
GOOD = {"label": "pos"}
MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Label: what a day"},
]


class Label(BaseModel):
    label: Literal["pos", "neg"]


@dataclass
class Asked:
    """What a client reads of a schema."""

    name: str = "Label"
    model: type[BaseModel] | None = Label
    wire: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(WIRE)))
    strict: bool = True


WIRE = {
    "type": "object",
    "properties": {"label": {"enum": ["pos", "neg"], "type": "string"}},
    "required": ["label"],
    "additionalProperties": False,
}

Answer = Callable[[web.Request], web.StreamResponse]


class Double:
    """A provider's endpoint on loopback; `answers` are given in turn."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return self.answers.pop(0)(request)

    @property
    def requests(self) -> int:
        return len(self.bodies)


def as_json(body: object, status: int = 200, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: web.json_response(body, status=status, headers=names)


def reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def page(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>Sign in</html>", content_type="text/html")


def anthropic_message(content: list[dict[str, Any]], stop: str) -> Answer:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 5}
    return as_json(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
    )


def anthropic_error(status: int, kind: str, **headers: str) -> Answer:
    said = f"invalid x-api-key: {KEY}" if status == 401 else "no"
    return as_json({"type": "error", "error": {"type": kind, "message": said}}, status, **headers)


def tool_use(value: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "Label", "input": value}


ANTHROPIC: dict[str, Answer] = {
    "good": anthropic_message([tool_use(GOOD)], "tool_use"),
    "invalid": anthropic_message([tool_use({"label": "meh"})], "tool_use"),
    "truncated": anthropic_message([tool_use({})], "max_tokens"),
    "refusal": anthropic_message([{"type": "text", "text": "I can't help."}], "refusal"),
    "empty": anthropic_message([], "end_turn"),
    "text": anthropic_message([{"type": "text", "text": "fine"}], "end_turn"),
    "429": anthropic_error(429, "rate_limit_error", retry_after="7"),
    "401": anthropic_error(401, "authentication_error"),
    "404": anthropic_error(404, "not_found_error"),
    "400": anthropic_error(400, "invalid_request_error"),
    "413": anthropic_error(413, "request_too_large"),
    "500": anthropic_error(500, "api_error"),
    "529": anthropic_error(529, "overloaded_error"),
    "reset": reset,
    "html": page,
}


def google_reply(parts: list[dict[str, Any]], finish: str) -> Answer:
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 4, "thoughtsTokenCount": 1, "cachedContentTokenCount": 2}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return as_json({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test"})


def google_error(status: int, word: str, details: list[dict[str, Any]] | None = None) -> Answer:
    said = f"bad key {KEY}" if status == 401 else "no"
    return as_json({"error": {"code": status, "message": said, "status": word, "details": details or []}}, status)


def call(value: object) -> dict[str, Any]:
    return {"functionCall": {"name": "Label", "args": value}}


GOOGLE: dict[str, Answer] = {
    "good": google_reply([call(GOOD)], "STOP"),
    "invalid": google_reply([call({"label": "meh"})], "STOP"),
    "truncated": google_reply([], "MAX_TOKENS"),
    "refusal": google_reply([], "SAFETY"),
    "empty": google_reply([], "STOP"),
    "text": google_reply([{"text": "fine"}], "STOP"),
    "429": google_error(
        429,
        "RESOURCE_EXHAUSTED",
        [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
    ),
    "401": google_error(401, "UNAUTHENTICATED"),
    "404": google_error(404, "NOT_FOUND"),
    "400": google_error(400, "INVALID_ARGUMENT"),
    "413": google_error(413, "INVALID_ARGUMENT"),
    "500": google_error(500, "INTERNAL"),
    "529": google_error(529, "UNAVAILABLE"),
    "reset": reset,
    "html": page,
}

OPENAI: dict[str, Step] = {
    "good": Object(GOOD),
    "invalid": Object({"label": "meh"}),
    "truncated": Truncated(share=0.0),
    "refusal": Refusal("I can't help."),
    "empty": Empty(),
    "text": Text("fine"),
    "429": Status(429, "rate_limit_exceeded", retry_after=7),
    "401": Status(401, "invalid_api_key", message=f"Incorrect API key provided: {KEY}."),
    "404": Status(404, "model_not_found"),
    "400": Status(400),
    "413": Status(413),
    "500": Status(500),
    "529": Status(529),
    "reset": Reset(),
    "html": Html(),
}


@dataclass
class Stage:
    """A client and what stands behind it."""

    name: str
    open: Callable[..., Client]
    tell: Callable[[str], None]
    requests: Callable[[], int]
    bodies: Callable[[], list[dict[str, Any]]]
    headers: Callable[[], list[dict[str, str]]]


OPENAI_STAGES = ("openai", "openai streaming", "openai own transport", "openai own transport streaming")


@pytest.fixture(params=[*OPENAI_STAGES, "anthropic", "google"])
async def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    if request.param.startswith("openai"):
        import httpx2
        import openai

        async with httpx2.AsyncClient(timeout=None) as http:
            with Provider() as provider:
                provider.api_key = KEY

                def with_provider(**options: Any) -> Client:
                    if "streaming" in request.param:
                        options["params"] = {"stream": True, **options.get("params", {})}
                    if "own" not in request.param:
                        return opened(client=provider, **options)
                    mine = openai.AsyncOpenAI(base_url=provider.base_url, api_key=KEY, http_client=http)
                    return opened(client=mine, model="test-model", **options)

                yield Stage(
                    request.param,
                    with_provider,
                    lambda outcome: provider.script(OPENAI[outcome]),
                    lambda: provider.requests,
                    lambda: provider.bodies,
                    lambda: provider.headers,
                )
        return
    double = Double()
    app = web.Application()
    app.router.add_post("/{tail:.*}", double.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    url = f"http://{host}:{port}"
    model, variable, answers = {
        "anthropic": ("anthropic/claude-test", "ANTHROPIC_BASE_URL", ANTHROPIC),
        "google": ("google/gemini-test", "GOOGLE_GEMINI_BASE_URL", GOOGLE),
    }[request.param]
    monkeypatch.setenv(variable, url)
    yield Stage(
        request.param,
        lambda **options: opened(model=model, api_key=KEY, **options),
        lambda outcome: double.answers.append(answers[outcome]),
        lambda: double.requests,
        lambda: double.bodies,
        lambda: double.headers,
    )
    await runner.cleanup()


def opened(**options: Any) -> Client:
    plain: dict[str, Any] = {
        "model": None,
        "base_url": None,
        "api_key": None,
        "client": None,
        "params": {},
        "schema": Asked(),
        "output_mode": "auto",
    }
    return open_client(**{**plain, **options})


async def outcome_of(stage: Stage, outcome: str, **options: Any) -> Reply | RequestError:
    stage.tell(outcome)
    client = stage.open(**options)
    await client.start()
    try:
        return await client.send(list(MESSAGES), client.dialects[0])
    except RequestError as error:
        return error
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("outcome", "kind", "again", "fatal"),
    [
        ("429", "rate_limit", True, False),
        ("401", "auth", False, True),
        ("404", "not_found", False, True),
        ("400", "bad_request", False, False),
        ("413", "context_length", False, False),
        ("500", "server", True, False),
        ("529", "server", True, False),
        ("reset", "connection", True, False),
    ],
)
async def test_a_fault_has_one_kind_whichever_sdk_reports_it(
    stage: Stage, outcome: str, kind: str, *, again: bool, fatal: bool
):
    error = await outcome_of(stage, outcome)
    assert isinstance(error, RequestError)
    assert (error.kind, transient(error), dooms_run(error)) == (kind, again, fatal), error.detail
    assert stage.requests() == 1, "one call of send is one request"
    assert KEY not in f"{error} {error!r} {error.detail} {error.__cause__!r} {error.__context__!r}"
    if outcome == "429":
        assert error.retry_after == 7


async def test_a_page_in_place_of_an_answer_may_pass(stage: Stage):
    error = await outcome_of(stage, "html")
    assert isinstance(error, RequestError)
    assert error.kind == "server"
    assert stage.requests() == 1


async def test_a_good_reply_keeps_its_json_usage_and_model(stage: Stage):
    reply = await outcome_of(stage, "good")
    assert isinstance(reply, Reply)
    said = reply.tool_calls[0].arguments if reply.tool_calls else reply.text
    assert json.loads(said or "") == GOOD
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens
    assert reply.model
    assert reply.finish_reason in {"stop", "tool_calls"}
    if stage.name in {"anthropic", "google"}:
        # anthropic: 10 fresh + 2 read from its cache in, 5 out; google: 12 in, of them 2 cached, 4 + 1 thought out
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (12, 5, 2)


async def test_an_invalid_reply_is_left_to_the_reader_and_sent_once(stage: Stage):
    reply = await outcome_of(stage, "invalid")
    assert isinstance(reply, Reply)
    assert "meh" in (reply.tool_calls[0].arguments if reply.tool_calls else reply.text or "")
    assert stage.requests() == 1


async def test_a_cut_reply_says_length(stage: Stage):
    reply = await outcome_of(stage, "truncated")
    assert isinstance(reply, Reply)
    assert reply.finish_reason == "length"
    assert stage.requests() == 1


async def test_a_refusal_is_told_from_an_answer(stage: Stage):
    reply = await outcome_of(stage, "refusal")
    assert isinstance(reply, Reply)
    assert reply.refusal == "I can't help." or reply.finish_reason == "content_filter"
    assert stage.requests() == 1


async def test_an_empty_reply_is_none(stage: Stage):
    reply = await outcome_of(stage, "empty")
    assert isinstance(reply, Reply)
    assert reply.text is None
    assert reply.tool_calls == ()


async def test_without_a_schema_the_text_comes_back_and_nothing_asks_for_a_shape(stage: Stage):
    reply = await outcome_of(stage, "text", schema=Asked(model=None), params={"max_tokens": 17})
    assert isinstance(reply, Reply)
    assert reply.text == "fine"
    body = json.dumps(stage.bodies()[0])
    assert "Label:" in body
    assert "Be brief." in body
    assert "17" in body
    assert "tools" not in body
    assert "response_format" not in body


async def test_a_reask_shows_the_reply_and_the_problem(stage: Stage):
    stage.tell("invalid")
    stage.tell("good")
    client = stage.open()
    await client.start()
    dialect = client.dialects[0]
    first = await client.send(list(MESSAGES), dialect)
    messages = client.reask(list(MESSAGES), first, "label: must be pos or neg", dialect)
    assert messages[: len(MESSAGES)] == MESSAGES
    second = await client.send(messages, dialect)
    await client.close()
    assert json.loads((second.tool_calls[0].arguments if second.tool_calls else second.text) or "") == GOOD
    sent = json.dumps(stage.bodies()[1])
    assert "meh" in sent
    assert "must be pos or neg" in sent


async def test_a_closed_client_starts_again_and_closing_twice_does_nothing(stage: Stage):
    client = stage.open()
    for _ in range(2):
        stage.tell("good")
        await client.start()
        await client.send(list(MESSAGES), client.dialects[0])
        await client.close()
        await client.close()
    assert stage.requests() == 2


async def test_a_reply_cut_in_its_body_may_pass():
    with Provider() as provider:
        provider.script(Cut())
        client = opened(client=provider)
        await client.start()
        with pytest.raises(RequestError) as caught:
            await client.send(list(MESSAGES), client.dialects[0])
        await client.close()
    assert transient(caught.value)


@pytest.mark.parametrize("outcome", ["good", "401", "reset"])
async def test_no_logger_shows_a_key_at_debug_or_a_cell_above_it(
    stage: Stage, outcome: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    hidden = "header-SECRET-0123"
    await outcome_of(stage, outcome, params={"extra_headers": {"x-gateway-token": hidden}})
    assert stage.headers()[0]["x-gateway-token"] == hidden
    logged = "".join(f"{record.getMessage()} {record.exc_text} {record.__dict__}" for record in caplog.records)
    assert KEY not in logged
    assert hidden not in logged
    above = [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    assert not any("what a day" in message for message in above)
    assert not any(record.levelno >= logging.WARNING for record in caplog.records)
