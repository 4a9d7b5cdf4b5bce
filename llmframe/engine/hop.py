"""A client whose connections belong to the caller's loop, used from the private one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from llmframe.clients.base import Client, Dialect
from llmframe.core.reply import Reply
from llmframe.core.template import Message

T = TypeVar("T")


class OnLoop:
    """`client` with everything that touches a connection run on `loop`; a hop takes some 85 µs."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop
        self.identity, self.account, self.model = client.identity, client.account, client.model
        self.provider, self.dialects = client.provider, client.dialects
        self.streams = client.streams

    async def start(self) -> None:
        """As the client's, on its loop."""
        await self._there(self._client.start())

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        """As the client's, on its loop; cancelling is passed on."""
        return await self._there(self._client.send(messages, dialect))

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """As the client's."""
        return self._client.reask(messages, reply, problem, dialect)

    async def close(self) -> None:
        """As the client's, on its loop."""
        await self._there(self._client.close())

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
