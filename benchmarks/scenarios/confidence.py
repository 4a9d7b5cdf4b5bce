"""5,000 distinct rows with confidences by log-probabilities or votes: CPU, kept answers and memory beside plain rows.

A reply with log-probabilities has 15 tokens with 20 alternatives each, 19 kB instead of 0.3. Whoever asks for them has
to receive and parse that: what the floor spends more on it is taken off where the figure says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

from effort import Effort
from figures import Figure, Finding, ratios
from fleet import Fleet, Run, Server, Told, ended, serving, why_not
from job import Job

READING = Path(__file__).parent.parent / "reading.py"
ROWS, MANY_ROWS = 5_000, 20_000
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "logprobs": {"confidence": "logprobs"},
    "votes": {"confidence": "votes", "samples": 5},
}
MOST_LOGPROBS, MOST_VOTES = 2.5, 1.15
Jobs = dict[tuple[str, str], list[Told]]
"""Runs by task (or `floor`) and way."""


def measure(fleet: Fleet, effort: Effort) -> Finding:
    rows = effort.rows(ROWS)
    runs: Jobs = {}
    reading: list[dict[str, dict[str, float]]] = []
    with serving("server") as short, serving("server", logprobs=True) as long:
        servers = {"plain": short, "logprobs": long, "votes": short}
        order = [*product(("map", "again"), OPTIONS), *product(("floor",), ("plain", "logprobs"))]
        for turn in range(effort.rounds):
            for task, way in order[turn % len(order) :] + order[: turn % len(order)]:
                runs.setdefault((task, way), []).extend(fleet.measure(Run(job_of(task, way, rows), servers[way])))
            told = subprocess.run([sys.executable, str(READING)], check=True, capture_output=True).stdout
            reading.append(json.loads(told))
        figures = [*of_cpu(runs, rows), *of_reading(reading), *of_memory(fleet, servers, runs, effort)]
    return Finding(figures=figures)


def job_of(task: str, way: str, rows: int) -> Job:
    if task == "floor":
        return Job(side="floor", rows=rows)
    return Job(side="polars", task=task, rows=rows, options=OPTIONS[way])


def of_cpu(runs: Jobs, rows: int) -> list[Figure]:
    cost = {key: cpu(told, rows) for key, told in runs.items()}
    again = {way: cpu(runs["again", way], rows, "again") for way in OPTIONS}
    plain, logprobs = cost["map", "plain"], cost["map", "logprobs"]
    longer = [a - b for a, b in zip(cost["floor", "logprobs"], cost["floor", "plain"], strict=False)]
    asked = [run["server"]["requests"] / rows for run in ended(runs["map", "votes"])]
    kept_asked = [run["server"]["requests"] / rows for run in ended(runs["again", "votes"])]
    note = why_not([run for told in runs.values() for run in told])
    measured: list[tuple[str, str, list[float], float | None]] = [
        ("logprobs", "CPU a row, with log-probabilities ÷ without", ratios(logprobs, plain), None),
        ("logprobs floor", "the same of the floor", ratios(cost["floor", "logprobs"], cost["floor", "plain"]), None),
        (
            "logprobs beyond",
            "CPU a row, with log-probabilities less what they cost the floor ÷ without",
            ratios([all_ - more for all_, more in zip(logprobs, longer, strict=False)], plain),
            MOST_LOGPROBS,
        ),
        ("votes", "CPU a request, votes ÷ without", ratios(ratios(cost["map", "votes"], asked), plain), MOST_VOTES),
        ("votes asked", "requests a row, votes of 5 that agree", asked, None),
        (
            "logprobs kept",
            "CPU a row kept in a file, with log-probabilities less what they cost the floor ÷ without",
            ratios(
                [all_ - more for all_, more in zip(cost["again", "logprobs"], longer, strict=False)],
                cost["again", "plain"],
            ),
            MOST_LOGPROBS,
        ),
        (
            "votes kept",
            "CPU a request kept in a file, votes ÷ without",
            ratios(ratios(cost["again", "votes"], kept_asked), cost["again", "plain"]),
            MOST_VOTES,
        ),
        (
            "logprobs again",
            "CPU a row found in the file, with log-probabilities ÷ without",
            ratios(again["logprobs"], again["plain"]),
            None,
        ),
        (
            "votes again",
            "CPU a sample found in the file, votes ÷ without",
            ratios(ratios(again["votes"], kept_asked), again["plain"]),
            None,
        ),
    ]
    return [
        Figure(
            name=f"confidence {name}",
            what=what,
            rounds=rounds,
            target=target,
            unit="" if name == "votes asked" else "×",
            note=note if not rounds else "",
        )
        for name, what, rounds, target in measured
    ]


def cpu(runs: list[Told], rows: int, which: str = "cpu") -> list[float]:
    """Milliseconds a row; empty when a run failed or lost rows."""
    if any("failed" in run or run["right"] != rows for run in runs):
        return []
    return [run[which] / rows * 1000 for run in runs]


def of_reading(reading: list[dict[str, dict[str, float]]]) -> list[Figure]:
    return [
        Figure(
            name=f"confidence reading {number}",
            what=f"CPU of a confidence ÷ parsing the reply, {number} labels",
            rounds=ratios([each[number]["read"] for each in reading], [each[number]["parse"] for each in reading]),
            target=1.0,
        )
        for number in reading[0]
    ]


def of_memory(fleet: Fleet, servers: dict[str, Server], runs: Jobs, effort: Effort) -> list[Figure]:
    """By the difference of two numbers of rows, for what is in flight is the same in both; once, as in `memory`."""
    few, many = effort.rows(ROWS), effort.rows(MANY_ROWS)
    figures: list[Figure] = []
    for way in OPTIONS:
        more = fleet.measure(Run(job_of("map", way, many), servers[way]))
        peaks = [run["memory_mb"] for run in ended(more) if run["right"] == many]
        before = [run["memory_mb"] for run in ended(runs["map", way])]
        rounds = [(peak - min(before)) / (many - few) * 1000 for peak in peaks if before]
        what = f"memory a distinct row, {way}"
        figures.append(Figure(name=f"confidence memory {way}", what=what, rounds=rounds, unit="kB", note=why_not(more)))
    return figures
