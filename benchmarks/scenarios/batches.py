"""60,000 rows in two batches, and 100 rows of 3 MB: CPU a row beside live calls and bare lines, and memory."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding, ratios
from fleet import Fleet, Run, Told, serving
from job import Job

ROWS = 60_000
LONG_ROWS, LONG_CHARS = 100, 3_000_000
ROUNDS = 3
"""At most: a round takes a minute and a half."""
SIDES = {"polars": "stored", "pandas": "stored pandas", "lines": "lines"}
"""What is asked in batches; the live call is the first one's."""
TARGETS = {"live": 1.0, "lines": None}
"""Beside what the CPU is told."""
MOST_MB, MOST_LONG_MB = 150, 100


def measure(fleet: Fleet, effort: Effort) -> Finding:
    rows = effort.rows(ROWS)
    jobs = {name: Job(side=side, rows=rows, mode="batch") for name, side in SIDES.items()}
    runs: dict[str, list[Told]] = {name: [] for name in (*jobs, "live")}
    for _ in range(min(effort.rounds, ROUNDS)):
        for name, job in jobs.items():
            runs[name] += measured(fleet, job, "provider")
        runs["live"] += measured(fleet, Job(side=SIDES["polars"], rows=rows), "server")
    long_job = Job(side=SIDES["polars"], rows=effort.rows(LONG_ROWS), chars=LONG_CHARS, mode="batch")
    long = measured(fleet, long_job, "provider")
    what = f"{rows:,} rows"
    cost = {name: cpu_a_row(told, rows) for name, told in runs.items()}
    notes = {name: why_not(told, rows) for name, told in runs.items()}
    return Finding(
        figures=[
            *(
                Figure(
                    name=f"batches ÷ {below}",
                    what=f"CPU a row, batches ÷ {below}, {what}",
                    rounds=ratios(cost["polars"], cost[below]),
                    target=target,
                    note=notes["polars"] or notes[below],
                )
                for below, target in TARGETS.items()
            ),
            *(
                Figure(
                    name=f"batches {name}",
                    what=f"CPU a row, {'' if name == 'live' else 'batches of '}{name}, {what}",
                    rounds=cost[name],
                    unit="µs",
                    note=notes[name],
                )
                for name in runs
            ),
            memory("batches memory", f"peak above the frame, {what} in batches", runs["polars"], rows, MOST_MB),
            memory("batches memory long", f"the same, {long_job.rows} rows of 3 MB", long, long_job.rows, MOST_LONG_MB),
        ]
    )


def measured(fleet: Fleet, job: Job, script: str) -> list[Told]:
    """With a server of its own, which keeps every file that it gets."""
    with serving(script) as server:
        return fleet.measure(Run(job, server))


def cpu_a_row(runs: list[Told], rows: int) -> list[float]:
    """Microseconds; empty when a run failed, as its figure would be too good."""
    return [] if why_not(runs, rows) else [run["cpu"] / rows * 1e6 for run in runs]


def memory(name: str, what: str, runs: list[Told], rows: int, most: float) -> Figure:
    note = why_not(runs, rows)
    rounds = [] if note else [run["memory_mb"] for run in runs]
    return Figure(name=name, what=what, rounds=rounds, target=most, unit="MB", note=note)


def why_not(runs: list[Told], rows: int) -> str:
    """What is wrong with runs: rows that were lost, or a line that was paid twice."""
    for run in runs:
        if "failed" in run:
            return str(run["failed"])
        if run["right"] != rows:
            return f"{run['missing']} rows lost, {run['wrong']} wrong"
        if run["server"].get("paid_lines", rows) != rows:
            return f"{run['server']['paid_lines']:,} lines paid"
    return ""
