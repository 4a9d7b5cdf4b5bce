from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from llmframe.testing.server import LoopServer, LoopThread


def test_it_serves_on_loopback_until_it_is_stopped():
    server = LoopThread(asyncio.Protocol)
    socket.create_connection(("127.0.0.1", server.port), timeout=10).close()
    server.stop(lambda: None)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=10)


def test_work_is_done_in_the_serving_daemon_thread():
    server, seen = LoopThread(asyncio.Protocol), list[threading.Thread]()
    server.call(lambda: seen.append(threading.current_thread()))
    server.call(lambda: server.call(lambda: seen.append(threading.current_thread())))
    server.stop(lambda: None)
    assert seen[0] is seen[1] is not threading.current_thread()
    assert seen[0].daemon
    assert not seen[0].is_alive()


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
        socket.create_connection(("127.0.0.1", port), timeout=10)
