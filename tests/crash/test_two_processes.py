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
    server: Server, forker: Forker, other_forker: Forker, tmp_path: Path
):
    work = Work(columns(ROWS, DISTINCT, "shared"), tmp_path / "work", base_url=server.url, max_concurrency=PLACES)
    forker.fork(work.job("pandas"))
    other_forker.fork(work.job("polars"))
    forker.begin()
    other_forker.begin()
    assert (forker.ended(), other_forker.ended()) == (0, 0)
    asked = server.asked()
    assert asked.keys() == digests(work.prompts)
    assert asked.total() <= 1.05 * len(work.prompts)
    assert right(work, "pandas")
    assert right(work, "polars")
    assert whole(work.store)
    assert forker.do(work.job("pyarrow")) == 0
    assert right(work, "pyarrow")
    assert not server.asked()


@pytest.mark.parametrize(
    ("number", "status", "lost"),
    [(signal.SIGKILL, -signal.SIGKILL, PLACES + UNCOMMITTED), (signal.SIGINT, INTERRUPTED, PLACES)],
    ids=["killed", "interrupted"],
)
def test_when_one_of_two_ends_half_way_the_other_does_its_share_too(
    number: int, status: int, lost: int, server: Server, forker: Forker, other_forker: Forker, tmp_path: Path
):
    work = Work(columns(SMALL, SMALL, f"left {number}"), tmp_path / "work", base_url=server.url, max_concurrency=PLACES)
    server.tell("arm", forker.fork(work.job("pandas")), SMALL, number)  # of twice as many events
    other_forker.fork(work.job("polars"))
    forker.begin()
    other_forker.begin()
    assert (forker.ended(), other_forker.ended()) == (status, 0)
    asked = server.asked()
    assert asked.keys() == digests(work.prompts)
    assert asked.total() <= len(work.prompts) + lost
    assert right(work, "polars")
    assert whole(work.store)
