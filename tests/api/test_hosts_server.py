"""Maps in the handlers of a real FastAPI server, on asyncio and uvloop."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fastapi
import pandas as pd
import pytest
import uvicorn

import llmframe
from llmframe.testing import Provider

pytest.importorskip("uvloop")

ROWS = 40


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(params=["asyncio", "uvloop"])
def address(request: pytest.FixtureRequest, provider: Provider) -> Iterator[str]:
    """A server whose loop is the parameter's; requests wait in its socket until it has started."""
    server = uvicorn.Server(uvicorn.Config(app_of(provider), loop=request.param, log_level="error", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def app_of(provider: Provider) -> fastapi.FastAPI:
    app = fastapi.FastAPI()
    ask: dict[str, Any] = {"client": provider, "progress": False, "cache": False}

    def frame(name: str) -> pd.DataFrame:
        return pd.DataFrame({"t": [f"{name} row-{i}" for i in range(ROWS)]})

    def answered(out: pd.DataFrame) -> dict[str, int]:
        return {"rows": len(out), "answered": int(out["error"].isna().sum())}

    @app.get("/awaited/{name}")
    async def awaited(name: str) -> dict[str, int]:
        return answered(await frame(name).llm.amap("A {t}", **ask))

    @app.get("/threaded/{name}")
    def threaded(name: str) -> dict[str, int]:
        return answered(llmframe.map(frame(name), "B {t}", **ask))

    @app.get("/alive")
    async def alive() -> str:
        return "yes"

    return app


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=300) as answer:  # noqa: S310 - loopback
        return json.load(answer)


@pytest.mark.parametrize("kind", ["awaited", "threaded"])
def test_other_requests_are_served_while_a_handler_waits_for_answers(kind, address: str, provider: Provider):
    provider.hold()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(get, f"{address}/{kind}/one")
        provider.wait_in_flight(8)
        assert get(f"{address}/alive") == "yes"
        assert not waiting.done()
        provider.release()
        assert waiting.result() == {"rows": ROWS, "answered": ROWS}


def test_handlers_of_both_kinds_work_at_the_same_time(address: str, provider: Provider):
    urls = [f"{address}/{kind}/{n}" for n in range(3) for kind in ("awaited", "threaded")]
    with ThreadPoolExecutor(len(urls)) as pool:
        assert list(pool.map(get, urls)) == [{"rows": ROWS, "answered": ROWS}] * len(urls)
    assert provider.requests == len(urls) * ROWS


def test_a_handler_works_again_and_again(address: str, provider: Provider):
    for n in range(3):
        assert get(f"{address}/awaited/{n}") == {"rows": ROWS, "answered": ROWS}
