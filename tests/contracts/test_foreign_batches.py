"""The Batch API's promises against a server by other people, llmock."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import llmock.routers.batch as llmocks
import pytest

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.batch import Batches, BatchState, LineResult, Vectors
from llmframe.clients.embeddings import open_embeddings
from llmframe.clients.opening_batch import open_batches
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of

# The server leaves what was uploaded to it open.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed file <tempfile.SpooledTemporaryFile:ResourceWarning")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(llmocks, "_BATCH_DELAY", 0.0)
    llmocks._files.clear()
    llmocks._batches.clear()
    yield
    gc.collect()


@pytest.fixture
async def batches(llmock: Any) -> AsyncIterator[Batches]:
    opened = open_batches(chats(llmock))
    await opened.start()
    yield opened
    await opened.close()


def chats(llmock: Any) -> Client:
    options: dict[str, Any] = {"model": "gpt-4o-mini", "base_url": llmock.base_url("openai"), "api_key": "k"}
    return open_client(**options, client=None, params={}, schema=schema_of(None), output_mode="auto")


def lines(batches: Batches, *texts: str) -> bytes:
    dialect = batches.dialects[0]
    messages = [[{"role": "user", "content": text}] for text in texts]
    return b"".join(batches.line(f"row-{i}", list(said), dialect) for i, said in enumerate(messages))


async def made(batches: Batches, content: bytes, folder: Path, *, intent: str = "intent-1") -> BatchState:
    file = folder / "lines"
    await asyncio.to_thread(file.write_bytes, content)
    return await batches.create(await batches.upload(file, intent=intent), intent=intent)


async def collected(batches: Batches, state: BatchState, folder: Path) -> dict[str, LineResult]:
    return {each.custom_id: each async for some in batches.results(state, folder) for each in some}


async def test_a_batch_comes_back_whatever_its_texts_hold(batches: Batches, tmp_path: Path):
    first = await made(batches, lines(batches, "plain", "ü\u2028two\u2029lines\x85", "\n\r\t{}"), tmp_path)
    state = await batches.state(first.id)
    results = await collected(batches, state, tmp_path)
    assert (first.phase, state.phase, state.total, state.done) == ("running", "ended", 3, 3)
    assert sorted(results) == ["row-0", "row-1", "row-2"]
    assert all(isinstance(each.answer, Reply) and each.answer.text for each in results.values())


async def test_an_intent_is_found_among_many(batches: Batches, tmp_path: Path):
    first = await made(batches, lines(batches, "a"), tmp_path, intent="intent-0")
    source, since = next(iter(llmocks._files)), first.created or 0
    ids = {"intent-0": first.id}
    for n in range(1, 120):
        ids[f"intent-{n}"] = (await batches.create(source, intent=f"intent-{n}")).id
    for intent in ("intent-0", "intent-119"):
        found = await batches.find(intent, since=since, known=[])
        assert found is not None
        assert found.id == ids[intent]
    assert await batches.find("nobody", since=since, known=[]) is None


async def test_a_batch_whose_every_line_failed_has_its_errors(batches: Batches, tmp_path: Path):
    line = {"custom_id": "row-0", "method": "POST", "url": "/v1/nothing", "body": {}}
    first = await made(batches, json.dumps(line).encode(), tmp_path)
    state = await batches.state(first.id)
    results = await collected(batches, state, tmp_path)
    assert (state.status, state.phase, state.output) == ("failed", "ended", None)
    error = results["row-0"].answer
    assert isinstance(error, RequestError)
    assert (error.kind, error.code) == ("server", "unsupported_endpoint")


async def test_a_batch_is_cancelled_once_and_unknown_ones_are_not_found(
    batches: Batches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(llmocks, "_BATCH_DELAY", 3600.0)
    first = await made(batches, lines(batches, "a"), tmp_path)
    assert (await batches.cancel(first.id)).status == "cancelled"
    assert (await batches.cancel(first.id)).status == "cancelled"
    assert await collected(batches, await batches.state(first.id), tmp_path) == {}
    with pytest.raises(RequestError) as unknown:
        await batches.state("batch_none")
    assert unknown.value.kind == "not_found"
    with pytest.raises(RequestError) as missing:
        await batches.create("file-none", intent="i")
    assert missing.value.kind == "bad_request"


async def test_vectors_come_back(llmock: Any, tmp_path: Path):
    options: dict[str, Any] = {"base_url": llmock.base_url("openai"), "api_key": "k", "client": None, "params": {}}
    batches = open_batches(open_embeddings(model="text-embedding-3-small", dimensions=None, **options))
    await batches.start()
    first = await made(batches, batches.embedding_line("row-0", ["one", "two"]), tmp_path)
    answer = (await collected(batches, await batches.state(first.id), tmp_path))["row-0"].answer
    await batches.close()
    assert isinstance(answer, Vectors)
    assert [len(vector) for vector in answer.values] == [4 * 1536] * 2
