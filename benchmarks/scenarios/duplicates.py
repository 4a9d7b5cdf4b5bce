"""Rows that are equal: one request for each distinct text, and the cost of everything but the requests."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

ROWS, DISTINCT = 200_000, 2_000
FLYING_ROWS, FLYING_DISTINCT = 4_000, 200
ASKS = 3  # of all distinct texts in "few then many"
TARGETS = {"polars": 1.5, "pandas": 3.0}  # s CPU a million rows


def measure(fleet: Fleet, effort: Effort) -> Finding:
    rows, distinct = effort.rows(ROWS), effort.rows(DISTINCT)
    many: dict[str, list[Told]] = {"polars": [], "pandas": []}
    with serving("server") as server:
        for _ in range(effort.rounds):
            for side in many:
                job = Job(side=side, task="few then many", rows=rows, distinct=distinct)
                many[side] += fleet.measure(Run(job, server))
    flying_job = Job(
        side="polars",
        task="twice at once",
        rows=effort.rows(FLYING_ROWS),
        distinct=effort.rows(FLYING_DISTINCT),
        options={"cache": True},
    )
    with serving("server", latency=0.2) as server:
        flying = fleet.measure(Run(flying_job, server))
    surplus = [run["server"]["requests"] - ASKS * distinct for runs in many.values() for run in ended(runs)]
    in_flight = [run["server"]["requests"] - flying_job.distinct for run in ended(flying)]
    return Finding(
        figures=[
            Figure(
                name="duplicates requests",
                what=f"requests above the distinct ones, {rows:,} rows with {distinct:,}",
                rounds=surplus,
                target=0,
                of="worst",
                unit="",
            ),
            Figure(
                name="duplicates in flight",
                what=f"the same, two calls at once, {flying_job.rows:,} rows with {flying_job.distinct:,}",
                rounds=in_flight,
                target=0,
                of="worst",
                unit="",
                note=why_not(flying),
            ),
            *(
                Figure(
                    name=f"duplicates {side}",
                    what=f"CPU a million rows, all but the calls, {side}",
                    rounds=[run["cpu_s_million"] for run in ended(runs) if run["right"] == rows],
                    target=TARGETS[side],
                    unit="s",
                    note=why_not(runs),
                )
                for side, runs in many.items()
            ),
        ]
    )
