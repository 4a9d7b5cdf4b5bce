"""A server that answers everybody later past 40 requests in flight and never says 429."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

KNEE, LATENCY = 40, 0.2
BEST = KNEE / LATENCY  # requests a second, at any number in flight from 40 on
ROWS, WANTED = 6000, 256
SWEEP = (4, 8, 16, 24, 32, 40, 56, 80, 128, 256)
SWEEP_SECONDS = 6.0
AT_ONCE = 3  # 600 requests a second are what a busy machine still answers in time


def measure(fleet: Fleet, effort: Effort) -> Finding:
    job = Job(side="polars", rows=effort.rows(ROWS), in_flight=WANTED)
    runs: list[Told] = []
    while len(runs) < effort.rounds:
        runs += fleet.measure_many(job, min(AT_ONCE, effort.rounds - len(runs)), "server", latency=LATENCY, knee=KNEE)
    good, note = ended(runs), why_not(runs)
    points = [point(run) for run in good]
    return Finding(
        figures=[
            Figure(
                name="slowing throughput",
                what="throughput ÷ the best, slows past 40 in flight",
                rounds=[rate / BEST for rate, _, _ in points],
                target=0.95,
                bound="at least",
                note=note,
            ),
            Figure(
                name="slowing p50",
                what="median latency ÷ unloaded, slows past 40 in flight",
                rounds=[middle / LATENCY for _, middle, _ in points],
                target=1.5,
                note=note,
            ),
            Figure(
                name="slowing lost",
                what="rows lost, slows past 40 in flight",
                rounds=[job.rows - run["right"] for run in good],
                target=0,
                of="worst",
                unit="",
                note=note,
            ),
        ],
        curves={"slowing": {"fixed": sweep(fleet, effort), "llmframe": points}},
    )


def sweep(fleet: Fleet, effort: Effort) -> list[Any]:
    """The server as the floor meets it with a fixed number in flight."""
    found: list[Told] = []
    for start in range(0, len(SWEEP), AT_ONCE):
        with ExitStack() as stack:
            runs = [
                Run(
                    Job(side="floor", rows=effort.rows(int(SWEEP_SECONDS * min(n, KNEE) / LATENCY)), in_flight=n),
                    stack.enter_context(serving("server", latency=LATENCY, knee=KNEE)),
                )
                for n in SWEEP[start : start + AT_ONCE]
            ]
            found += fleet.measure(*runs)
    return [point(run) for run in ended(found)]


def point(run: Told) -> tuple[float, float, float]:
    """Requests a second, median seconds, and how many were in flight on average (Little's law)."""
    server = run["server"]
    return round(server["requests"] / server["span"], 2), round(server["p50"], 4), round(server["mean_in_flight"], 1)
