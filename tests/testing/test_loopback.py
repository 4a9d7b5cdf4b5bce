from __future__ import annotations

import socket
import sys

import pytest

from llmframe.testing.loopback import GRACE_SECONDS, Loopback


@pytest.fixture
def loopback():
    found = Loopback()
    yield found
    found.close()


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = socket.create_connection(listener.getsockname(), 10)
        there, _ = listener.accept()
    there.setblocking(False)
    with here, there:
        yield here, there


def test_what_was_sent_before_is_there_after(loopback, pair):
    here, there = pair
    for _ in range(100):
        here.send(b"x")
        if loopback.settle() == 0:
            assert there.recv(1) == b"x"


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels deliver later, and get the millisecond")
def test_it_asks_for_no_wait_or_for_a_millisecond(loopback):
    assert loopback.settle() in {0.0, GRACE_SECONDS}
