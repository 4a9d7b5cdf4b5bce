"""More rows, and longer ones, than one batch may hold; the full sizes are measured by the benchmarks' `batches`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests

ROWS, LINES = 1_600, 1_000
LONG_ROWS, LONG_CHARS, BYTES = 24, 3_000_000, 20_000_000
"""Long rows, of which a batch holds six: 95 % of the bytes that it may have are used."""
MOST_MB = 110
"""What long rows take above the frame: 75 when they are drawn few at a time, 72 more for each copy of all of them."""


@pytest.mark.parametrize("kind", ["polars", "file"])
def test_rows_beyond_a_batch_go_into_the_next_one(kind: str, server: Server, forker: Forker, tmp_path: Path):
    server.batches(polls=1)
    work = Work(columns(ROWS, ROWS, kind), tmp_path / "work", base_url=server.url)
    assert forker.do(work.job(kind, mode="batch") | {"batch": {"lines": LINES}}) == 0
    events = server.events()
    calls = Counter(call for call, _ in events)
    assert (calls["upload"], calls["create"], calls["output"]) == (2, 2, 2)
    assert Counter(prompt for call, prompt in events if call == "paid") == dict.fromkeys(digests(work.prompts), 1)
    assert echoes(work, kind) == [None if text is None else text.split()[-3] for text in work.table["text"]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the most memory since a moment")
def test_long_rows_are_not_all_in_memory_at_once(server: Server, forker: Forker, tmp_path: Path):
    server.batches(polls=1)
    table = {"text": [f"row-{row} " for row in range(LONG_ROWS)], "number": list(range(LONG_ROWS))}
    work = Work(table, tmp_path / "work", base_url=server.url)
    peak = tmp_path / "peak"
    job = work.job("polars", mode="batch") | {"chars": LONG_CHARS, "peak": str(peak), "batch": {"size": BYTES}}
    assert forker.do(job) == 0
    assert Counter(call for call, _ in server.events())["create"] == LONG_ROWS // 6
    assert echoes(work, "polars") == [f"row-{row}" for row in range(LONG_ROWS)]
    assert float(peak.read_text()) < MOST_MB


def echoes(work: Work, kind: str) -> list[Any]:
    """The marks that answers carry back."""
    return pq.read_table(work.target(kind), columns=["echo"])["echo"].to_pylist()
