"""Two processes that map the same rows with one store at once."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.crash.forked_child import INTERRUPTED
from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests

ROWS, DISTINCT = 5_000, 4_000
PLACES = 64
"""Requests of a process in flight at most."""
UNCOMMITTED = 200
SMALL = 1_000
"""Rows of a run that one of two processes leaves half-way."""

LOST = {
    signal.SIGKILL: (-signal.SIGKILL, PLACES + UNCOMMITTED),
    signal.SIGINT: (INTERRUPTED, PLACES),
}
"""How a process ends, and how many requests that costs at most."""


def both(pair: tuple[Forker, Forker]) -> tuple[int, int]:
    """Let two processes begin at once and wait for both."""
    for forker in pair:
        forker.begin()
    return pair[0].ended(), pair[1].ended()


def whole(store: Path) -> bool:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def right(work: Work, kind: str) -> bool:
    """Whether every row is in its place and has its own answer: the provider sends the text's `row-<digits>` back."""
    table = pq.read_table(work.target(kind)).to_pydict()
    own = [None if text is None else text.split()[-3] for text in work.table["text"]]
    return (
        table["number"] == work.table["number"]
        and table["echo"] == own
        and [bool(error) for error in table["error"]] == [text is None for text in work.table["text"]]
    )


def test_two_processes_share_the_work_and_each_has_all_of_it(
    server: Server, pair: tuple[Forker, Forker], tmp_path: Path
):
    work = Work(columns(ROWS, DISTINCT, "shared"), tmp_path / "work", base_url=server.url, max_concurrency=PLACES)
    for forker, kind in zip(pair, ("pandas", "polars"), strict=True):
        forker.fork(work.job(kind))
    assert both(pair) == (0, 0)
    asked = server.asked()
    assert asked.keys() == digests(work.prompts)
    assert asked.total() <= 1.05 * len(work.prompts)
    assert right(work, "pandas")
    assert right(work, "polars")
    assert whole(work.store)
    assert pair[0].do(work.job("pyarrow")) == 0
    assert right(work, "pyarrow")
    assert not server.asked()


@pytest.mark.parametrize("number", LOST, ids=lambda number: number.name)
def test_when_one_of_two_ends_half_way_the_other_does_its_share_too(
    number: signal.Signals, server: Server, pair: tuple[Forker, Forker], tmp_path: Path
):
    status, lost = LOST[number]
    work = Work(columns(SMALL, SMALL, number.name), tmp_path / "work", base_url=server.url, max_concurrency=PLACES)
    server.tell("arm", pair[0].fork(work.job("pandas")), SMALL, number)  # of twice as many events
    pair[1].fork(work.job("polars"))
    assert both(pair) == (status, 0)
    asked = server.asked()
    assert asked.keys() == digests(work.prompts)
    assert asked.total() <= len(work.prompts) + lost
    assert right(work, "polars")
    assert whole(work.store)
