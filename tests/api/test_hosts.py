"""Where a map may be called: threads, running loops of asyncio and uvloop, threads of polars."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.engine import bridge
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider

uvloop = pytest.importorskip("uvloop")

ROWS = 40
RUNNERS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
DF = pd.DataFrame({"t": [f"row-{i}" for i in range(ROWS)]})


class Echo(BaseModel):
    """An answer that tells which row it belongs to."""

    echo: str


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def ask(provider: Provider) -> dict[str, object]:
    return {"schema": Echo, "client": provider, "progress": False}


def right(out: pd.DataFrame) -> bool:
    """Whether every row has its own answer."""
    return out["error"].isna().all() and out["echo"].tolist() == out["t"].tolist()


def test_threads_map_whole_frames_at_once_and_ask_each_question_once(provider: Provider, ask):
    with ThreadPoolExecutor(4) as pool:
        outs = list(pool.map(lambda _: DF.llm.map("A {t}", **ask), range(4)))
    assert all(map(right, outs))
    assert provider.requests == ROWS


def test_threads_with_questions_of_their_own_do_not_mix_their_rows(provider: Provider, ask):
    frames = [pd.DataFrame({"t": [f"row-{100 * n + i}" for i in range(ROWS)]}) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        outs = list(pool.map(lambda df: df.llm.map("B {t}", **ask), frames))
    assert all(map(right, outs))
    assert provider.requests == 4 * ROWS


@RUNNERS
def test_amap_works_in_a_running_loop(run, provider: Provider, ask):
    async def main() -> pd.DataFrame:
        return await DF.llm.amap("C {t}", **ask)

    assert right(run(main()))


@RUNNERS
def test_amap_works_on_the_running_loop_itself(run, provider: Provider, ask):
    async def main() -> pd.DataFrame:
        return await DF.llm.amap("D {t}", loop="current", **ask)

    assert right(run(main()))


@RUNNERS
def test_amaps_at_the_same_time_ask_each_question_once(run, provider: Provider, ask):
    async def main() -> list[pd.DataFrame]:
        return await asyncio.gather(*[DF.llm.amap("E {t}", **ask) for _ in range(3)])

    assert all(map(right, run(main())))
    assert provider.requests == ROWS


@RUNNERS
def test_map_inside_a_running_loop_works_and_names_its_twin_once(run, ask, monkeypatch):
    monkeypatch.setattr("llmframe.engine.bridge._warned", False)

    async def main() -> pd.DataFrame:
        with pytest.warns(LlmframeWarning, match=r"await llmframe\.amap"):
            out = DF.llm.map("F {t}", **ask)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = DF.llm.map("F {t}", **ask)
        assert right(again)
        return out

    assert right(run(main()))


@RUNNERS
def test_a_loop_goes_on_while_amap_waits(run, provider: Provider, ask):
    async def main() -> pd.DataFrame:
        provider.hold()
        call = asyncio.create_task(DF.llm.amap("G {t}", **ask))
        await asyncio.to_thread(provider.wait_in_flight, 8)
        assert not call.done()
        provider.release()
        return await call

    assert right(run(main()))


@RUNNERS
def test_cancelling_amap_closes_its_requests(run, provider: Provider, ask):
    async def main() -> None:
        provider.hold()
        call = asyncio.create_task(DF.llm.amap("H {t}", **ask))
        await asyncio.to_thread(provider.wait_in_flight, 8)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(provider.wait_closed, 8)

    run(main())
    assert provider.requests == 8
    report = llmframe.last_run()
    assert report.state == "interrupted"
    assert report.failed == {"cancelled": ROWS}


def test_the_callers_own_loop_is_refused_where_it_cannot_be_nested(provider: Provider, ask):
    async def main() -> None:
        with pytest.raises(UsageError, match=r"uvloop.*await llmframe\.amap"):
            DF.llm.map("I {t}", loop="current", **ask)

    uvloop.run(main())
    assert provider.requests == 0


def test_the_callers_own_loop_is_asyncio_run_where_none_is_running(provider: Provider, ask):
    before = asyncio.run, asyncio.Task
    assert right(DF.llm.map("J {t}", loop="current", **ask))
    assert (asyncio.run, asyncio.Task) == before


async def test_an_async_test_of_pytest_asyncio_awaits_amap(provider: Provider, ask):
    assert right(await DF.llm.amap("K {t}", **ask))


async def test_the_next_async_test_has_another_loop_and_works_too(provider: Provider, ask):
    assert right(await DF.llm.amap("K {t}", **ask))
    assert provider.requests == ROWS


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_threads_of_polars_share_one_bound_of_requests_in_flight(engine, provider: Provider, ask, monkeypatch):
    monkeypatch.setattr("llmframe.engine.rounds.OWN_SECONDS", 60.0)  # no slow machine lets fewer than 3 be in flight
    query = pl.from_pandas(DF).lazy().llm.map("L {t}", max_concurrency=3, **ask)
    provider.hold()
    with ThreadPoolExecutor(1) as pool:
        collecting = pool.submit(query.collect, engine=engine)
        provider.wait_in_flight(3)
        for sent in range(4, ROWS + 1):
            provider.release(1)
            provider.wait_requests(sent)
        provider.release()
        out = collecting.result()
    assert out["echo"].to_list() == DF["t"].tolist()
    assert provider.max_in_flight == 3


def test_the_last_run_is_that_of_the_query_collected_last(provider: Provider, ask):
    first = pl.LazyFrame({"t": ["row-1"]}).llm.map("O {t}", **ask)
    second = pl.LazyFrame({"t": ["row-1", "row-2"]}).llm.map("P {t}", **ask)
    second.collect()
    first.collect()
    assert llmframe.last_run().rows == 1


def test_a_query_collected_again_later_is_another_run(provider: Provider, ask, monkeypatch):
    monkeypatch.setattr("llmframe.api.lazy.STALE_SECONDS", 0.0)
    query = pl.LazyFrame({"t": ["row-1"]}).llm.map("Q {t}", **ask)
    query.collect()
    query.collect()
    report = llmframe.last_run()
    assert (report.rows, report.answered, report.cached, report.requests) == (1, 1, 1, 0)


def test_the_warning_of_a_lazy_query_names_the_line_that_wrote_it(provider: Provider, ask):
    query = pl.LazyFrame({"t": ["row-1", None]}).llm.map("R {t}", **ask)
    with pytest.warns(LlmframeWarning, match="1 null") as told:
        query.collect()
    assert [warning.filename for warning in told] == [__file__]


async def test_a_lazy_query_is_collected_in_the_background_of_a_loop(provider: Provider, ask):
    query = pl.from_pandas(DF).lazy().llm.map("M {t}", **ask)
    out = await asyncio.to_thread(query.collect)
    assert out["echo"].to_list() == DF["t"].tolist()


def test_a_call_inside_a_callback_of_the_private_loop_names_the_twin(provider: Provider, ask):
    said: list[UsageError] = []

    async def inside(post: bridge.Post) -> None:
        try:
            DF.llm.map("N {t}", **ask)
        except UsageError as error:
            said.append(error)

    bridge.run(inside, interrupt=lambda: None, verb="map")
    assert "await llmframe.amap" in str(said[0])
