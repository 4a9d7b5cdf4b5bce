from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from llmframe.testing.server import LoopThread


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
