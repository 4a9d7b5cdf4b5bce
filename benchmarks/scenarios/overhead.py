"""5,000 distinct rows, no latency: CPU a row beside the transport's floor, the SDK's, the usual pattern, a peer."""

from __future__ import annotations

import statistics
import subprocess
import sys

from effort import Effort
from figures import Figure, Finding, ratios
from fleet import Fleet, Run, Told, serving
from job import Job

ROWS = {
    "floor": 5000,
    "polars": 5000,
    "pandas": 5000,
    "stored": 5000,
    "stored pandas": 5000,
    "file": 5000,
    "sdk floor": 2500,
    "post": 2500,
    "flexllm": 2500,
    "naive": 1000,
}
TARGETS = [
    ("polars", "floor", 2.5),
    ("pandas", "floor", 2.5),
    ("stored", "floor", 3.5),
    ("stored pandas", "floor", 3.5),
    ("file", "floor", 3.5),
    ("polars", "flexllm", 0.6),
    ("polars", "naive", 0.1),
    ("post", "sdk floor", 1.2),
    ("polars", "sdk floor", None),
]


def measure(fleet: Fleet, effort: Effort) -> Finding:
    sides = [side for side in ROWS if fleet.has(side)]
    runs: dict[str, list[Told]] = {side: [] for side in ROWS}
    with serving("server") as server:
        for turn in range(effort.rounds):
            for side in sides[turn % len(sides) :] + sides[: turn % len(sides)]:
                job = Job(side=side, rows=effort.rows(ROWS[side]))
                runs[side] += fleet.measure(Run(job, server))
    cost = {side: cpu_a_row(side, told, effort) for side, told in runs.items()}
    figures = [
        Figure(
            name=f"overhead {above} ÷ {below}",
            what=f"CPU a row, {above} ÷ {below}",
            rounds=ratios(cost[above], cost[below]),
            target=target,
            note=why_not(runs, above, below),
        )
        for above, below, target in TARGETS
    ]
    imports = [import_seconds("llmframe") / import_seconds("pandas") for _ in range(effort.rounds)]
    figures.append(Figure(name="overhead import", what="CPU of `import llmframe` ÷ `import pandas`", rounds=imports))
    curve = {side: round(statistics.median(values), 4) for side, values in cost.items() if values}
    return Finding(figures=figures, curves={"cpu_ms_row": curve})


def cpu_a_row(side: str, runs: list[Told], effort: Effort) -> list[float]:
    """Milliseconds; empty when a run failed or lost rows, as its figure would be too good."""
    rows = effort.rows(ROWS[side])
    if any("failed" in run or run["right"] != rows for run in runs):
        return []
    return [run["cpu"] / rows * 1000 for run in runs]


def why_not(runs: dict[str, list[Told]], *sides: str) -> str:
    for side in sides:
        if not runs[side]:
            return f"{side} isn't installed: `make bench` does it"
        for run in runs[side]:
            if "failed" in run:
                return f"{side}: {run['failed']}"
            if run["missing"] or run["wrong"]:
                return f"{side}: {run['missing']} rows lost, {run['wrong']} wrong"
    return ""


def import_seconds(module: str) -> float:
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
