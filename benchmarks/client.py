"""One measured process: it loads a library, asks once for practice, waits for the word, and prints its figures.

python benchmarks/client.py '{"side": "polars", "url": "...", "warm_url": "...", "rows": 1000}'
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from batch_sides import BATCHES
from embed_sides import EMBEDDERS
from job import Job, texts
from sides import SIDES, Side

PRACTICE_ROWS = 8
IDLE_FROM = 6.0  # s after the start: by then all that could be answered was
IDLE_SECONDS = 8.0

Told = dict[str, Any]


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def forget_peak() -> None:
    with contextlib.suppress(OSError):  # Linux alone; elsewhere the peak since the process began is what there is
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb() -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(work: Callable[[], Any]) -> tuple[Any, Told]:
    gc.collect()
    forget_peak()
    memory, start, begun = peak_mb(), time.monotonic(), cpu()
    out = work()
    return out, {
        "cpu": cpu() - begun,
        "wall": time.monotonic() - start,
        "start": start,
        "memory_mb": peak_mb() - memory,
    }


def judged(side: Side, out: Any, asked: list[str]) -> Told:
    marks = side.read(out)
    right = sum(text.startswith(mark) for text, mark in zip(asked, marks, strict=True) if mark)
    missing = sum(mark is None for mark in marks)
    return {"right": right, "missing": missing, "wrong": len(asked) - right - missing, "kinds": dict(side.kinds(out))}


def ask_once(side: Side, job: Job) -> Callable[[], Told]:
    asked = texts(job)
    frame = side.make(asked)
    if job.distinct:
        del asked[job.distinct :]  # a million references fewer beside the frame

    def run() -> Told:
        out, told = timed(lambda: side.ask(frame, job.url, job))
        whole = [asked[row % len(asked)] for row in range(job.rows)]
        return told | judged(side, out, whole)

    return run


def ask_and_ask_again(side: Side, job: Job) -> Callable[[], Told]:
    """Answers are kept in a file that is new, and then all of them are there: the second time is `again`."""
    kept = replace(job, options={"cache": str(Path.cwd() / "answers.sqlite"), **job.options})
    first, second = ask_once(side, kept), ask_once(side, kept)

    def run() -> Told:
        told, again = first(), second()
        return told | {"right": min(told["right"], again["right"]), "again": again["cpu"]}

    return run


def ask_twice_at_once(side: Side, job: Job) -> Callable[[], Told]:
    """Two threads with the same frame: what is in flight for the one isn't asked by the other."""
    asked = texts(job)
    frame = side.make(asked)
    outs: list[Any] = []

    def run() -> Told:
        threads = [threading.Thread(target=lambda: outs.append(side.ask(frame, job.url, job))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first, second = (judged(side, out, asked) for out in outs)
        return {"right": min(first["right"], second["right"])}

    return run


def ask_few_then_many(side: Side, job: Job) -> Callable[[], Told]:
    """The distinct texts in as many rows before and after all rows: the difference is everything but the calls."""
    many = ask_once(side, job)
    few = ask_once(side, replace(job, rows=job.distinct))

    def run() -> Told:
        before, all_rows, after = few(), many(), few()
        extra = all_rows["cpu"] - (before["cpu"] + after["cpu"]) / 2
        return all_rows | {"cpu_s_million": extra / (job.rows - job.distinct) * 1e6}

    return run


def ask_and_sit(side: Side, job: Job) -> Callable[[], Told]:
    """CPU a second while everything waits for the server."""
    ask = ask_once(side, job)
    idle: list[float] = []

    def watch() -> None:
        time.sleep(IDLE_FROM)
        begun = cpu()
        time.sleep(IDLE_SECONDS)
        idle.append((cpu() - begun) / IDLE_SECONDS)

    def run() -> Told:
        watcher = threading.Thread(target=watch)
        watcher.start()
        told = ask()
        watcher.join()
        return told | {"idle_cores": idle[0]}

    return run


TASKS: dict[str, Callable[[Side, Job], Callable[[], Told]]] = {
    "map": ask_once,
    "again": ask_and_ask_again,
    "twice at once": ask_twice_at_once,
    "few then many": ask_few_then_many,
    "sit": ask_and_sit,
}


def main() -> None:
    job = Job.read(sys.argv[1])
    warnings.simplefilter("ignore")  # rows that fail are counted here
    os.chdir(tempfile.mkdtemp())  # a peer that keeps files keeps them there
    side = (SIDES | EMBEDDERS | BATCHES)[job.side]()
    practice = Job(side=job.side, rows=PRACTICE_ROWS, in_flight=job.in_flight, mode=job.mode)
    side.ask(side.make(texts(practice)), job.warm_url, practice)
    run = TASKS[job.task](side, job)
    print("ready", flush=True)
    sys.stdin.readline()
    told = run()
    print(json.dumps(told), flush=True)
    os._exit(0)  # a library's own farewell isn't measured


if __name__ == "__main__":
    main()
