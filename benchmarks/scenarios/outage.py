"""A provider that is dead for a minute in mid-run, and one that lets 256 requests wait."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding
from fleet import Fleet, ended, why_not
from job import Job

ROWS, DEAD_AFTER, DEAD_FOR, LATENCY = 2000, 1000, 60.0, 0.2
WAITING, BEFORE, QUICK_ANSWER, STILL_FOR = 256, 2000, 0.02, 20.0


def measure(fleet: Fleet, effort: Effort) -> Finding:
    rows, dead_for = effort.rows(ROWS), max(5.0, DEAD_FOR * effort.scale)
    dead = fleet.measure_many(
        Job(side="polars", rows=rows),
        effort.rounds,
        "provider",
        latency=LATENCY,
        dead_after=effort.rows(DEAD_AFTER),
        dead_for=dead_for,
    )
    # The rows before are answered quickly, so that an adaptive limit has grown when the waiting begins.
    before = effort.rows(BEFORE)
    sitting = fleet.measure_many(
        Job(side="polars", task="sit", rows=before + WAITING, in_flight=WAITING),
        effort.rounds,
        "server",
        latency=QUICK_ANSWER,
        still_after=before,
        still_for=STILL_FOR,
    )
    died, sat = ended(dead), ended(sitting)
    return Finding(
        figures=[
            Figure(
                name="outage lost",
                what=f"rows lost, dead for {dead_for:.0f} s in mid-run",
                rounds=[rows - run["right"] for run in died],
                target=0,
                of="worst",
                unit="",
                note=why_not(dead),
            ),
            Figure(
                name="outage probes",
                what=f"requests while dead for {dead_for:.0f} s",
                rounds=[run["server"]["probes"] for run in died],
                target=30,
                of="worst",
                unit="",
                note=why_not(dead),
            ),
            Figure(
                name="idle",
                what="cores used while 256 requests wait",
                rounds=[run["idle_cores"] for run in sat],
                target=0.01,
                unit="",
                note=why_not(sitting),
            ),
            Figure(
                name="idle in flight",
                what="most of the 256 in flight at once",
                rounds=[run["server"]["most_in_flight"] for run in sat],
                unit="",
            ),
        ]
    )
