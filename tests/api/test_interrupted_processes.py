"""Ctrl-C to a process at seeded moments of a run: what it is left with, and what the same call asks again."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmframe.testing import Provider

CHILD = Path(__file__).with_name("interrupted_child.py")

VERBS = ("pandas", "polars", "lazy", "expression", "stream", "amap", "astream")
WITH_A_FRAME = frozenset({"pandas", "polars"})
"""Whose `KeyboardInterrupt` has a `.frame`."""

ROWS = 60
PLACES = 4
"""Requests in flight at most."""

SECONDS = 60.0
"""Longest that something is waited for which should come soon."""


class Child:
    """A process that runs verbs as it is told, is interrupted, and tells what it is left with."""

    def __init__(self, url: str) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-W", "ignore", str(CHILD), str(ROWS), str(PLACES)]
        environment = {**os.environ, "URL": url}
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, verb: str, name: str) -> None:
        """Begin a run of `verb` over rows of this name."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([verb, name]) + "\n")
        self.process.stdin.flush()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def told(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def child(provider: Provider) -> Iterator[Child]:
    child = Child(provider.base_url)
    yield child
    child.process.kill()
    child.process.communicate()


def moments(verb: str) -> list[int]:
    """Requests that have come when Ctrl-C is pressed: some early, some late."""
    chance = random.Random(verb)
    return [chance.randint(1, PLACES), chance.randint(PLACES + 1, ROWS // 2), chance.randint(ROWS // 2, ROWS - 1)]


def closed(provider: Provider) -> bool:
    """Whether no connection is open, once the provider has read all that was sent: it accepts them in order."""
    last = http.client.HTTPConnection("127.0.0.1", provider.start())
    last.request("GET", "/v1/models")
    last.getresponse().read()
    last.close()
    until = time.monotonic() + SECONDS
    while provider.connections and time.monotonic() < until:
        threading.Event().wait(0.001)
    return not provider.connections


@pytest.mark.parametrize("verb", VERBS)
def test_between_two_answers_an_interrupt_loses_only_what_was_in_flight(provider: Provider, child: Child, verb: str):
    for number, moment in enumerate(moments(verb)):
        provider.reset()
        provider.hold()
        child.run(verb, f"{verb} held {number}")
        for came in range(PLACES, moment):  # an answer brings the next request, until so many have come
            provider.wait_requests(came, timeout=SECONDS)
            provider.release(1)
        provider.wait_requests(moment, timeout=SECONDS)
        child.interrupt()
        told = child.told()
        assert closed(provider)
        lost = provider.closed_in_flight
        if verb in WITH_A_FRAME:
            assert told.pop("answered") == provider.requests - lost
        assert told == {"interrupted": True, "left": {}, "frame": verb in WITH_A_FRAME}
        provider.release()
        child.run(verb, f"{verb} held {number}")
        assert child.told() == {"answered": ROWS, "left": {}}
        assert lost <= PLACES
        assert provider.requests == ROWS + lost


@pytest.mark.parametrize("verb", VERBS)
def test_while_answers_come_an_interrupt_loses_no_more_than_can_be_in_flight(
    provider: Provider, child: Child, verb: str
):
    for number, moment in enumerate(moments(verb)):
        provider.reset()
        child.run(verb, f"{verb} running {number}")
        provider.wait_requests(moment, timeout=SECONDS)
        child.interrupt()
        told = child.told()
        assert (told["interrupted"], told["left"]) == (True, {})
        assert closed(provider)
        child.run(verb, f"{verb} running {number}")
        assert child.told() == {"answered": ROWS, "left": {}}
        assert ROWS <= provider.requests <= ROWS + PLACES
