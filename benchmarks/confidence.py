"""Label shipped reviews with the embedded model and see what each kind of confidence is worth.

    python benchmarks/confidence.py                         # 300 rows, every source: 10 to 20 minutes on two cores
    python benchmarks/confidence.py --rows 60 --only score  # fewer, or one of them

The reviews were labelled by 15 to 29 people each. Printed are, for each source: how many rows are right, and of the
more confident half; how well confidence tells right from wrong (AUROC, 0.5 is not at all); ten bins of equal size with
what was claimed and what was right; and what it cost. The sentences are public, so it's no benchmark of the model.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pandas as pd

import llmframe
from llmframe.datasets import few_shot, reviews
from llmframe.stats.proportions import wilson_interval
from llmframe.stats.reliability import brier, calibration_error, log_loss

MODEL = "local/smollm2-135m"
SYSTEM = "Classify the sentiment of each review as positive or negative."
LABELS = ["positive", "negative"]
STATED = {"positive": (0.95, 0.7, 0.9), "negative": (0.9, 0.95, 0.8)}
"""What the examples claim to be sure: more than one number, or the model would only ever repeat it."""

Row = tuple[float | None, bool]
"""A row's confidence, and whether its label is right."""


def asked(source: str, *, shown: bool) -> dict[str, Any]:
    """The arguments of `map` that make a source."""
    options: dict[str, Any] = {"params": {"temperature": 0, "max_tokens": 48}}
    answers = [label for _, label in few_shot()]
    if source == "score":
        options = {"confidence": "logprobs", "output_mode": "score"}
    elif source == "logprobs":
        options["confidence"] = "logprobs"
    elif source == "votes":  # without a seed: with one all rows would be drawn by the same numbers
        options = {"confidence": "votes", "samples": 5, "params": {"temperature": 1.0, "max_tokens": 48}}
    else:
        options["confidence"] = "stated"
        claims = {label: iter(STATED[label]) for label in LABELS}
        answers = [{"response": label, "confidence": next(claims[label])} for label in answers]
    if shown:
        options["examples"] = [(row, answer) for (row, _), answer in zip(few_shot(), answers, strict=True)]
    return options


def measured(frame: pd.DataFrame, source: str, *, shown: bool) -> dict[str, Any]:
    """Ask, and see what came of it."""
    warm = frame.head(1)
    options = {"schema": LABELS, "system": SYSTEM, "model": MODEL, "max_concurrency": 4, "cache": False}
    options |= {"progress": False, **asked(source, shown=shown)}
    llmframe.map(warm, "Review: {text}", **options)  # the server is up, the examples are in its cache
    began, cpu = time.monotonic(), cpu_of_children()
    out = llmframe.map(frame[["text"]], "Review: {text}", **options)
    took, cpu = time.monotonic() - began, cpu_of_children() - cpu
    run = llmframe.last_run()
    rows: list[Row] = [
        (None if pd.isna(confidence) else float(confidence), label == gold)
        for confidence, label, gold in zip(out["confidence"], out["response"], frame["label"], strict=True)
    ]
    return {
        "source": source,
        "examples": len(few_shot()) if shown else 0,
        "requests": run.requests,
        "cpu_ms": cpu / len(rows) * 1000,
        "wall_ms": took / len(rows) * 1000,
        "unanswered": int(out["error"].notna().sum()),
        "rows": rows,
    }


def cpu_of_children() -> float:
    """Seconds of CPU of the embedded server; nan where the system doesn't tell."""
    total, tick, own = 0.0, 0.0, str(os.getpid())
    try:
        tick = float(os.sysconf("SC_CLK_TCK"))
        for stat in Path("/proc").glob("[0-9]*/stat"):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[1] == own:
                total += (int(fields[11]) + int(fields[12])) / tick
    except (OSError, ValueError):
        return float("nan")
    return total if tick else float("nan")


def accuracy_at(rows: list[Row], coverage: float) -> float:
    """The share of right ones among the most confident; of equally confident ones those that fit in have the mean."""
    left = wanted = len(rows) * coverage
    hits = 0.0
    for _, tied in groupby(sorted(rows, key=_rank), key=_rank):
        same = [right for _, right in tied]
        part = min(left, len(same))
        hits += part * sum(same) / len(same)
        left -= part
    return hits / wanted


def auroc(rows: list[Row]) -> float:
    """How often a right row is more confident than a wrong one, equal ones half a time; rows without one rank last."""
    wins, below, right, wrong = 0.0, 0, 0, 0
    for _, tied in groupby(sorted(rows, key=_rank, reverse=True), key=_rank):
        same = [right_ for _, right_ in tied]
        hits = sum(same)
        misses = len(same) - hits
        wins += hits * (below + misses / 2)
        below, right, wrong = below + misses, right + hits, wrong + misses
    return wins / (right * wrong) if right and wrong else float("nan")


def bins(rows: list[Row], number: int = 10) -> list[dict[str, float]]:
    """Bins of equal size from the least confident on, or of equal confidences where those are few; with intervals."""
    told = sorted(((confidence, right) for confidence, right in rows if confidence is not None), key=_confidence)
    parts = [list(same) for _, same in groupby(told, key=_confidence)]
    if len(parts) > number:
        edges = [len(told) * place // number for place in range(number + 1)]
        parts = [told[low:high] for low, high in pairwise(edges) if low < high]
    found: list[dict[str, float]] = []
    for part in parts:
        hits = sum(right for _, right in part)
        interval = wilson_interval(hits, len(part))
        claimed = sum(confidence for confidence, _ in part) / len(part)
        told_of = {"n": len(part), "claimed": claimed, "right": hits / len(part)}
        found.append({**told_of, "low": interval.low, "high": interval.high})
    return found


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a source."""
    rows: list[Row] = result["rows"]
    told = [(confidence, right) for confidence, right in rows if confidence is not None]
    claimed, right = [each for each, _ in told], [each for _, each in told]
    return {
        **result,
        "n": len(rows),
        "without": len(rows) - len(told),
        "values": len(set(claimed)),
        "accuracy": accuracy_at(rows, 1),
        "auroc": auroc(rows),
        "at": {f"{share}%": accuracy_at(rows, share / 100) for share in range(10, 101, 10)},
        "ece": calibration_error(claimed, right),
        "brier": brier(claimed, right),
        "log_loss": log_loss(claimed, right),
        "claimed": sum(claimed) / len(claimed) if claimed else float("nan"),
        "bins": bins(rows),
    }


def printed(results: list[dict[str, Any]]) -> None:
    """Tables in Markdown."""
    head = "source, examples, rows right, of the surer half, AUROC, ECE, without one, different values, requests a row"
    names = [*head.split(", "), "CPU ms a row", "wall ms a row"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for each in results:
        print(
            f"| {each['source']} | {each['examples']} | {each['accuracy']:.3f} | {each['at']['50%']:.3f} | "
            f"{each['auroc']:.3f} | {each['ece']:.3f} | {each['without']} | {each['values']} | "
            f"{each['requests'] / each['n']:.2f} | {each['cpu_ms']:.0f} | {each['wall_ms']:.0f} |"
        )
    print("\n| right among the surest | " + " | ".join(results[0]["at"]) + " |")
    print("|---|" + "---|" * len(results[0]["at"]))
    for each in results:
        print(f"| {each['source']}, {each['examples']} | " + " | ".join(f"{v:.3f}" for v in each["at"].values()) + " |")
    for each in results:
        print(f"\n{each['source']}, {each['examples']} examples: claimed, right (95 % interval), rows")
        for part in each["bins"]:
            print(
                f"  {part['claimed']:.3f}   {part['right']:.3f} ({part['low']:.2f} to {part['high']:.2f})   {part['n']}"
            )


def _confidence(row: tuple[float, bool]) -> float:
    return row[0]


def _rank(row: Row) -> float:
    return -1 if row[0] is None else -row[0] - 2


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300, help="half of them positive; 300")
    parser.add_argument("--only", default="logprobs,score,votes,stated", help="sources, by comma; all four")
    parser.add_argument("--bare", action="store_true", help="without examples")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    said = parser.parse_args()
    frame = pd.DataFrame(reviews(said.rows))
    results: list[dict[str, Any]] = []
    for source in said.only.split(","):
        print(f"{source} ...", file=sys.stderr, flush=True)
        results.append(summary(measured(frame, source, shown=not said.bare)))
        if said.out:
            said.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    printed(results)


if __name__ == "__main__":
    main()
