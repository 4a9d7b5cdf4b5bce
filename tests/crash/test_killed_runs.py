"""SIGKILL to a run at seeded events of its provider: what is asked again, and what comes out at last."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests, kept

KILLS = 20
ROWS, DISTINCT = 600, 400
PLACES = 16
"""Requests in flight at most."""
UNCOMMITTED = 200
"""Answers on their way into the store at which nothing more is sent."""
LATEST = 150
"""Requests and replies of a process after which it is killed at the latest."""


@pytest.mark.parametrize("kinds", [("pandas", "polars"), ("file",)], ids=["frames", "files"])
def test_a_run_that_is_killed_again_and_again_pays_twice_only_for_what_was_not_committed(
    kinds: Sequence[str], server: Server, forker: Forker, tmp_path: Path
):
    chance = random.Random(str(kinds))
    moments = [chance.randint(1, LATEST) for _ in range(KILLS)]
    for number in itertools.count():
        table = columns(ROWS, DISTINCT, f"{kinds[0]} {number}")
        work = Work(table, tmp_path / str(number), base_url=server.url, max_concurrency=PLACES)
        moments = killed(work, kinds, moments, server, forker)
        for kind in kinds:
            if not work.target(kind).exists():
                assert forker.do(work.job(kind)) == 0
        assert not server.asked()
        fresh = Work(table, tmp_path / f"{number} undisturbed", base_url=server.url)
        for kind in kinds:
            assert forker.do(fresh.job(kind)) == 0
            assert fresh.target(kind).read_bytes() == work.target(kind).read_bytes()
        assert server.asked() == dict.fromkeys(digests(work.prompts), 1)
        if not moments:
            break


def killed(work: Work, kinds: Sequence[str], moments: list[int], server: Server, forker: Forker) -> list[int]:
    """Kill processes at `moments`, until one ends before its own or none is left; the moments that are left."""
    asked, committed = Counter[str](), set[str]()
    for attempt in itertools.count():
        pid = forker.fork(work.job(kinds[attempt % len(kinds)]))
        if attempt < len(moments):
            server.tell("arm", pid, moments[attempt], signal.SIGKILL)
        forker.begin()
        status = forker.ended()
        server.tell("disarm")
        events = server.events()
        came = Counter(prompt for kind, prompt in events if kind == "asked")
        replied = {prompt for kind, prompt in events if kind == "replied"}
        asked += came
        assert set(came.values()) <= {1}  # nothing twice by one process
        assert not came.keys() & committed  # and nothing that was committed
        if status == 0:
            break
        assert status == -signal.SIGKILL
        before, committed = committed, kept(work)
        assert before <= committed
        assert len(came.keys() - replied) <= PLACES
        assert len(replied - committed) <= UNCOMMITTED + PLACES
    assert asked.keys() == digests(work.prompts)
    assert asked.total() <= len(work.prompts) + attempt * (UNCOMMITTED + PLACES)
    return moments[attempt:]
