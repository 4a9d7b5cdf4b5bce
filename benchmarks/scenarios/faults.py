"""5 % status 500, 2 % hangs, 3 % answers that break the schema, 1 % cut bodies: rows lost, requests, wall."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

ROWS, LATENCY, TIMEOUT = 2000, 0.1, 5.0
SHARES = {"status_500": 0.05, "hang": 0.02, "schema": 0.03, "cut": 0.01}
# Every ask of a row meets a fault of its own: two of a thousand rows break the schema twice running, which is one more
# than the default allows to ask again.
OPTIONS = {"timeout": TIMEOUT, "reask": 3}


def measure(fleet: Fleet, effort: Effort) -> Finding:
    job = Job(side="polars", rows=effort.rows(ROWS), options=OPTIONS)
    whole: list[Told] = []
    faulty: list[Told] = []
    with serving("provider", latency=LATENCY) as sound, serving("provider", latency=LATENCY, shares=SHARES) as broken:
        for _ in range(effort.rounds):
            whole += fleet.measure(Run(job, sound))
            faulty += fleet.measure(Run(job, broken))
    runs, note = ended(faulty), why_not([*faulty, *whole])
    met = [sum(run["server"]["faults"].values()) for run in runs]
    pairs = [(bad, good) for bad, good in zip(faulty, whole, strict=True) if "failed" not in bad | good]
    return Finding(
        figures=[
            Figure(
                name="faults lost",
                what=f"rows lost of {job.rows:,}, {round(sum(SHARES.values()) * 100)} % faults",
                rounds=[job.rows - run["right"] for run in runs],
                target=0,
                of="worst",
                unit="",
                note=note,
            ),
            Figure(
                name="faults requests",
                what="requests above rows + faults",
                rounds=[run["server"]["requests"] - job.rows - faults for run, faults in zip(runs, met, strict=True)],
                target=0,
                of="worst",
                unit="",
                note=note,
            ),
            Figure(
                name="faults wall",
                what="(wall − one timeout) ÷ wall without faults",
                rounds=[(bad["wall"] - TIMEOUT) / good["wall"] for bad, good in pairs],
                target=1.3,
                note=note,
            ),
        ]
    )
