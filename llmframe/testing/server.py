"""A server on a loopback port, in a daemon thread or in the running loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, Self

STOP_SECONDS = 30.0
"""Longest wait for the loop that serves."""
ROUNDS = 5
"""Rounds of the loop in which a connection is made, or closed: accept, transport, protocol, first read."""
BACKLOG = 1024
"""Connections that may wait to be accepted."""


class Server(Protocol):
    """Something that serves on a port."""

    port: int

    def call(self, work: Callable[[], None]) -> None:
        """Do `work` in the loop that serves and wait for its end."""
        ...

    def stop(self, before: Callable[[], None]) -> None:
        """Do `before` in the loop that serves, then end."""
        ...


class LoopThread:
    """Serves `protocol` on a free loopback port from construction until `stop`."""

    def __init__(self, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._protocol = protocol
        # The plain loop by name: a policy such as uvloop's stays out of a test's provider.
        self._loop = asyncio.SelectorEventLoop()
        self._port: Future[int] = Future()
        self._last: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name="llmframe-provider", daemon=True)
        self._thread.start()
        self.port = self._port.result()

    def call(self, work: Callable[[], None]) -> None:
        """Do `work` in the loop and wait for its end."""
        _call(self._loop, self._thread.ident, work)

    def stop(self, before: Callable[[], None]) -> None:
        """Do `before` in the loop, stop it and wait for the thread; done once more for whoever connects meanwhile."""
        self._last = before
        self.call(before)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            serving = loop.create_server(self._protocol, "127.0.0.1", 0, backlog=BACKLOG)
            server = loop.run_until_complete(serving)
        except OSError as exc:
            self._port.set_exception(exc)
            return
        self._port.set_result(server.sockets[0].getsockname()[1])
        try:
            loop.run_forever()
        finally:
            _turn_away(server)
            loop.run_until_complete(_rounds())  # who has just connected is known now
            server.close()
            self._last()
            loop.run_until_complete(_rounds())  # connections that were dropped report their end
            loop.close()


def _turn_away(server: asyncio.Server) -> None:
    """Accept no more connections, and let those that were accepted become known before the server is closed.

    A closed one makes no transport for a connection that it has just accepted, and forgets its socket
    (https://github.com/python/cpython/issues/109564).
    """
    for listening in server.sockets:
        server.get_loop().remove_reader(listening.fileno())


async def _rounds() -> None:
    """Let the loop go round until a connection that was accepted is made, or one that was dropped is closed."""
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


class LoopServer:
    """Serves `protocol` on a free loopback port of the loop it was opened in, until `stop`."""

    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self._loop = server.get_loop()
        self._thread = threading.get_ident()
        self.port: int = server.sockets[0].getsockname()[1]

    @classmethod
    async def open(cls, protocol: Callable[[], asyncio.Protocol]) -> Self:
        """Serve in the running loop."""
        serving = asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=BACKLOG)
        return cls(await serving)

    def call(self, work: Callable[[], None]) -> None:
        """Do `work` in the loop: at once when called there, else it is waited for."""
        _call(self._loop, self._thread, work)

    def turn_away(self) -> None:
        """Accept nobody any more; to be called in the loop, some rounds before the end."""
        _turn_away(self._server)

    def stop(self, before: Callable[[], None]) -> None:
        """Do `before` in the loop and close the port."""
        self.call(before)
        self.call(self._server.close)


def _call(loop: asyncio.AbstractEventLoop, thread: int | None, work: Callable[[], None]) -> None:
    if threading.get_ident() == thread:
        work()
        return
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
        finally:
            done.set_result(None)

    loop.call_soon_threadsafe(run)
    done.result(STOP_SECONDS)
