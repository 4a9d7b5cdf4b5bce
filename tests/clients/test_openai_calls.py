"""Single calls of an endpoint: what goes along, what is followed, what is refused."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from llmframe.clients.base import RequestError
from llmframe.clients.openai import Origin
from llmframe.clients.openai_calls import BUFFER_BYTES, Calls
from llmframe.clients.params import Params
from llmframe.errors import StoreError

KEY, TOKEN = "sk-SECRET-0123456789", "token-of-a-gateway"


class Double:
    """Remembers what came; answers by path."""

    def __init__(self) -> None:
        self.seen: list[web.Request] = []
        self.content = b""
        self.elsewhere = ""
        self.over = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        await request.read()
        match request.path:
            case "/v1/moved":
                return web.Response(status=307, headers={"location": "/v1/here"})
            case "/v1/elsewhere":
                return web.Response(status=307, headers={"location": self.elsewhere})
            case "/v1/round":
                return web.Response(status=307, headers={"location": "/v1/round"})
            case "/v1/content":
                return web.Response(body=self.content)
            case "/v1/packed":
                return web.Response(body=gzip.compress(self.content), headers={"content-encoding": "gzip"})
            case "/v1/short":
                response = web.StreamResponse(headers={"content-length": "10"})
                await response.prepare(request)
                await response.write(b"half")
                assert request.transport is not None
                request.transport.close()
                return response
            case "/v1/silent":
                response = web.StreamResponse(headers={"content-length": "10"})
                await response.prepare(request)
                await response.write(b"half")
                await self.over.wait()
                return response
            case "/v1/error":
                return web.json_response({"error": {"message": f"no {KEY} or {TOKEN}"}}, status=403)
            case _:
                return web.json_response({"ok": request.method})


@asynccontextmanager
async def serving(double: Double) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", double.handle)
    async with TestServer(app) as server:
        yield f"http://127.0.0.1:{server.port}/v1"


@asynccontextmanager
async def calling(double: Double, *, silence: float = 60.0) -> AsyncIterator[Calls]:
    params = Params(headers={"x-gateway": TOKEN}, query={"tenant": "t"})
    async with serving(double) as url:
        calls = Calls(Origin(base_url=url, api_key=KEY), params, identity=url, silence=silence)
        await calls.start()
        await calls.start()
        try:
            yield calls
        finally:
            double.over.set()
            await calls.close()
            await calls.close()


async def test_key_headers_and_query_go_along_with_every_call(tmp_path: Path):
    double = Double()
    file = tmp_path / "a"
    file.write_bytes(b"{}\n")
    async with calling(double) as calls:
        assert await calls.get("/x", {"limit": 3}) == {"ok": "GET"}
        assert await calls.post("/x", {"a": 1}) == {"ok": "POST"}
        assert await calls.upload("/x", file, name="n.jsonl", fields={"purpose": "batch"}) == {"ok": "POST"}
        await calls.download("/content", tmp_path / "b")
    assert len(double.seen) == 4
    for request in double.seen:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["x-gateway"] == TOKEN
        assert request.query["tenant"] == "t"
    assert double.seen[0].query["limit"] == "3"


@pytest.mark.parametrize("size", [0, 5, BUFFER_BYTES + 1, 3 * BUFFER_BYTES])
async def test_a_download_is_there_in_full(tmp_path: Path, size: int):
    double = Double()
    double.content = os.urandom(size)
    async with calling(double) as calls:
        for path in ("/content", "/packed"):
            await calls.download(path, tmp_path / "b")
            assert (tmp_path / "b").read_bytes() == double.content


async def test_a_download_that_breaks_off_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "b").write_bytes(b"before")
    async with calling(Double()) as calls:
        with pytest.raises(RequestError) as caught:
            await calls.download("/short", tmp_path / "b")
    assert caught.value.kind == "connection"
    assert (tmp_path / "b").read_bytes() == b"before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux' disk that is always full")
async def test_a_download_that_has_no_room_is_told_however_small_it_is(tmp_path: Path):
    double = Double()
    double.content = b"little"
    (tmp_path / "b.part").symlink_to("/dev/full")
    async with calling(double) as calls:
        with pytest.raises(StoreError) as caught:
            await calls.download("/content", tmp_path / "b")
    assert caught.value.reason == "full"
    assert not (tmp_path / "b").exists()


async def test_a_silence_ends_a_call(tmp_path: Path):
    async with calling(Double(), silence=0.05) as calls:
        with pytest.raises(RequestError) as caught:
            await calls.download("/silent", tmp_path / "b")
    assert caught.value.kind == "timeout"


async def test_redirects_are_followed_on_the_same_server_alone(tmp_path: Path):
    double, other = Double(), Double()
    file = tmp_path / "a"
    file.write_bytes(b"{}\n")
    async with calling(double) as calls, serving(other) as url:
        double.elsewhere = f"{url}/content"
        assert await calls.post("/moved", {"a": 1}) == {"ok": "POST"}
        for call in (
            calls.get("/elsewhere"),
            calls.download("/elsewhere", tmp_path / "b"),
            calls.upload("/elsewhere", file, name="n", fields={}),
        ):
            with pytest.raises(RequestError, match="base_url") as caught:
                await call
            assert caught.value.kind == "not_found"
        with pytest.raises(RequestError, match="without end"):
            await calls.get("/round")
    assert other.seen == []
    assert not (tmp_path / "b").exists()


async def test_no_secret_stands_in_an_error():
    async with calling(Double()) as calls:
        with pytest.raises(RequestError) as caught:
            await calls.get("/error")
    assert caught.value.kind == "auth"
    assert KEY not in str(caught.value)
    assert TOKEN not in str(caught.value)


async def test_files_that_cant_be_used_are_no_fault_of_the_server(tmp_path: Path):
    async with calling(Double()) as calls:
        with pytest.raises(StoreError, match="'none'"):
            await calls.upload("/x", tmp_path / "none", name="n", fields={})
        with pytest.raises(StoreError, match=r"'b\.part'"):
            await calls.download("/content", tmp_path / "nowhere" / "b")
