"""The sides that embed: each makes its frame, asks for vectors, and reads the marks that they carry."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from job import Job, token_of
from sides import Side

INPUTS = 2048  # texts of a request


def marks_of(matrix: Any) -> list[str | None]:
    """The marks of vectors, by their first numbers."""
    return [token_of(int(number)) for number in matrix[:, 0].tolist()]


def floor() -> Side:
    """What no client can do without: distinct texts in full requests, base64 into a matrix, its rows taken."""
    import aiohttp  # noqa: PLC0415 - a side loads what it needs
    import numpy as np  # noqa: PLC0415
    from pydantic_core import from_json  # noqa: PLC0415

    async def ask_all(texts: list[str], url: str, job: Job) -> Any:
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        asked, width = list(places), int(job.options.get("dimensions", 128))
        matrix = np.empty((len(asked), width), "<f4")
        turns = asyncio.Semaphore(16)

        async def ask(session: Any, start: int) -> None:
            body = {"model": "simulated", "input": asked[start : start + INPUTS], "dimensions": width}
            async with turns:
                async with session.post(f"{url}/embeddings", data=json.dumps(body)) as reply:
                    answer = from_json(await reply.read())
                for entry in answer["data"]:
                    vector = np.frombuffer(base64.b64decode(entry["embedding"]), "<f4")
                    matrix[start + entry["index"]] = vector

        async with aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session, asyncio.TaskGroup() as all_:
            for start in range(0, len(asked), INPUTS):
                all_.create_task(ask(session, start))
        return matrix[[places[text] for text in texts]]

    return Side(make=list, ask=lambda texts, url, job: asyncio.run(ask_all(texts, url, job)), read=marks_of)


def frame(library: str) -> Side:
    """A frame in, the frame with its vectors out; they are kept in a file that is new in every call."""
    import numpy as np  # noqa: PLC0415

    import llmframe as package  # noqa: PLC0415 - as above

    if library == "pandas":
        import pandas as frames  # noqa: PLC0415
    else:
        import polars as frames  # noqa: PLC0415

    def ask(frame: Any, url: str, job: Job) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "vectors.sqlite"
            where = {"base_url": url, "api_key": "k", "model": "simulated"}
            return package.embed(frame, "text", progress=False, cache=cache, **where, **job.options)

    def matrix(out: Any) -> Any:
        column = out["embedding"]
        return column.to_numpy() if library == "polars" else np.stack(column)

    return Side(
        make=lambda texts: frames.DataFrame({"text": texts}),
        ask=ask,
        read=lambda out: marks_of(matrix(out)),
        kinds=kinds,
    )


def kinds(out: Any) -> Counter[str]:
    return Counter(str(error).partition(":")[0] for error in out["error"].to_list() if isinstance(error, str))


def file_run() -> Side:
    """A parquet file in, another one out."""
    import pyarrow.parquet as pq  # noqa: PLC0415
    from sides import file_run as of_map  # noqa: PLC0415

    import llmframe as package  # noqa: PLC0415 - as above

    def ask(source: Path, url: str, job: Job) -> Path:
        target, cache = source.with_suffix(".vectors.parquet"), source.with_suffix(".sqlite")
        where = {"base_url": url, "api_key": "k", "model": "simulated"}
        options = {"exists": "replace", "progress": False, "cache": cache, **job.options}
        package.embed_file(source, target, "text", **where, **options)
        return target

    def read(target: Path) -> list[str | None]:
        marks: list[str | None] = []
        for batch in pq.ParquetFile(target).iter_batches(columns=["embedding"]):
            column = batch.column("embedding")
            marks += marks_of(column.flatten().to_numpy().reshape(len(column), -1))
        return marks

    return Side(make=of_map().make, ask=ask, read=read)


EMBEDDERS: dict[str, Callable[[], Side]] = {
    "embed floor": floor,
    "embed polars": partial(frame, "polars"),
    "embed pandas": partial(frame, "pandas"),
    "embed file": file_run,
}
