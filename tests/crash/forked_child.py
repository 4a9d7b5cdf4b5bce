"""Has imported everything, and forks a process for every job: what a fresh process does, without its start.

For each line of stdin, a JSON object, it forks a process and tells its pid; the next line lets that one begin;
then it tells how that one ended. A job's output is a parquet file.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

import aiohttp  # noqa: F401 - imported here, once for all children
import genai_prices.data  # noqa: F401 - as above
import instructor
import openai.resources.chat  # noqa: F401 - as above
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.pandas_compat
import pyarrow.parquet as pq
from instructor.processing import response  # noqa: F401 - as above
from pydantic import Field, create_model

import llmframe
from llmframe.api import verbs  # noqa: F401 - as above
from llmframe.cli.main import run
from llmframe.clients import openai as client  # noqa: F401 - as above
from llmframe.engine import rounds
from llmframe.stores import connections
from tests.crash import batch_steps

INTERRUPTED = 130

PATIENCE = 60.0
"""Seconds that a child waits for another one's lock on the store, and that replies may take before they seem slow."""

FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "records": lambda columns: pa.table(columns).to_pylist(),
}


def work(job: dict[str, Any]) -> None:
    """Map the job's texts and write the frame, or map its file."""
    instructor.__version__ = job.get("instructor", instructor.__version__)
    if "batch" in job:
        batch_steps.make_small(**job["batch"])
    if "dies_at" in job:
        batch_steps.die_at(job["dies_at"])
    if job["kind"] == "command":
        command(job)
        return
    options = {"schema": schema_of(**job.get("schema", {})), "model": "m", "api_key": "k", "progress": False}
    options |= job["options"]
    template = job.get("template", "Judge {text}")
    if job["kind"] == "file":
        llmframe.map_file(job["source"], job["target"], template, **options)
        return
    frame = FRAMES[job["kind"]](padded(job["columns"], job.get("chars", 0)))
    if "peak" not in job:
        write(llmframe.map(frame, template, **options), job["target"])
        return
    batch_steps.forget_peak()
    before = batch_steps.peak_mb()
    out = llmframe.map(frame, template, **options)
    Path(job["peak"]).write_text(f"{batch_steps.peak_mb() - before}")
    write(out, job["target"])


def padded(columns: dict[str, list[Any]], chars: int) -> dict[str, list[Any]]:
    """The texts, each so long at least."""
    return columns | {"text": [text if text is None else text.ljust(chars, "-") for text in columns["text"]]}


def command(job: dict[str, Any]) -> NoReturn:
    """`llmframe` with the job's arguments and environment; what it says goes into a file."""
    os.environ.update(job["environment"])
    with Path(job["says"]).open("w") as says:
        os.dup2(says.fileno(), 2)
    sys.argv = ["llmframe", *job["arguments"]]
    run()
    raise AssertionError


def schema_of(
    labels: tuple[str, ...] = ("good", "bad", "mixed"), describes: str = "How it sounds", title: str = "Verdict"
) -> Any:
    config: Any = {"title": title}
    return create_model(
        "Verdict",
        __config__=config,
        label=(Literal[tuple(labels)], Field(description=describes)),
        echo=(str, Field(description="Which row it is")),
    )


def write(frame: Any, path: str) -> None:
    """The same bytes for the same frame, by the library's own writer."""
    if isinstance(frame, pd.DataFrame):
        frame.attrs.clear()  # pandas writes them too, and what this run took stands in them
        frame.to_parquet(path)
    elif isinstance(frame, pl.DataFrame):
        frame.write_parquet(path)
    else:
        pq.write_table(frame if isinstance(frame, pa.Table) else pa.Table.from_pylist(frame), path)


def begin(job: dict[str, Any], gate: int) -> NoReturn:
    """What a forked process does once `gate` is closed at its other end."""
    status = 1
    try:
        os.read(gate, 1)
        work(job)
        status = 0
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:  # noqa: BLE001 - whatever it is, the parent's frames must not go on in this process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def be_patient() -> None:
    """Let no slow machine decide what is paid twice, for want of a claim, or how many requests are in flight."""
    waits = partial(connections.Waits, opening=PATIENCE, read=PATIENCE, claim=PATIENCE)
    vars(connections).update(Waits=waits)
    vars(rounds).update(OWN_SECONDS=PATIENCE)


def main() -> None:
    be_patient()
    for line in sys.stdin:
        gate, opener = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(opener)
            begin(json.loads(line), gate)
        os.close(gate)
        tell(pid)
        sys.stdin.readline()
        os.close(opener)
        tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def tell(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 - how it tells


if __name__ == "__main__":
    main()
