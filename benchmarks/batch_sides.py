"""The floor of a Batch API: what no client of it can do without."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from sides import FORM, Review, Side, chat, echoes

LINES = 50_000
"""Most lines of a batch."""


def lines() -> Side:
    """Lines of ready parts written, uploaded, a batch made of them, its results read, and pydantic; nothing is kept."""
    import aiohttp  # noqa: PLC0415 - as above
    from pydantic_core import from_json  # noqa: PLC0415

    body = {"model": "simulated", "messages": chat("\0"), "response_format": FORM}
    line = {"custom_id": "\1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    head, rest = json.dumps(line).split(json.dumps("\1"))
    middle, tail = rest.split(json.dumps("\0"))

    def write(path: Path, texts: list[str]) -> None:
        with path.open("w", encoding="utf-8") as file:
            for number, text in enumerate(texts):
                file.write(f'{head}"{number}"{middle}{json.dumps(text)}{tail}\n')

    async def answer(session: aiohttp.ClientSession, url: str, path: Path) -> None:
        """Put the results in the lines' place."""
        with path.open("rb") as file:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", file, filename="lines.jsonl")
            async with session.post(f"{url}/files", data=form) as reply:
                source = (await reply.json())["id"]
        order = {"input_file_id": source, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        async with session.post(f"{url}/batches", json=order) as reply:
            batch = await reply.json()
        while batch["output_file_id"] is None:
            async with session.get(f"{url}/batches/{batch['id']}") as reply:
                batch = await reply.json()
            if batch["errors"]:
                raise RuntimeError(batch["errors"])
        async with session.get(f"{url}/files/{batch['output_file_id']}/content") as reply:
            with path.open("wb") as file:
                async for piece in reply.content.iter_any():
                    file.write(piece)

    async def ask_all(texts: list[str], url: str) -> list[Review]:
        answers = dict.fromkeys(texts)
        asked = list(answers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines"
            async with aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session:
                for start in range(0, len(asked), LINES):
                    write(path, asked[start : start + LINES])
                    await answer(session, url, path)
                    with path.open("rb") as file:
                        for result in map(from_json, file):
                            content = result["response"]["body"]["choices"][0]["message"]["content"]
                            answers[asked[start + int(result["custom_id"])]] = Review.model_validate_json(content)
        return [answers[text] for text in texts]

    return Side(make=list, ask=lambda frame, url, _: asyncio.run(ask_all(frame, url)), read=echoes)


BATCHES: dict[str, Callable[[], Side]] = {"lines": lines}
