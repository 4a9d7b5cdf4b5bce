"""Ctrl-C to a run with a store on disk: all that had come back stays."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.crash.forked_child import INTERRUPTED
from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests

ROWS, DISTINCT = 150, 100
PLACES = 4
"""Requests in flight, from the first on: fewer than a run begins with, so their number doesn't grow."""
INTERRUPTS = 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "file"])
def test_after_an_interrupt_only_what_was_in_flight_is_asked_again(
    kind: str, server: Server, forker: Forker, tmp_path: Path
):
    chance = random.Random(kind)
    work = Work(columns(ROWS, DISTINCT, kind), tmp_path / "work", base_url=server.url, max_concurrency=PLACES)
    known = set[str]()
    for _ in range(INTERRUPTS):
        pid = forker.fork(work.job(kind))
        # The k-th request comes when all answers but to the last PLACES have been taken, and those are withheld.
        moment = PLACES + chance.randint(0, (DISTINCT - len(known)) // 2)
        server.tell("trap", pid, moment, signal.SIGINT, PLACES)
        forker.begin()
        assert forker.ended() == INTERRUPTED
        events = server.events()
        server.tell("free")
        came = [prompt for what, prompt in events if what == "asked"]
        replied = {prompt for what, prompt in events if what == "replied"}
        assert len(came) == len(set(came)) == moment
        assert len(replied) == moment - PLACES
        assert not known & set(came)
        known |= replied
    assert forker.do(work.job(kind)) == 0
    assert server.asked() == dict.fromkeys(digests(work.prompts) - known, 1)
