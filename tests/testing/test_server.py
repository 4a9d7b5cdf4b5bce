from __future__ import annotations

import asyncio
import gc
import select
import socket
import threading
import warnings
from collections.abc import Callable

import pytest

from llmframe.testing.server import ROUNDS, LoopServer, LoopThread


def test_it_serves_on_loopback_until_it_is_stopped():
    server = LoopThread(asyncio.Protocol)
    socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
    server.stop(lambda: None)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=60)


def test_work_is_done_in_the_serving_daemon_thread():
    server, seen = LoopThread(asyncio.Protocol), list[threading.Thread]()
    server.call(lambda: seen.append(threading.current_thread()))
    server.call(lambda: server.call(lambda: seen.append(threading.current_thread())))
    server.stop(lambda: None)
    assert seen[0] is seen[1] is not threading.current_thread()
    assert seen[0].daemon
    assert not seen[0].is_alive()


def test_who_connects_in_the_very_round_in_which_it_ends_is_dropped_too(monkeypatch: pytest.MonkeyPatch):
    """asyncio makes no transport for a connection whose server was closed meanwhile, and forgets its socket."""
    made, told_to_stop = list[asyncio.BaseTransport](), threading.Event()
    client = socket.socket()

    class Noted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    def watch() -> None:
        loop = asyncio.get_running_loop()
        plain = loop.call_soon_threadsafe

        def watched(call: Callable[[], None]) -> None:
            if call == loop.stop:
                told_to_stop.set()
            else:
                plain(call)

        monkeypatch.setattr(loop, "call_soon_threadsafe", watched)

    def connect() -> None:
        """In the next round the loop sees the connection and accepts it, and stops."""
        assert told_to_stop.wait(30)
        client.connect(("127.0.0.1", server.port))
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().stop)

    def drop() -> None:
        if not told_to_stop.is_set():
            asyncio.get_running_loop().call_soon(connect)
        for transport in made:
            transport.abort()  # type: ignore[attr-defined]

    gc.collect()  # so that what other tests left isn't found below
    server = LoopThread(Noted)
    server.call(watch)
    with client, warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always")
        server.stop(drop)
        gc.collect()
    assert [str(leak.message) for leak in leaks] == []
    assert [transport.is_closing() for transport in made] == [True]


def test_it_serves_in_the_running_loop_and_is_called_from_any_thread():
    seen = list[threading.Thread]()

    def note() -> None:
        seen.append(threading.current_thread())

    async def main() -> int:
        server = await LoopServer.open(asyncio.Protocol)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        server.call(note)
        await asyncio.to_thread(server.call, note)
        await asyncio.to_thread(server.stop, note)
        writer.close()
        return server.port

    port = asyncio.run(main())
    assert seen == [threading.current_thread()] * 3
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


def test_in_the_running_loop_nobody_is_accepted_once_it_turns_away():
    made = list[asyncio.BaseTransport]()

    class Noted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    async def main() -> int:
        server = await LoopServer.open(Noted)
        early = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        select.select([server._server.sockets[0]], [], [], 60)  # it has reached the port
        await asyncio.sleep(0)  # the loop sees it,
        await asyncio.sleep(0)  # and has accepted it
        server.turn_away()
        late = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        known = len(made)
        server.stop(lambda: [transport.abort() for transport in made] and None)  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        early.close()
        late.close()
        return known

    assert asyncio.run(main()) == 1
