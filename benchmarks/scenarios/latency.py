"""64 requests in flight against a server that takes its time: wall against rows · latency ÷ 64, the ramp included."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

IN_FLIGHT = 64
SHORT, SHORT_ROWS = 0.05, 2000
LONG, LONG_ROWS = 0.5, 4000


def measure(fleet: Fleet, effort: Effort) -> Finding:
    short_rows, long_rows = effort.rows(SHORT_ROWS), effort.rows(LONG_ROWS)
    short: dict[str, list[Told]] = {"polars": [], "floor": []}
    with serving("server", latency=SHORT) as server:
        for _ in range(effort.rounds):
            for side in short:
                short[side] += fleet.measure(Run(Job(side=side, rows=short_rows, in_flight=IN_FLIGHT), server))
    # All rounds at the same time: each of them takes a tenth of a core.
    long_job = Job(side="polars", rows=long_rows, in_flight=IN_FLIGHT)
    long = fleet.measure_many(long_job, effort.rounds, "server", latency=LONG)
    soon, late = short_rows * SHORT / IN_FLIGHT, long_rows * LONG / IN_FLIGHT
    return Finding(
        figures=[
            wall("latency 50 ms", f"wall ÷ ideal, {short_rows:,} rows at 50 ms", short["polars"], soon, target=1.15),
            wall("latency 50 ms floor", "the same of the floor", short["floor"], soon),
            ramp("latency 50 ms ramp", "until most were in flight, at 50 ms", short["polars"]),
            wall("latency 500 ms", f"wall ÷ ideal, {long_rows:,} rows at 500 ms", long, late, target=1.05),
            ramp("latency 500 ms ramp", "until most were in flight, at 500 ms", long),
        ]
    )


def wall(name: str, what: str, runs: list[Told], ideal: float, *, target: float | None = None) -> Figure:
    good = [run for run in ended(runs) if not run["missing"] and not run["wrong"]]
    return Figure(
        name=name,
        what=what,
        rounds=[run["wall"] / ideal for run in good],
        target=target,
        note=why_not(runs) or ("" if len(good) == len(runs) else "rows lost"),
    )


def ramp(name: str, what: str, runs: list[Told]) -> Figure:
    return Figure(name=name, what=what, rounds=[run["server"]["full_after"] for run in ended(runs)], unit="s")
