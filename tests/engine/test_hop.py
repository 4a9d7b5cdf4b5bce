"""A client of the caller's loop, used from another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from llmframe.clients.base import Dialect, RequestError
from llmframe.core.reply import Reply
from llmframe.engine.bridge import private_loop
from llmframe.engine.hop import OnLoop
from tests.engine.doubles import Client, say

DIALECT = Dialect("json_schema")


class Homebound(Client):
    """Notes the loop of every call."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(latency=0.0, **traits)
        self.loops: list[asyncio.AbstractEventLoop] = []
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def start(self) -> None:
        self.loops.append(asyncio.get_running_loop())

    async def close(self) -> None:
        self.loops.append(asyncio.get_running_loop())

    async def send(self, messages: list[dict[str, object]], dialect: Dialect) -> Reply:
        self.loops.append(asyncio.get_running_loop())
        self.begun.set()
        try:
            return await super().send(messages, dialect)
        finally:
            self.ended.set()


async def elsewhere(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await `work` on the private loop from this one."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), private_loop()))


def messages() -> list[dict[str, object]]:
    return [{"role": "user", "content": "a"}]


async def test_whatever_touches_a_connection_runs_on_the_clients_own_loop():
    here, client = asyncio.get_running_loop(), Homebound()
    away = OnLoop(client, here)

    async def use() -> Reply:
        await away.start()
        reply = await away.send(messages(), DIALECT)
        await away.close()
        return reply

    assert await elsewhere(use) == say("pos")
    assert client.loops == [here] * 3


async def test_it_is_known_by_the_same_names():
    client = Homebound(model="m-7", provider="openai")
    away = OnLoop(client, asyncio.get_running_loop())
    for name in ("identity", "account", "model", "provider", "dialects", "streams"):
        assert getattr(away, name) == getattr(client, name)
    assert away.reask(messages(), say("no"), "why", DIALECT) == client.reask(messages(), say("no"), "why", DIALECT)


async def test_a_failure_comes_back_as_it_is():
    error = RequestError("server", "503", status=503, retry_after=4.0)
    away = OnLoop(Homebound(behave=lambda sent, before: error), asyncio.get_running_loop())
    with pytest.raises(RequestError) as caught:
        await elsewhere(lambda: away.send(messages(), DIALECT))
    assert caught.value is error


async def test_cancelling_reaches_the_request():
    client = Homebound()
    client.latency = 3600.0
    away = OnLoop(client, asyncio.get_running_loop())
    sending = asyncio.run_coroutine_threadsafe(away.send(messages(), DIALECT), private_loop())
    await client.begun.wait()
    sending.cancel()
    await client.ended.wait()
    assert client.cancelled == 1
