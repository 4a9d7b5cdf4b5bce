"""Two processes with the same call by batches and one store at once: one batch a line, a whole frame for each."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests
from tests.crash.test_batch_kills import by_batches

ROWS, DISTINCT = 150, 100
TIMES = 2
LATEST = {"step": 40, "event": 30}
"""Moments after which one of two is killed at the latest: of its ledger's steps, of both one's calls."""


@pytest.fixture(scope="module")
def live(session_server: Server, forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """What the rows are without batches."""
    work = Work(columns(ROWS, DISTINCT, "pair"), tmp_path_factory.mktemp("pairs") / "live", base_url=session_server.url)
    for kind in ("pandas", "polars"):
        assert forker.do(work.job(kind)) == 0
    return work


def right(work: Work, live: Work, kind: str) -> bool:
    return work.target(kind).read_bytes() == live.target(kind).read_bytes()


@pytest.mark.parametrize("polls", [1, 2], ids=["done at once", "done later"])
def test_two_processes_pay_once_and_each_has_all_of_it(
    polls: int, live: Work, server: Server, pair: tuple[Forker, Forker], tmp_path: Path
):
    server.batches(polls=polls)
    for number in range(TIMES):
        work = Work(live.table, tmp_path / str(number), base_url=server.url)
        for forker, kind in zip(pair, ("pandas", "polars"), strict=True):
            forker.fork(by_batches(work, kind))
        for forker in pair:
            forker.begin()
        assert [forker.ended() for forker in pair] == [0, 0]
        assert server.paid() == dict.fromkeys(digests(work.prompts), 1)
        assert right(work, live, "pandas")
        assert right(work, live, "polars")


@pytest.mark.parametrize("where", LATEST)
def test_when_one_of_two_is_killed_the_other_goes_on_with_its_batches(
    where: str, live: Work, server: Server, pair: tuple[Forker, Forker], tmp_path: Path
):
    chance = random.Random(where)
    server.batches(polls=2)
    for number in range(TIMES):
        work = Work(live.table, tmp_path / str(number), base_url=server.url)
        moment = chance.randint(1, LATEST[where])
        job = by_batches(work, "pandas")
        killed = pair[0].fork(job | {"dies_at": moment} if where == "step" else job)
        pair[1].fork(by_batches(work, "polars"))
        if where == "event":
            server.tell("arm", killed, moment, signal.SIGKILL)
        for forker in pair:
            forker.begin()
        statuses = [forker.ended() for forker in pair]
        server.tell("disarm")
        assert statuses[0] in (-signal.SIGKILL, 0)  # it may have ended before its moment
        assert statuses[1] == 0
        assert right(work, live, "polars")
        assert forker.do(job) == 0
        assert right(work, live, "pandas")
        assert server.paid() == dict.fromkeys(digests(work.prompts), 1)
