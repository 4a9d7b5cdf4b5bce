"""OpenAI's Batch API: lines, calls and results, over simulated and odd servers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.batch import BatchState, LineResult
from llmframe.clients.embeddings import FLOATS, open_embeddings
from llmframe.clients.openai_batch import CLOCK_SKEW_S, INTENT, NO_BATCH_API, OpenAIBatches
from llmframe.clients.opening_batch import open_batches
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import Html, Provider, Reset, Results, Status

KEY = "sk-SECRET-0123456789"


class Topic(BaseModel):
    topic: Literal["bug", "praise"]


def chat_client(where: object, **options: Any) -> Client:
    said: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "params": {}, "schema": schema_of(Topic)}
    if isinstance(where, str):
        said |= {"base_url": where, "api_key": KEY, "model": "m", "client": None}
    else:
        said |= {"client": where}
    return open_client(**{"output_mode": "auto", **said, **options})


@asynccontextmanager
async def batches_of(where: object, **options: Any) -> AsyncIterator[OpenAIBatches]:
    made = open_batches(chat_client(where, **options))
    assert isinstance(made, OpenAIBatches)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def asked(text: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": text}]


def written(batches: OpenAIBatches, folder: Path, texts: list[str]) -> Path:
    file = folder / "lines.jsonl"
    lines = [batches.line(f"line-{i}", asked(text), batches.dialects[0]) for i, text in enumerate(texts)]
    file.write_bytes(b"".join(lines))
    return file


async def made(batches: OpenAIBatches, folder: Path, texts: list[str], *, intent: str = "intent-1") -> BatchState:
    """A batch of these texts, asked after until it has ended."""
    state = await batches.create(await batches.upload(written(batches, folder, texts), intent=intent), intent=intent)
    while state.phase == "running":
        state = await batches.state(state.id)
    return state


async def collected(batches: OpenAIBatches, state: BatchState, folder: Path) -> list[LineResult]:
    return [result async for some in batches.results(state, folder) for result in some]


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server(**handlers: Handler) -> AsyncIterator[str]:
    """A server of the test's own: `files`, `batch`, `create` and so on by name; the rest is its framework's 404."""
    paths = {
        "upload": ("POST", "/v1/files"),
        "file": ("GET", "/v1/files/{id}"),
        "content": ("GET", "/v1/files/{id}/content"),
        "create": ("POST", "/v1/batches"),
        "list": ("GET", "/v1/batches"),
        "state": ("GET", "/v1/batches/{id}"),
        "cancel": ("POST", "/v1/batches/{id}/cancel"),
    }
    app = web.Application()
    for name, handler in handlers.items():
        app.router.add_route(*paths[name], handler)
    async with TestServer(app) as running:
        yield f"http://127.0.0.1:{running.port}/v1"


def as_json(body: object, status: int = 200) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


async def test_a_line_holds_what_the_live_client_sends(tmp_path: Path):
    params = {"temperature": 0, "max_tokens": 9}
    with Provider() as provider:
        client = chat_client(provider, params=params)
        await client.start()
        for dialect in client.dialects:
            await client.send(asked("Bug or praise? é"), dialect)
        await client.close()
        batches = open_batches(client)
        lines = [json.loads(batches.line("a-1", asked("Bug or praise? é"), dialect)) for dialect in client.dialects]
    assert [line.pop("body") for line in lines] == provider.bodies
    assert lines == [{"custom_id": "a-1", "method": "POST", "url": "/v1/chat/completions"}] * 3


def test_a_batch_has_the_live_clients_identity():
    client = chat_client("http://127.0.0.1:9/v1")
    batches = open_batches(client)
    for fact in ("identity", "account", "model", "provider", "dialects"):
        assert getattr(batches, fact) == getattr(client, fact)
    assert (batches.name, batches.uploads) == ("openai", True)
    assert (batches.limits.lines, batches.limits.bytes, batches.limits.inputs) == (50_000, 200_000_000, None)


def test_a_line_is_one_line_whatever_a_reader_takes_for_a_line_end():
    batches = open_batches(chat_client("http://127.0.0.1:9/v1"))
    text = "a\nb\r\x85c\u2028d\u2029e\\\u2028"
    line = batches.line("a", asked(text), batches.dialects[0])
    assert line.endswith(b"}\n")
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["body"]["messages"][0]["content"] == text


def test_a_line_of_texts_asks_for_vectors_in_base64():
    client = open_embeddings(
        model="e", base_url="http://127.0.0.1:9/v1", api_key=KEY, client=None, params={"user": "u"}, dimensions=8
    )
    batches = open_batches(client)
    line = json.loads(batches.embedding_line("a", ["one", "zwei ü"]))
    assert line["url"] == "/v1/embeddings"
    assert line["body"] == {
        "model": "e",
        "user": "u",
        "dimensions": 8,
        "encoding_format": "base64",
        "input": ["one", "zwei ü"],
    }
    assert batches.limits.inputs == 50_000
    assert json.loads(batches.embedding_line("a", ["one"], FLOATS))["body"]["encoding_format"] == "float"
    with pytest.raises(UsageError, match="chats"):
        open_batches(chat_client("http://127.0.0.1:9/v1")).embedding_line("a", ["one"])


@pytest.mark.parametrize("by", ["name", "client", "address"])
def test_azure_names_paths_without_a_version(by: str, monkeypatch: pytest.MonkeyPatch):
    options: dict[str, Any] = {"client": None, "api_key": KEY}
    if by == "name":
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://a.openai.azure.com")
        options["model"] = "azure_openai/gpt"
    elif by == "client":
        given = openai.AsyncAzureOpenAI(api_key=KEY, api_version="2024-10-21", azure_endpoint="https://a.example")
        options |= {"client": given, "model": "gpt", "api_key": None}
    else:
        options |= {"base_url": "https://a.openai.azure.com/openai/v1", "model": "gpt"}
    batches = open_batches(chat_client("", **{"base_url": None, **options}))
    line = json.loads(batches.line("a", asked("x"), batches.dialects[0]))
    assert (line["url"], line["body"]["model"]) == ("/chat/completions", "gpt")


async def test_azures_files_and_batches_stand_beside_its_deployments(tmp_path: Path):
    seen: list[tuple[str, str | None, str | None]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((request.path, request.query.get("api-version"), request.headers.get("api-key")))
        body: dict[str, object] = await request.json() if request.path.endswith("batches") else {}
        return web.json_response({"id": "x", "status": "validating", "endpoint": body.get("endpoint")})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    async with TestServer(app) as running:
        given = openai.AsyncAzureOpenAI(
            api_key=KEY,
            api_version="2024-10-21",
            azure_endpoint=f"http://127.0.0.1:{running.port}",
            azure_deployment="gpt",
        )
        async with batches_of(given, model="gpt") as batches:
            await batches.upload(written(batches, tmp_path, ["a"]), intent="i")
            await batches.create("x", intent="i")
    assert seen == [("/openai/files", "2024-10-21", KEY), ("/openai/batches", "2024-10-21", KEY)]


async def test_a_batch_that_was_refused_as_a_whole_is_not_the_one_that_was_made_after_it(tmp_path: Path):
    """A full queue has a batch made again under its name; whoever took the refused one for it would make a third."""
    with Provider() as provider:
        provider.batches.refuses("token_limit_exceeded")
        async with batches_of(provider, model="gpt") as batches:
            file_id = await batches.upload(written(batches, tmp_path, ["a"]), intent="intent-1")
            refused = await batches.create(file_id, intent="intent-1")
            assert (await batches.state(refused.id)).phase == "failed"
            assert await batches.find("intent-1", since=refused.created or 0, known=[]) is None
            made = await batches.create(file_id, intent="intent-1")
            found = await batches.find("intent-1", since=refused.created or 0, known=[])
    assert found is not None
    assert found.id == made.id


async def test_a_batch_lives_through_its_whole_life(tmp_path: Path):
    with Provider() as provider:
        provider.batches.polls = 3
        async with batches_of(provider, model="gpt") as batches:
            file = written(batches, tmp_path, [f"row-{i} ü\u2028" for i in range(700)])
            file_id = await batches.upload(file, intent="intent-1")
            first = await batches.create(file_id, intent="intent-1")
            found = await batches.find("intent-1", since=first.created or 0, known=[])
            nobody = await batches.find("intent-2", since=first.created or 0, known=[])
            words, state = [first.status], first
            while state.phase == "running":
                state = await batches.state(first.id)
                words.append(state.status)
            results = await collected(batches, state, tmp_path)
    assert (first.phase, first.id, nobody) == ("running", found.id if found else None, None)
    assert words == ["validating", "in_progress", "finalizing", "completed"]
    assert (state.phase, state.total, state.done, state.failed) == ("ended", 700, 700, 0)
    assert sorted(result.custom_id for result in results) == sorted(f"line-{i}" for i in range(700))
    assert all(isinstance(result.answer, Reply) and "topic" in (result.answer.text or "") for result in results)
    assert (tmp_path / "output.jsonl").is_file()
    assert not (tmp_path / "output.jsonl.part").exists()
    assert not (tmp_path / "errors.jsonl").exists()
    assert provider.batches.calls["upload"] == provider.batches.calls["create"] == provider.batches.calls["output"] == 1


async def test_the_file_is_called_after_the_intent_and_the_batch_holds_it(tmp_path: Path):
    names: list[str | None] = []
    bodies: list[Any] = []

    async def upload(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        names.append(getattr(form["file"], "filename", None))
        names.append(str(form["purpose"]))
        return web.json_response({"id": "file-1"})

    async def create(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response({"id": "batch-1", "status": "validating"})

    async with server(upload=upload, create=create) as url, batches_of(url) as batches:
        file_id = await batches.upload(written(batches, tmp_path, ["a"]), intent="intent-9")
        await batches.create(file_id, intent="intent-9")
    assert names == ["intent-9.jsonl", "batch"]
    assert bodies == [
        {
            "input_file_id": "file-1",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"llmframe_intent": "intent-9"},
        }
    ]


async def test_lines_come_as_the_provider_writes_them(tmp_path: Path):
    with Provider() as provider:
        provider.batches.returns(Results(reverse=True, double=True, unknown=2, blank_line=True, missing=1))
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a", "b", "c"])
            results = await collected(batches, state, tmp_path)
    names = [result.custom_id for result in results]
    assert names.count("line-1") == names.count("line-2") == 2
    assert "line-0" not in names
    assert any(name.startswith("unknown") for name in names)
    assert names.index("line-2") < names.index("line-1")


async def test_only_an_error_file_and_none_at_all_are_results(tmp_path: Path):
    with Provider() as provider:
        provider.always(Status(400, error_code="content_filter", message="no"))
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a", "b"])
            refused = await collected(batches, state, tmp_path)
            provider.batches.returns(Results(missing=2), times=1)
            empty = await made(batches, tmp_path, ["a", "b"], intent="intent-2")
            nothing = await collected(batches, empty, tmp_path)
    assert (state.output, state.phase) == (None, "ended")
    assert [(each.answer.kind, each.answer.status) for each in refused if isinstance(each.answer, RequestError)] == [
        ("content_filter", 400)
    ] * 2
    assert (empty.output, empty.errors, nothing) == (None, None, [])


@pytest.mark.parametrize(("end", "kind"), [("expired", "batch_expired"), ("cancelled", "cancelled")])
async def test_what_was_done_before_the_end_stays(tmp_path: Path, end: Any, kind: str):
    with Provider() as provider:
        provider.batches.ends(end, done=0.5)
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a", "b", "c", "d"])
            results = await collected(batches, state, tmp_path)
    assert (state.status, state.phase) == (end, "ended")
    kinds = {each.custom_id: getattr(each.answer, "kind", "reply") for each in results}
    assert kinds == {"line-0": "reply", "line-1": "reply", "line-2": kind, "line-3": kind}


async def test_a_refused_batch_says_why(tmp_path: Path):
    with Provider() as provider:
        provider.batches.refuses("token_limit_exceeded", "Enqueued token limit reached.")
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a"])
    assert state.phase == "failed"
    assert [(problem.code, problem.message) for problem in state.problems] == [
        ("token_limit_exceeded", "Enqueued token limit reached.")
    ]


@pytest.mark.parametrize(
    ("told", "phase"),
    [
        ({"status": "queued_by_somebody"}, "running"),
        ({"status": "cancelling"}, "running"),
        ({}, "running"),
        ({"status": "failed", "error_file_id": "", "errors": {"data": [{"code": "x", "message": "y"}]}}, "failed"),
        ({"status": "failed", "error_file_id": "f", "errors": None}, "ended"),
        ({"status": "failed", "error_file_id": "f", "errors": {"data": [{"code": "token_limit_exceeded"}]}}, "failed"),
        ({"status": "completed", "request_counts": None, "errors": [None, 3], "created_at": "yesterday"}, "ended"),
    ],
)
async def test_a_state_is_read_from_whatever_a_server_tells(told: dict[str, Any], phase: str):
    async with server(state=as_json({"id": "b", **told})) as url, batches_of(url) as batches:
        state = await batches.state("b")
    assert (state.phase, state.status, state.total) == (phase, told.get("status", ""), None)


async def test_a_batch_is_found_on_later_pages_and_the_search_ends_at_older_ones(tmp_path: Path):
    with Provider() as provider:
        times = iter(float(second) for second in range(0, 1_000_000, 100))
        provider.batches.clock = lambda: next(times)
        async with batches_of(provider) as batches:
            file_id = await batches.upload(written(batches, tmp_path, ["a"]), intent="i")
            made_ = [await batches.create(file_id, intent=f"intent-{number}") for number in range(250)]
            found = await batches.find("intent-20", since=made_[20].created or 0, known=[])
            listed = provider.batches.calls["list"]
            last = made_[-1].created or 0
            nobody = await batches.find("nobody", since=last, known=[])
    assert found is not None
    assert found.id == made_[20].id
    assert listed == 3
    # Made every 100 s or more: the hour of slack reaches 36 of them, less than a page.
    assert CLOCK_SKEW_S == 3600
    assert nobody is None
    assert provider.batches.calls["list"] == listed + 1


async def test_a_list_that_begins_with_the_oldest_or_repeats_itself_is_searched_to_its_end():
    pages: list[str | None] = []
    old = [{"id": f"old-{i}", "status": "completed", "created_at": i, "metadata": {INTENT: f"x-{i}"}} for i in range(3)]
    wanted = {"id": "new", "status": "completed", "created_at": 10_000_000, "metadata": {INTENT: "wanted"}}

    async def by_age(request: web.Request) -> web.StreamResponse:
        pages.append(request.query.get("after"))
        return web.json_response({"data": old if len(pages) == 1 else [wanted], "has_more": len(pages) == 1})

    async with server(list=by_age) as url, batches_of(url) as batches:
        found = await batches.find("wanted", since=10_000_000, known=[])
    assert (found.id if found else None, pages) == ("new", [None, "old-2"])
    async with server(list=as_json({"data": old})) as url, batches_of(url) as batches:
        assert await batches.find("wanted", since=0, known=[]) is None


async def test_where_metadata_get_lost_the_files_name_tells():
    listed = [
        {"id": "other", "status": "completed", "created_at": 5000, "input_file_id": "file-1", "metadata": None},
        {"id": "gone", "status": "completed", "created_at": 5000, "input_file_id": "file-0"},
        {"id": "mine", "status": "in_progress", "created_at": 5000, "input_file_id": "file-2", "metadata": {}},
    ]

    async def file(request: web.Request) -> web.StreamResponse:
        names = {"file-1": "intent-1.jsonl", "file-2": "intent-1.jsonl"}
        name = names.get(request.match_info["id"])
        return web.json_response(
            {"filename": name} if name else {"error": {"message": "no"}}, status=200 if name else 404
        )

    async with server(list=as_json({"data": listed, "has_more": False}), file=file) as url, batches_of(url) as batches:
        found = await batches.find("intent-1", since=5000, known=["other"])
        nobody = await batches.find("intent-2", since=5000, known=[])
    assert (found.id if found else None, nobody) == ("mine", None)


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("call", ["upload", "create"])
async def test_an_endpoint_without_a_batch_api_is_named(tmp_path: Path, status: int, call: str):
    answers = {call: as_json({"detail": "Not Found"}, status)}
    async with server(**answers) as url, batches_of(url) as batches:
        file = written(batches, tmp_path, ["a"])
        with pytest.raises(RequestError, match=r'has no Batch API.*mode="live"') as caught:
            await one_of(call, batches, BatchState(id="b", status="", phase="running"), file)
    assert (caught.value.kind, caught.value.code) == ("not_found", NO_BATCH_API)


async def test_a_file_that_isnt_visible_yet_is_no_missing_api(tmp_path: Path):
    with Provider() as provider:
        provider.batches.late_files = 1
        async with batches_of(provider) as batches:
            file_id = await batches.upload(written(batches, tmp_path, ["a"]), intent="i")
            with pytest.raises(RequestError) as caught:
                await batches.create(file_id, intent="i")
            assert (caught.value.kind, caught.value.code) == ("not_found", None)
            assert (await batches.create(file_id, intent="i")).phase == "running"


CALLS = ("upload", "create", "state", "list", "output", "cancel")


async def one_of(call: str, batches: OpenAIBatches, state: BatchState, file: Path) -> None:
    match call:
        case "upload":
            await batches.upload(file, intent="i")
        case "create":
            await batches.create("file-1", intent="i")
        case "state":
            await batches.state(state.id)
        case "list":
            await batches.find("i", since=0, known=[])
        case "output":
            await collected(batches, state, file.parent)
        case _:
            await batches.cancel(state.id)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Status(500), "server"),
        (Status(429, retry_after=7), "rate_limit"),
        (Status(401, message=f"Incorrect API key provided: {KEY}"), "auth"),
        (Html(503), "server"),
        (Reset(), "connection"),
    ],
)
async def test_a_fault_of_any_call_is_an_error_of_live_requests_after_one_attempt(tmp_path: Path, step: Any, kind: str):
    with Provider() as provider:
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a"])
            for call in CALLS:
                before = provider.batches.calls[call]
                provider.batches.fault(call, step)
                with pytest.raises(RequestError) as caught:
                    await one_of(call, batches, state, tmp_path / "lines.jsonl")
                assert caught.value.kind == kind, call
                assert provider.batches.calls[call] == before + 1, call
                assert KEY not in str(caught.value), call
                assert caught.value.__cause__ is caught.value.__context__ is None, call
                if kind == "rate_limit":
                    assert caught.value.retry_after == 7


async def test_what_is_there_no_more_is_not_found(tmp_path: Path):
    with Provider() as provider:
        async with batches_of(provider) as batches:
            state = await made(batches, tmp_path, ["a"])
            provider.batches.lose_files()
            with pytest.raises(RequestError) as gone:
                await collected(batches, state, tmp_path)
            with pytest.raises(RequestError) as unknown:
                await batches.state("batch_none")
    assert (gone.value.kind, unknown.value.kind) == ("not_found", "not_found")
    assert not (tmp_path / "output.jsonl").exists()


async def test_a_running_batch_is_cancelled_and_an_ended_one_told_as_it_stands(tmp_path: Path):
    with Provider() as provider:
        provider.batches.hold(done=0.5)
        async with batches_of(provider) as batches:
            file_id = await batches.upload(written(batches, tmp_path, ["a", "b"]), intent="i")
            running = await batches.create(file_id, intent="i")
            asked_to = await batches.cancel(running.id)
            while asked_to.phase == "running":
                asked_to = await batches.state(running.id)
            again = await batches.cancel(running.id)
    assert asked_to.status == again.status == "cancelled"


async def test_a_refused_cancel_of_a_running_batch_is_an_error():
    state = as_json({"id": "b", "status": "finalizing"})
    async with server(cancel=as_json({}, 409), state=state) as url, batches_of(url) as batches:
        with pytest.raises(RequestError):
            await batches.cancel("b")


async def test_answers_that_arent_what_they_should_be_are_the_servers_fault(tmp_path: Path):
    page = web.Response(text="<html>hello</html>", content_type="text/html")

    async def html(_: web.Request) -> web.StreamResponse:
        return page

    async with server(state=html, create=as_json({"status": "validating"})) as url, batches_of(url) as batches:
        for call in (batches.state("b"), batches.create("file-1", intent="i")):
            with pytest.raises(RequestError) as caught:
                await call
            assert caught.value.kind == "server"
            assert "<" not in caught.value.detail


async def test_calls_before_the_start_are_our_own_fault():
    batches = open_batches(chat_client("http://127.0.0.1:9/v1"))
    with pytest.raises(RequestError) as caught:
        await batches.state("b")
    assert caught.value.kind == "internal"
    await batches.close()


async def test_a_user_client_stays_open_and_gives_its_connections(tmp_path: Path):
    with Provider() as provider:
        inner = openai.DefaultAsyncHttpxClient()
        given = openai.AsyncOpenAI(base_url=provider.base_url, api_key=KEY, http_client=inner)
        async with batches_of(given, model="m") as batches:
            assert batches.foreign_loop
            state = await made(batches, tmp_path, ["a"])
            assert len(await collected(batches, state, tmp_path)) == 1
        assert not inner.is_closed
        await given.close()


HUGE = """
import asyncio, json, pathlib, resource, sys, tempfile
from llmframe.clients import open_client
from llmframe.clients.opening_batch import open_batches
from llmframe.core.schema import schema_of

async def main(url):
    client = open_client(model="m", base_url=url, api_key="k", client=None, params={}, schema=schema_of(None),
                         output_mode="auto")
    batches = open_batches(client)
    await batches.start()
    text = chr(252) + "x" * 3_000_000
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "lines")
        batches.line("warm", [], batches.dialects[0])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with file.open("wb") as out:
            line = batches.line("row", [{"role": "user", "content": text}], batches.dialects[0])
            for row in range(100):
                out.write(line)
        size = file.stat().st_size
        state = await batches.create(await batches.upload(file, intent="i"), intent="i")
        seen = []
        async for some in batches.results(state, pathlib.Path(folder)):
            seen += [(each.custom_id, len(each.answer.text)) for each in some]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await batches.close()
    print(json.dumps({"bytes": size, "grown_kb": peak - before, "lines": len(set(seen)), "chars": seen[0][1]}))

asyncio.run(main(sys.argv[1]))
"""


async def test_a_hundred_lines_of_3_mb_stream_up_and_forty_down_in_little_memory_and_any_locale():
    """Of 300 MB up and 120 MB down a process holds less than 60 MB."""
    received = 0
    answer = {"choices": [{"message": {"content": "é" + "x" * 2_999_999}}]}
    line = {"custom_id": "row-0", "response": {"status_code": 200, "body": answer}, "error": None}
    head, name, tail = json.dumps(line, ensure_ascii=False).encode().partition(b"row-0")

    async def upload(request: web.Request) -> web.StreamResponse:
        nonlocal received
        async for piece in request.content.iter_any():
            received += len(piece)
        return web.json_response({"id": "file-1"})

    async def content(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for row in range(40):
            for piece in (head, name + str(row).encode(), tail, b"\n"):
                await response.write(piece)
        return response

    create = as_json({"id": "b", "status": "completed", "output_file_id": "file-2"})
    async with server(upload=upload, create=create, content=content) as url:
        told = await asyncio.to_thread(_in_process, HUGE, url)
    assert told["bytes"] > 300_000_000
    assert received > told["bytes"]
    assert (told["lines"], told["chars"]) == (40, 3_000_000)
    assert told["grown_kb"] < 60_000


def _in_process(code: str, *arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        check=False,
        env=environment,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    return json.loads(ran.stdout)
