"""What llmframe costs beside the transport's floor: CPU a row, memory a row, and the import.

    python benchmarks/overhead.py --rows 4000 --rounds 5

Both sides ask the same simulated provider (a process of its own, no latency) in turn, in fresh processes; the figures
to quote are the ratios of one sitting. The floor is aiohttp with ready bodies and pydantic, without retries, limits,
deduplication or a store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from typing import Any, Literal

from pydantic import BaseModel

TAIL = " The delivery was late, but the product works as described and support answered quickly."
SYSTEM = "Classify the sentiment of the review."


class Sentiment(BaseModel):
    label: Literal["positive", "negative", "neutral"]
    confidence: float


SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["positive", "negative", "neutral"]}, "confidence": {"type": "number"}},
    "required": ["label", "confidence"],
    "additionalProperties": False,
}


def texts(rows: int) -> list[str]:
    return [f"row-{number:06d}{TAIL}" for number in range(rows)]


def floor(url: str, rows: int, in_flight: int) -> None:
    import aiohttp  # noqa: PLC0415 - measured processes load only what they use

    form = {"type": "json_schema", "json_schema": {"name": "Sentiment", "strict": True, "schema": SCHEMA}}
    system = {"role": "system", "content": SYSTEM}

    async def ask_all() -> None:
        answers: dict[str, Sentiment] = {}
        todo = iter(texts(rows))
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session:

            async def work() -> None:
                for text in todo:
                    messages = [system, {"role": "user", "content": text}]
                    body = {"model": "simulated", "messages": messages, "response_format": form}
                    async with session.post(f"{url}/chat/completions", json=body) as reply:
                        choice = json.loads(await reply.read())["choices"][0]
                    answers[text] = Sentiment.model_validate_json(choice["message"]["content"])

            await asyncio.gather(*(work() for _ in range(in_flight)))

    asyncio.run(ask_all())


def frame(library: str, url: str, rows: int, in_flight: int) -> None:
    import llmframe  # noqa: PLC0415 - measured processes load only what they use

    if library == "pandas":
        import pandas as pd  # noqa: PLC0415 # isort: skip

        data: Any = pd.DataFrame({"text": texts(rows)})
    else:
        import polars as pl  # noqa: PLC0415 # isort: skip

        data = pl.DataFrame({"text": texts(rows)})
    options: dict[str, Any] = {"model": "simulated", "base_url": url, "api_key": "k", "system": SYSTEM}
    data[:1].llm.map("warm {text}", schema=Sentiment, progress=False, **options)  # SDKs load here
    begin()
    out = data.llm.map("{text}", schema=Sentiment, progress=False, max_concurrency=in_flight, cache=False, **options)
    if llmframe.last_run().answered != rows or len(out) != rows:
        sys.exit("rows are missing")


_start = (0.0, 0.0, 0.0)


def begin() -> None:
    global _start  # noqa: PLW0603 - one measurement a process
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _start = (time.perf_counter(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measured(side: str, url: str, rows: int, in_flight: int) -> None:
    """In a process of its own: run one side and print its figures."""
    begin()
    if side == "floor":
        import aiohttp  # noqa: F401, PLC0415 - not part of the figure

        begin()
        floor(url, rows, in_flight)
    else:
        frame(side, url, rows, in_flight)
    wall, cpu, memory = _start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "wall_s": time.perf_counter() - wall,
                "cpu_ms_row": (usage.ru_utime + usage.ru_stime - cpu) / rows * 1000,
                "kb_row": (usage.ru_maxrss / 1024 - memory) / rows * 1024,
            }
        )
    )


def provider(pipe: Any) -> None:
    from llmframe.testing import Provider  # noqa: PLC0415 - only the provider's process serves

    with Provider(record=False) as simulated:
        pipe.send(simulated.base_url)
        pipe.recv()


def import_seconds(module: str, rounds: int) -> float:
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--side", choices=["floor", "pandas", "polars"], help="one side, in this process")
    parser.add_argument("--url", default="")
    said = parser.parse_args()
    if said.side:
        measured(said.side, said.url, said.rows, said.in_flight)
        return
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=provider, args=(there,), daemon=True)
    server.start()
    url = here.recv()
    figures: dict[str, list[dict[str, float]]] = {"floor": [], "pandas": [], "polars": []}
    for _ in range(said.rounds):
        for side, runs in figures.items():
            command = [sys.executable, __file__, "--side", side, "--url", url]
            command += ["--rows", str(said.rows), "--in-flight", str(said.in_flight)]
            runs.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1]))
    here.send("done")
    print(f"{said.rows} rows, {said.in_flight} in flight, medians of {said.rounds}")
    for side, runs in figures.items():
        middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        ratio = statistics.median(
            run["cpu_ms_row"] / base["cpu_ms_row"] for run, base in zip(runs, figures["floor"], strict=True)
        )
        print(
            f"  {side:7} {middle['cpu_ms_row']:.3f} ms CPU a row ({ratio:.2f} × the floor), "
            f"{said.rows / middle['wall_s']:,.0f} rows/s, {middle['kb_row']:.2f} kB a row"
        )
    pandas, ours = import_seconds("pandas", said.rounds), import_seconds("llmframe", said.rounds)
    print(f"  import  llmframe {ours:.2f} s CPU, pandas {pandas:.2f} s")


if __name__ == "__main__":
    main()
