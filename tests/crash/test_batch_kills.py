"""SIGKILL to runs by batches, at seeded steps of the ledger and events of the provider: nothing is paid twice."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests

ROWS, DISTINCT = 150, 100
LINES = 30
"""Lines of a batch: the rows are four of them."""
EXPIRED = 1
"""Batches that expire half-way: what they didn't do goes into another one."""

Where = Literal["step", "event"]
KILLS: dict[tuple[str, ...], int] = {("pandas", "polars"): 12, ("file",): 8}
LATEST: dict[Where, int] = {"step": 70, "event": 36}
"""Moments after which a process is killed at the latest: of its ledger's steps, and of its calls at the provider."""


@pytest.mark.parametrize("kinds", KILLS, ids=["frames", "files"])
def test_a_run_by_batches_that_is_killed_again_and_again_pays_nothing_twice(
    kinds: Sequence[str], server: Server, forker: Forker, tmp_path: Path
):
    chance = random.Random(str(kinds))
    ways: tuple[Where, Where] = ("step", "event")
    moments = [(way, chance.randint(1, LATEST[way])) for way, _ in zip(itertools.cycle(ways), range(KILLS[kinds]))]
    server.batches(polls=2)
    table = columns(ROWS, DISTINCT, kinds[0])
    live = Work(table, tmp_path / "live", base_url=server.url)
    for kind in kinds:
        assert forker.do(live.job(kind)) == 0
    server.events()
    for number in itertools.count():
        work = Work(table, tmp_path / str(number), base_url=server.url)
        server.tell("expire", EXPIRED)
        moments, paid = killed(work, kinds, moments, server, forker)
        for kind in kinds:
            assert forker.do(by_batches(work, kind)) == 0
            assert live.target(kind).read_bytes() == work.target(kind).read_bytes()
        assert paid + server.paid() == dict.fromkeys(digests(work.prompts), 1)
        if not moments:
            break


@pytest.mark.parametrize("moment", [7, 9], ids=["its file was uploaded", "it was about to be made"])
def test_what_was_answered_live_since_goes_into_no_batch(moment: int, server: Server, forker: Forker, tmp_path: Path):
    """Of a run with one batch: a job is looked for and opened, the shard planned, uploaded, about to be made."""
    work = Work(columns(5, 4, str(moment)), tmp_path / "work", base_url=server.url)
    assert forker.do(by_batches(work, "pandas") | {"dies_at": moment}) == -signal.SIGKILL
    assert forker.do(work.job("pandas")) == 0
    assert forker.do(by_batches(work, "pandas")) == 0
    assert not server.paid()


def by_batches(work: Work, kind: str) -> dict[str, object]:
    """The same job by small batches."""
    job = work.job(kind, mode="batch")
    if kind == "file":
        job["options"]["exists"] = "replace"
    return job | {"batch": {"lines": LINES}}


def killed(
    work: Work, kinds: Sequence[str], moments: list[tuple[Where, int]], server: Server, forker: Forker
) -> tuple[list[tuple[Where, int]], Counter[str]]:
    """Kill processes at `moments`, until one ends before its own; those that are left, and what was paid."""
    paid = Counter[str]()
    for attempt, (where, moment) in enumerate(moments):
        job = by_batches(work, kinds[attempt % len(kinds)])
        pid = forker.fork(job | {"dies_at": moment} if where == "step" else job)
        if where == "event":
            server.tell("arm", pid, moment, signal.SIGKILL)
        forker.begin()
        status = forker.ended()
        server.tell("disarm")
        paid += Counter(prompt for kind, prompt in server.events() if kind == "paid")
        if status == 0:
            return moments[attempt + 1 :], paid
        assert status == -signal.SIGKILL
    return [], paid
