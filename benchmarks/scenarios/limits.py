"""A server that says 429: wall against rows ÷ limit, useless requests, rows lost."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

SLOW, MIDDLE, FAST = 600.0, 6_000.0, 60_000.0  # requests a minute
TOKENS = 360_000.0  # a minute: the bucket of 1 s holds 6,000
GIANT = 12_000  # tokens of one row, twice the bucket
OUTPUT_TOKENS = 16  # what the server charges for an answer


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One way to meet a limit, and what it should come to."""

    name: str
    what: str
    job: Job
    server: dict[str, Any]
    rate: float  # a minute: requests, or tokens where the job has lengths
    wall: float
    refused: float | None = None
    runs: list[Told] = field(default_factory=list)


def limits(effort: Effort) -> list[Limit]:
    rows = effort.rows(300)
    asked = Job(side="polars", rows=rows)
    slow = {"latency": 0.2, "requests_per_minute": SLOW}
    told = {"requests_per_minute": SLOW}
    mixed = Job(side="polars", rows=effort.rows(200), tokens=(20, 4000, GIANT), options={"tokens_per_minute": TOKENS})
    return [
        Limit(
            name="limits told",
            what=f"600/min told, {rows} rows",
            job=Job(side="polars", rows=rows, options=told),
            server=slow,
            rate=SLOW,
            wall=1.03,
            refused=0.005,
        ),
        Limit(
            name="limits headers",
            what=f"600/min in the headers, {rows} rows",
            job=asked,
            server=slow,
            rate=SLOW,
            wall=1.10,
            refused=0.03,
        ),
        Limit(
            name="limits 429s",
            what=f"600/min and bare 429s, {rows} rows",
            job=asked,
            server=slow | {"limit_headers": False},
            rate=SLOW,
            wall=1.3,
            refused=0.1,
        ),
        Limit(
            name="limits tokens",
            what=f"360,000 tokens/min told, {mixed.rows} rows of 20 to 4,000, one of 12,000",
            job=mixed,
            server={"latency": 0.2, "tokens_per_minute": TOKENS},
            rate=TOKENS,
            wall=1.1,
            refused=0.02,
        ),
        Limit(
            name="limits 6,000",
            what="6,000/min told",
            job=Job(side="polars", rows=effort.rows(2000), options={"requests_per_minute": MIDDLE}),
            server={"latency": 0.2, "requests_per_minute": MIDDLE},
            rate=MIDDLE,
            wall=1.03,
        ),
    ]


def measure(fleet: Fleet, effort: Effort) -> Finding:
    """The slow ones of a round run side by side, as they mostly wait; 1,000 a second have the machine alone."""
    slow = limits(effort)
    fast = Limit(
        name="limits 60,000",
        what="60,000/min told",
        job=Job(side="polars", rows=effort.rows(10_000), options={"requests_per_minute": FAST}),
        server={"latency": 0.02, "requests_per_minute": FAST},
        rate=FAST,
        wall=1.03,
    )
    for _ in range(effort.rounds):
        together(fleet, slow)
        together(fleet, [fast])
    curves = {limit.name: limit.runs[0]["server"]["samples"] for limit in slow[:3] if "failed" not in limit.runs[0]}
    return Finding(figures=[line for limit in [*slow, fast] for line in lines(limit)], curves={"limits": curves})


def together(fleet: Fleet, these: list[Limit]) -> None:
    with ExitStack() as stack:
        runs = [Run(limit.job, stack.enter_context(serving("provider", **limit.server))) for limit in these]
        for limit, told in zip(these, fleet.measure(*runs), strict=True):
            limit.runs.append(told)


def lines(limit: Limit) -> list[Figure]:
    runs, rows = ended(limit.runs), limit.job.rows
    note = why_not(limit.runs)
    lost = [rows - run["right"] for run in runs]
    refused = [run["server"]["n429"] / rows for run in runs]
    return [
        Figure(
            name=f"{limit.name} wall",
            what=f"{limit.what}: wall ÷ ideal",
            rounds=[run["wall"] / ideal(limit, run) for run in runs],
            target=limit.wall,
            note=note,
        ),
        Figure(
            name=f"{limit.name} 429s",
            what=f"{limit.what}: 429s a row",
            rounds=refused,
            target=limit.refused,
            unit="",
            note=note,
        ),
        Figure(
            name=f"{limit.name} lost",
            what=f"{limit.what}: rows lost{', the giant included' if limit.job.tokens else ''}",
            rounds=lost,
            target=0,
            of="worst",
            unit="",
            note=note,
        ),
    ]


def ideal(limit: Limit, run: Told) -> float:
    """Seconds of what the limit lets through, with no credit for the bucket that is full at the start."""
    if not limit.job.tokens:
        return limit.job.rows / limit.rate * 60
    return (run["server"]["prompt_tokens"] + OUTPUT_TOKENS * run["right"]) / limit.rate * 60
