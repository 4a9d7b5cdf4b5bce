"""What a call by batches needs, and which of its requests go into them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmframe
from llmframe.api import keeping
from llmframe.api.arguments import arguments
from llmframe.api.batching import Batching, batching, drawn
from llmframe.api.keeping import ledgered_store
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.core.outcome import Usage
from llmframe.core.plan import Planned
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.stores.base import Stored
from llmframe.testing import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    keeping._process_store.clear()
    with Provider() as provider:
        yield provider


def prepared(provider: Provider, rows: int = 3, **options: Any) -> Prepared:
    said = arguments("J {t}", ["a", "b"], {"client": provider, "mode": "batch", **options})
    return prepare(asking(said), wrap([{"t": f"row-{row}"} for row in range(rows)]), verb="map")


def begun(call: Prepared) -> Batching:
    found = batching(call.asking, call.client)
    assert found is not None
    return found


def requests(*calls: Prepared) -> list[list[Planned]]:
    async def draw() -> list[list[Planned]]:
        return [chunk async for chunk in drawn(calls)()]

    return asyncio.run(draw())


def test_a_live_call_has_none(provider: Provider):
    call = prepared(provider, mode="live")
    assert batching(call.asking, call.client) is None


def test_jobs_need_a_place_to_be_written_down(provider: Provider):
    call = prepared(provider, cache=False)
    with pytest.raises(UsageError, match="leave out `cache=False`"):
        batching(call.asking, call.client)


def test_requests_are_drawn_anew_each_time(provider: Provider):
    calls = prepared(provider, 2), prepared(provider, 3)
    draw = drawn(iter(calls))

    async def twice() -> list[list[int]]:
        return [[len(chunk) async for chunk in draw()] for _ in range(2)]

    assert asyncio.run(twice()) == [[2, 3], [2, 3]]


def test_what_has_a_valid_answer_that_is_new_enough_is_left_out(provider: Provider):
    call = prepared(provider, 4)
    way, (chunk,) = begun(call), requests(call)
    now = time.time()
    texts = {0: ('"a"', now), 1: ('"z"', now), 2: ('"b"', now - 100)}
    entries = [(chunk[at].key, Stored(text, Usage(), created=created)) for at, (text, created) in texts.items()]
    way.store.put_many(entries)
    left = [way._unanswered(chunk, since) for since in (0.0, now - 50)]
    assert [[planned.index for planned in each] for each in left] == [[1, 3], [1, 2, 3]]


def test_another_question_is_another_job(provider: Provider, tmp_path: Path):
    rows, cache = [{"t": "a"}], tmp_path / "answers.sqlite"
    options: dict[str, Any] = {"client": provider, "mode": "batch", "progress": False, "cache": cache}
    llmframe.map(rows, "J {t}", ["a", "b"], **options)
    llmframe.map([{"t": "b"}], "J {t}", ["a", "b"], **options)
    llmframe.map(rows, "J {t}", ["a", "c"], **options)
    llmframe.embed(rows, "t", **options)
    llmframe.embed(rows, "t", dimensions=3, **options)
    call = prepared(provider)
    jobs = ledgered_store(cache, call.client)[1].jobs()[::-1]
    assert [job.kind for job in jobs] == ["chat", "chat", "chat", "embeddings", "embeddings"]
    questions = [job.question for job in jobs]
    assert questions[0] == questions[1]
    assert len(set(questions)) == 4
