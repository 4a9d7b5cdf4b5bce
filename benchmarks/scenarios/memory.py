"""A million rows of 2 kB with 100,000 distinct texts: memory above the frame or interpreter, and the first request."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

ROWS, DISTINCT, CHARS = 1_000_000, 100_000, 2_000
TARGETS = {"polars": 250.0, "pandas": 250.0, "file": 400.0}
"""Megabytes above the frame; of a file above the interpreter that has loaded everything."""


def measure(fleet: Fleet, effort: Effort) -> Finding:
    """Once for each library: 100,000 calls take a minute, and memory doesn't depend on what else the machine does."""
    rows, distinct = effort.rows(ROWS), effort.rows(DISTINCT)
    figures: list[Figure] = []
    with serving("server") as server:
        for side, most in TARGETS.items():
            job = Job(side=side, rows=rows, distinct=distinct, chars=CHARS)
            runs = fleet.measure(Run(job, server))
            figures += of_library(side, runs, rows, most)
    return Finding(figures=figures)


def of_library(side: str, runs: list[Told], rows: int, most: float) -> list[Figure]:
    good = [run for run in ended(runs) if run["right"] == rows]
    note = why_not(runs) or ("" if good else "rows lost")
    memory = [run["memory_mb"] for run in good]
    first = [run["server"]["first"] - run["start"] for run in good]
    what = f"{rows:,} rows of 2 kB, {side}"
    return [
        Figure(
            name=f"memory {side}",
            what=f"peak above the frame, {what}",
            rounds=memory,
            target=most,
            unit="MB",
            note=note,
        ),
        Figure(name=f"memory {side} first", what=f"first request, {what}", rounds=first, target=1, unit="s", note=note),
    ]
