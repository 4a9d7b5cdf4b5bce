"""The picture of a run: CPU a row by library, requests over time under a limit, and the server that slows down.

python benchmarks/picture.py benchmarks/results/full.json docs/benchmarks.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

OURS, OTHERS, REFUSED, IDEAL = "#2166ac", "#9a9a9a", "#c0392b", "#444444"
COLOURS = {"limits told": "#2166ac", "limits headers": "#1b9e77", "limits 429s": "#d95f02"}
WORDS = {"limits told": "limit told", "limits headers": "learnt from headers", "limits 429s": "learnt from bare 429s"}
LIBRARIES = {
    "floor": "aiohttp + pydantic (floor)",
    "polars": "llmframe, polars",
    "pandas": "llmframe, pandas",
    "post": "llmframe through the SDK",
    "sdk floor": "openai SDK's post (floor)",
    "flexllm": "flexllm",
    "naive": "semaphore + tenacity + parse",
}
LIMIT = 10.0  # requests a second of the curves under a limit


def cpu(axes: Any, cost: dict[str, float]) -> None:
    names = [name for name in LIBRARIES if name in cost][::-1]
    bars = axes.barh(
        [LIBRARIES[name] for name in names],
        [cost[name] for name in names],
        color=[OURS if name in {"polars", "pandas", "post"} else OTHERS for name in names],
    )
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.set_xlim(0, max(cost.values()) * 1.15)
    axes.set_xlabel("CPU a row, ms")
    axes.set_title("5,000 rows, no latency")


def limits(axes: Any, runs: dict[str, list[list[float]]]) -> None:
    end = 0.0
    for name, samples in runs.items():
        times = [at for at, *_ in samples]
        axes.plot(times, [done for _, done, *_ in samples], color=COLOURS[name], label=WORDS[name])
        axes.plot(times, [refused for _, _, refused, _ in samples], color=COLOURS[name], linestyle=":")
        end = max(end, *times, 1.0)
    most = max((samples[-1][1] for samples in runs.values() if samples), default=0)
    axes.plot([0, most / LIMIT], [0, most], color=IDEAL, linewidth=0.8, linestyle="--", label="the limit")
    axes.plot([], [], color=IDEAL, linestyle=":", label="429s")
    axes.set_xlim(0, end)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("requests answered")
    axes.set_title("600 requests a minute, 64 wanted")
    axes.legend(frameon=False, fontsize=8)


def slowing(axes: Any, found: dict[str, list[list[float]]]) -> None:
    fixed = sorted(found["fixed"], key=lambda point: point[2])
    flights = [in_flight for *_, in_flight in fixed]
    axes.plot(flights, [rate for rate, *_ in fixed], color=OTHERS, marker="o", markersize=4)
    axes.set_ylim(bottom=0)
    axes.set_xscale("log", base=2)
    ticks = [4, 8, 16, 32, 64, 128, 256]
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.set_xlabel("in flight on average")
    axes.set_ylabel("requests a second (circles)")
    later = axes.twinx()
    later.plot(flights, [middle * 1000 for _, middle, _ in fixed], color=OTHERS, marker="s", markersize=4, alpha=0.5)
    later.set_ylim(bottom=0)
    later.set_ylabel("median latency, ms (squares)")
    for at, (rate, middle, in_flight) in enumerate(found["llmframe"]):
        axes.plot(in_flight, rate, color=OURS, marker="o", linestyle="", label="" if at else "llmframe, 256 allowed")
        later.plot(in_flight, middle * 1000, color=OURS, marker="s", linestyle="", alpha=0.5)
    axes.plot([], [], color=OTHERS, marker="o", label="fixed number in flight")
    axes.set_title("A server that slows down past 40 in flight")
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    curves: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))["curves"]
    drawers = {"cpu_ms_row": cpu, "limits": limits, "slowing": slowing}
    there = [name for name in drawers if curves.get(name)]
    figure, axes = plt.subplots(
        1, max(1, len(there)), figsize=(5.2 * max(1, len(there)), 4), layout="constrained", squeeze=False
    )
    if not there:
        axes[0][0].set_axis_off()
    for name, place in zip(there, axes[0], strict=False):
        place.spines[["top", "right"]].set_visible(False)
        drawers[name](place, curves[name])
    figure.savefig(target, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
