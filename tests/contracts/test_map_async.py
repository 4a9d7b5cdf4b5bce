"""`amap` beside other coroutines, and `map` where a loop is running already."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal

import openai
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.engine import bridge
from llmframe.errors import LlmframeWarning, RowError, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]


ROWS = ["row-1", "row-2", "row-3", "row-1"]


async def test_amap_gives_what_map_gives(kind: Kind, provider: Provider):
    frame = kind.make({"t": ROWS})
    out = await frame.llm.amap("J {t}", schema=Verdict, client=provider)
    assert kind.to_dict(out)["id"] == ROWS
    assert provider.requests == 3
    series = await kind.make_series(ROWS, "t").llm.amap("J {}", schema=Verdict, client=provider)
    assert kind.to_dict(series)["id"] == ROWS
    assert provider.requests == 3


async def test_the_function_form_takes_every_frame(any_kind: Kind, provider: Provider):
    out = await llmframe.amap(any_kind.make({"t": ROWS}), "J {t}", Verdict, client=provider)
    assert any_kind.to_dict(out)["id"] == ROWS


async def test_the_loop_goes_on_meanwhile(library: Kind, provider: Provider):
    provider.hold()
    mapping = asyncio.create_task(library.make({"t": ROWS}).llm.amap("J {t}", schema=Verdict, client=provider))
    await asyncio.to_thread(provider.wait_in_flight, 3)  # only a loop that isn't blocked gets here
    assert not mapping.done()
    provider.release()
    assert library.to_dict(await mapping)["id"] == ROWS


async def test_several_at_once_share_their_questions(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    outs = await asyncio.gather(
        *(frame.llm.amap("J {t}", schema=Verdict, client=provider) for _ in range(3)),
        frame.llm.amap("K {t}", schema=Verdict, client=provider),
    )
    assert [library.to_dict(out)["id"] for out in outs] == [ROWS] * 4
    assert provider.requests == 6


async def test_a_cancelled_amap_cancels_its_requests(library: Kind, provider: Provider):
    provider.hold()
    mapping = asyncio.create_task(library.make({"t": ROWS}).llm.amap("J {t}", schema=Verdict, client=provider))
    await asyncio.to_thread(provider.wait_in_flight, 3)
    mapping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await mapping
    await asyncio.to_thread(provider.wait_closed, 3)
    assert provider.requests == 3
    run = llmframe.last_run()
    assert run.state == "interrupted"
    assert library.to_dict(run.frame)["t"] == ROWS


async def test_a_time_limit_around_amap_holds(library: Kind, provider: Provider):
    provider.hold()

    async def run_out(limit: asyncio.Timeout) -> None:
        await asyncio.to_thread(provider.wait_in_flight, 3)
        limit.reschedule(asyncio.get_running_loop().time())

    limit = asyncio.timeout(None)
    running_out = asyncio.create_task(run_out(limit))
    with pytest.raises(TimeoutError):
        async with limit:
            await library.make({"t": ROWS}).llm.amap("J {t}", schema=Verdict, client=provider)
    await running_out
    await asyncio.to_thread(provider.wait_closed, 3)


async def test_one_of_two_that_share_may_leave(library: Kind, provider: Provider):
    provider.hold()
    frame = library.make({"t": ROWS})
    first = asyncio.create_task(frame.llm.amap("J {t}", schema=Verdict, client=provider))
    await asyncio.to_thread(provider.wait_in_flight, 3)
    second = asyncio.create_task(
        library.make({"t": [*ROWS, "row-4"]}).llm.amap("J {t}", schema=Verdict, client=provider)
    )
    await asyncio.to_thread(provider.wait_in_flight, 4)  # row-4 is drawn after the three that it joins
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    provider.release()
    assert library.to_dict(await second)["id"] == [*ROWS, "row-4"]
    assert provider.requests == 4


async def test_failures_are_told_as_by_map(library: Kind, provider: Provider):
    provider.always(Status(400, "context_length_exceeded"))
    frame = library.make({"t": ROWS})
    with pytest.warns(LlmframeWarning, match="4 of 4 rows failed"):
        await frame.llm.amap("J {t}", schema=Verdict, client=provider)
    with pytest.raises(RowError):
        await frame.llm.amap("J {t}", schema=Verdict, client=provider, on_error="raise")
    with pytest.raises(UsageError, match=r"\.llm\.amap\(\.\.\., prefix="):
        await library.make({"t": ROWS, "id": ROWS}).llm.amap("J {t}", schema=Verdict, client=provider)


async def test_progress_is_told_in_the_loops_thread(library: Kind, provider: Provider):
    threads: set[int] = set()
    await library.make({"t": ROWS}).llm.amap(
        "J {t}", schema=Verdict, client=provider, progress=lambda _: threads.add(threading.get_ident())
    )
    assert threads == {threading.get_ident()}


async def test_a_clients_own_transport_is_used_on_the_running_loop(library: Kind, provider: Provider):
    async with openai.AsyncOpenAI(
        base_url=provider.base_url, api_key="k", http_client=openai.DefaultAsyncHttpxClient()
    ) as client:
        for template in ("J {t}", "K {t}"):
            out = await library.make({"t": ROWS}).llm.amap(template, schema=Verdict, client=client, model="m")
            assert library.to_dict(out)["id"] == ROWS
    assert provider.requests == 6


async def test_map_inside_a_running_loop_works_and_warns_once(
    library: Kind, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bridge, "_warned", False)
    frame = library.make({"t": ROWS})
    with pytest.warns(LlmframeWarning, match=r"`map` blocks the running event loop.*amap") as warned:
        out = frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert library.to_dict(out)["id"] == ROWS
    assert len(warned) == 1
    again = frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert library.to_dict(again)["id"] == ROWS


async def test_a_lazy_query_collected_inside_a_running_loop_works(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge, "_warned", False)
    query = pl.LazyFrame({"t": ROWS}).llm.map("J {t}", schema=Verdict, client=provider)
    out = await query.collect_async()
    assert out["id"].to_list() == ROWS


def test_one_client_serves_calls_from_several_loops(library: Kind, provider: Provider):
    client = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k")
    frame = library.make({"t": ROWS})
    for turn in range(3):
        options = {"schema": Verdict, "client": client, "model": "m", "cache": False}
        asyncio_out = asyncio.run(frame.llm.amap("J {t}", **options))
        thread_out = frame.llm.map("J {t}", **options)
        assert library.to_dict(asyncio_out)["id"] == library.to_dict(thread_out)["id"] == ROWS
        assert provider.requests == 6 * (turn + 1)
    asyncio.run(client.close())
