"""A million short texts with 100,000 distinct ones, embedded: requests, CPU beside the floor, memory beside it all."""

from __future__ import annotations

from effort import Effort
from figures import Figure, Finding, ratios
from fleet import Fleet, Run, Told, ended, serving, why_not
from job import Job

ROWS, DISTINCT, DIMENSIONS, INPUTS = 1_000_000, 100_000, 128, 2048
BYTES, POINTER = 4, 8  # of a number, of a reference to an object
TARGETS = {"polars": (5.0, 350.0), "pandas": (5.0, 350.0), "file": (25.0, 400.0)}
"""CPU ÷ floor, and megabytes above the frame and the vectors; of a file above the interpreter."""


def measure(fleet: Fleet, effort: Effort) -> Finding:
    rows, distinct = effort.rows(ROWS), effort.rows(DISTINCT)
    sides = ["floor", *TARGETS]
    runs: dict[str, list[Told]] = {side: [] for side in sides}
    with serving("embedder") as server:
        for turn in range(effort.rounds):
            for side in sides[turn % len(sides) :] + sides[: turn % len(sides)]:
                options = {"dimensions": DIMENSIONS}
                job = Job(side=f"embed {side}", rows=rows, distinct=distinct, options=options)
                runs[side] += fleet.measure(Run(job, server))
    figures = [figure for side in TARGETS for figure in of_side(side, runs, rows, distinct)]
    return Finding(figures=figures)


def of_side(side: str, runs: dict[str, list[Told]], rows: int, distinct: int) -> list[Figure]:
    good = [run for run in ended(runs[side]) if run["right"] == rows]
    note = why_not(runs[side]) or ("" if good else "vectors of other rows")
    least, above = TARGETS[side]
    requests = [run["server"]["requests"] - -(-distinct // INPUTS) for run in good]
    cost, floor = (
        [run["cpu"] / rows * 1e6 for run in told if "failed" not in run] for told in (runs[side], runs["floor"])
    )
    result = own_bytes(side, rows, distinct) / 2**20
    what = f"{rows:,} texts with {distinct:,} distinct, {side}"
    return [
        Figure(
            name=f"embeddings {side} requests",
            what=f"requests above full ones, {what}",
            rounds=requests,
            target=0,
            of="worst",
            unit="",
            note=note,
        ),
        Figure(
            name=f"embeddings {side} ÷ floor",
            what=f"CPU a row, embed {side} ÷ floor",
            rounds=ratios(cost, floor),
            target=least,
            note=note or why_not(runs["floor"]),
        ),
        Figure(name=f"embeddings {side} cpu", what=f"CPU a row, {what}", rounds=cost, unit="µs", note=note),
        Figure(
            name=f"embeddings {side} memory",
            what=f"peak above {'the interpreter' if side == 'file' else 'frame and vectors'}, {what}",
            rounds=[run["memory_mb"] - result for run in good],
            target=above,
            unit="MB",
            note=note,
        ),
    ]


def own_bytes(side: str, rows: int, distinct: int) -> int:
    """What the vectors of a result take: a row each in polars, pandas' objects once for each text, a file none."""
    vector = DIMENSIONS * BYTES
    return {"polars": rows * vector, "pandas": distinct * vector + rows * POINTER}.get(side, 0)
