"""The libraries that are measured: each makes its frame, asks for it, and reads the marks of its answers.

Calling an entry of `SIDES` imports what that side needs and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from job import SYSTEM, Job
from pydantic import BaseModel

ATTEMPTS = 5


class Review(BaseModel):
    echo: str
    label: Literal["positive", "negative", "neutral"]
    score: float


SCHEMA = {
    "type": "object",
    "properties": {
        "echo": {"type": "string"},
        "label": {"type": "string", "enum": ["positive", "negative", "neutral"]},
        "score": {"type": "number"},
    },
    "required": ["echo", "label", "score"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "Review", "strict": True, "schema": SCHEMA}}
Answers = dict[str, Review | None]


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


@dataclass(frozen=True, kw_only=True)
class Side:
    make: Callable[[list[str]], Any]
    ask: Callable[[Any, str, Job], Any]
    read: Callable[[Any], list[str | None]]
    kinds: Callable[[Any], Counter[str]] = lambda _: Counter()


def echoes(rows: Sequence[Review | None]) -> list[str | None]:
    return [row.echo if row is not None else None for row in rows]


async def work_through(texts: list[str], in_flight: int, ask: Callable[[str], Awaitable[Review]]) -> list[Review]:
    """Equal texts once, `in_flight` workers on one iterator, no retry."""
    answers = dict.fromkeys(texts)
    todo = iter(list(answers))

    async def work() -> None:
        for text in todo:
            answers[text] = await ask(text)

    await asyncio.gather(*(work() for _ in range(in_flight)))
    return [answers[text] for text in texts]


def floor() -> Side:
    """aiohttp with a body of ready parts, and pydantic: what no client can do without."""
    import aiohttp  # noqa: PLC0415 - a measured process loads what it uses
    from pydantic_core import from_json  # noqa: PLC0415

    body = json.dumps({"model": "simulated", "messages": chat("\0"), "response_format": FORM})
    head, tail = body.split(json.dumps("\0"))

    async def ask_all(texts: list[str], url: str, in_flight: int) -> list[Review]:
        headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        session = aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=in_flight))

        async def ask(text: str) -> Review:
            data = f"{head}{json.dumps(text)}{tail}".encode()
            async with session.post(f"{url}/chat/completions", data=data) as reply:
                envelope = from_json(await reply.read())
            return Review.model_validate_json(envelope["choices"][0]["message"]["content"])

        async with session:
            return await work_through(texts, in_flight, ask)

    return Side(make=list, ask=lambda frame, url, job: asyncio.run(ask_all(frame, url, job.in_flight)), read=echoes)


def sdk_floor() -> Side:
    """The openai SDK's leanest call: `post` with a ready body over its aiohttp transport, raw bytes, and pydantic."""
    import httpx2  # noqa: PLC0415 - as above
    import openai  # noqa: PLC0415
    from pydantic_core import from_json  # noqa: PLC0415

    async def ask_all(texts: list[str], url: str, in_flight: int) -> list[Review]:
        transport = openai.DefaultAioHttpClient()
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=transport) as client:

            async def ask(text: str) -> Review:
                body = {"model": "simulated", "messages": chat(text), "response_format": FORM}
                reply = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
                return Review.model_validate_json(from_json(reply.content)["choices"][0]["message"]["content"])

            return await work_through(texts, in_flight, ask)

    return Side(make=list, ask=lambda frame, url, job: asyncio.run(ask_all(frame, url, job.in_flight)), read=echoes)


def naive() -> Side:
    """What everyone writes: a task a row, a semaphore, tenacity, and the SDK's `parse`."""
    import openai  # noqa: PLC0415 - as above
    import pandas as pd  # noqa: PLC0415
    from tenacity import retry, stop_after_attempt, wait_random_exponential  # noqa: PLC0415

    async def ask_all(frame: pd.DataFrame, url: str, in_flight: int) -> list[Review | None]:
        places = asyncio.Semaphore(in_flight)
        async with openai.AsyncOpenAI(base_url=url, api_key="k") as client:

            @retry(stop=stop_after_attempt(ATTEMPTS), wait=wait_random_exponential(min=1, max=20))
            async def ask(text: str) -> Review | None:
                async with places:
                    messages: Any = chat(text)
                    reply = await client.chat.completions.parse(
                        model="simulated", messages=messages, response_format=Review
                    )
                return reply.choices[0].message.parsed

            replies = await asyncio.gather(*(ask(text) for text in frame["text"]), return_exceptions=True)
        return [reply if isinstance(reply, Review) else None for reply in replies]

    return Side(
        make=lambda texts: pd.DataFrame({"text": texts}),
        ask=lambda frame, url, job: asyncio.run(ask_all(frame, url, job.in_flight)),
        read=echoes,
    )


def flexllm() -> Side:
    """The fastest other library that was found."""
    from flexllm import LLMClient  # noqa: PLC0415 - as above

    form = {"type": "json_schema", "json_schema": {"name": "Review", "schema": SCHEMA}}

    async def ask_all(texts: list[str], url: str, in_flight: int) -> list[Review | None]:
        async with LLMClient(model="simulated", base_url=url, api_key="k", concurrency_limit=in_flight) as client:
            replies = await client.chat_batch([chat(text) for text in texts], show_progress=False, response_format=form)
        return [Review.model_validate_json(reply.content) if reply.ok else None for reply in replies]

    return Side(make=list, ask=lambda frame, url, job: asyncio.run(ask_all(frame, url, job.in_flight)), read=echoes)


def llmframe(library: str, *, through_sdk: bool = False, stored: bool = False) -> Side:
    """Frame in, frame out.

    With `through_sdk` the client has connections of the caller's own, which have to be used; with `stored` answers are
    looked up, claimed and kept in a file that is new in every call.
    """
    import llmframe as package  # noqa: PLC0415 - as above

    if library == "pandas":
        import pandas as frames  # noqa: PLC0415
    else:
        import polars as frames  # noqa: PLC0415

    def ask(frame: Any, url: str, job: Job) -> Any:
        where: dict[str, Any] = {"base_url": url, "api_key": "k"}
        if through_sdk:
            where = {"client": own_client(**where)}
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "answers.sqlite" if stored else False
            options = {"max_concurrency": job.in_flight, "cache": cache, "mode": job.mode, **job.options}
            return package.map(
                frame, "{text}", schema=Review, model="simulated", system=SYSTEM, progress=False, **where, **options
            )

    def kinds(out: Any) -> Counter[str]:
        return Counter(str(error).partition(":")[0] for error in out["error"].to_list() if isinstance(error, str))

    def read(out: Any) -> list[str | None]:
        return [cell if isinstance(cell, str) else None for cell in out["echo"].to_list()]

    return Side(make=lambda texts: frames.DataFrame({"text": texts}), ask=ask, read=read, kinds=kinds)


def file_run() -> Side:
    """A parquet file in, another one out, with answers kept in a file: what a backfill does."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    import llmframe as package  # noqa: PLC0415 - as above

    folder = tempfile.TemporaryDirectory()

    def make(texts: list[str]) -> Path:
        source = Path(folder.name) / f"{len(texts)}.parquet"
        field = pa.schema([("text", pa.string())])
        with pq.ParquetWriter(source, field) as writer:
            for start in range(0, len(texts), 50_000):
                writer.write_table(pa.table({"text": texts[start : start + 50_000]}, field))
        pa.default_memory_pool().release_unused()  # what it keeps would count as there before the run
        return source

    def ask(source: Path, url: str, job: Job) -> Path:
        target = source.with_suffix(".scored.parquet")
        cache = source.with_suffix(".sqlite")
        options = {"max_concurrency": job.in_flight, "cache": cache, "mode": job.mode, **job.options}
        where = {"base_url": url, "api_key": "k", "model": "simulated"}
        package.map_file(
            source, target, "{text}", schema=Review, system=SYSTEM, progress=False, exists="replace", **where, **options
        )
        return target

    def column(target: Path, name: str) -> list[Any]:
        return pq.read_table(target, columns=[name]).column(name).to_pylist()

    def kinds(target: Path) -> Counter[str]:
        return Counter(error.partition(":")[0] for error in column(target, "error") if error is not None)

    return Side(make=make, ask=ask, read=lambda target: column(target, "echo"), kinds=kinds)


def own_client(**where: Any) -> Any:
    import openai  # noqa: PLC0415 - as above

    class Own(openai.DefaultAioHttpClient):
        """The SDK floor's transport under another name: no class of the SDK's, so nobody may go around it."""

    return openai.AsyncOpenAI(**where, http_client=Own())


SIDES: dict[str, Callable[[], Side]] = {
    "floor": floor,
    "sdk floor": sdk_floor,
    "naive": naive,
    "flexllm": flexllm,
    "pandas": partial(llmframe, "pandas"),
    "polars": partial(llmframe, "polars"),
    "stored": partial(llmframe, "polars", stored=True),
    "stored pandas": partial(llmframe, "pandas", stored=True),
    "file": file_run,
    "post": partial(llmframe, "polars", through_sdk=True),
}
