"""Never run, only type-checked (pyright): what the public interface promises to a type checker."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Literal, assert_type

import pandas as pd
import polars as pl
from pydantic import BaseModel

import llmframe
from llmframe import Progress, RunReport, Template
from llmframe.testing import Provider


class Sentiment(BaseModel):
    """A schema as a user writes it."""

    label: Literal["positive", "negative"]


def a_frame_of_one_kind_comes_back_as_that_kind(
    pandas: pd.DataFrame, polars: pl.DataFrame, series: pl.Series, lazy: pl.LazyFrame, rows: list[dict[str, object]]
) -> None:
    """Also through `pipe`, which is the typed form beside `.llm`."""
    assert_type(llmframe.map(pandas, "{a}", Sentiment), pd.DataFrame)
    assert_type(llmframe.map(polars, "{a}", schema=bool), pl.DataFrame)
    assert_type(llmframe.map(series, "{}", schema=["x", "y"]), pl.Series)
    assert_type(llmframe.map(lazy, "{a}", Sentiment), pl.LazyFrame)
    assert_type(llmframe.map(rows, "{a}", Sentiment), list[dict[str, object]])
    assert_type(polars.pipe(llmframe.map, "{a}", schema=Sentiment), pl.DataFrame)
    assert_type(pandas.pipe(llmframe.map, "{a}", schema=Sentiment), pd.DataFrame)


async def the_async_twin_gives_the_same_kind(polars: pl.DataFrame) -> None:
    """`amap` awaited is `map`."""
    assert_type(await llmframe.amap(polars, Template("{a}"), Sentiment), pl.DataFrame)


def presets_give_the_same_kind_or_a_plan(pandas: pd.DataFrame, lazy: pl.LazyFrame) -> None:
    """Also through `pipe`."""
    assert_type(llmframe.classify(pandas, "a", ["x", "y"]), pd.DataFrame)
    assert_type(llmframe.classify(pandas, "a", ["x", "y"], plan=True), llmframe.PlanReport)
    assert_type(llmframe.extract(lazy, "a", Sentiment, explode=True), pl.LazyFrame)
    assert_type(llmframe.filter(lazy, "{a} is rude", keep_errors=True), pl.LazyFrame)
    assert_type(llmframe.filter(pandas, "{a} is rude", plan=True), llmframe.PlanReport)
    assert_type(pandas.pipe(llmframe.filter, "{a} is rude"), pd.DataFrame)


async def presets_have_async_twins(pandas: pd.DataFrame) -> None:
    """They give the same kind, and check their options."""
    assert_type(await llmframe.aclassify(pandas, "a", ["x", "y"]), pd.DataFrame)
    await llmframe.afilter(pandas, "{a} is rude", on_null="maybe")  # pyright: ignore[reportArgumentType]


def streams_are_generators_of_the_same_kind(pandas: pd.DataFrame, polars: pl.DataFrame) -> None:
    """So that `contextlib.closing` and `aclosing` take them."""
    assert_type(llmframe.stream(pandas, "{a}", Sentiment, rows=100), Generator[pd.DataFrame])
    assert_type(llmframe.astream(polars, "{a}", Sentiment, ordered=True, cache=False), AsyncGenerator[pl.DataFrame])
    llmframe.stream(pandas, "{a}", Sentiment, rows="100")  # pyright: ignore[reportArgumentType]
    llmframe.stream(pandas, "{a}", Sentiment, on_null="maybe")  # pyright: ignore[reportArgumentType]


def options_are_checked(polars: pl.DataFrame) -> None:
    """A wrong word is an error here before it is one at run time."""
    with llmframe.use(model="openai/gpt-4o-mini", requests_per_minute=500, params={"temperature": 0}):
        llmframe.map(polars, "{a}", bool, on_null="render", on_error="raise", labels="string", cache="refresh")
        llmframe.map(polars, "{a}", bool, priority="low", hedge=True, budget={"seconds": 600}, tokens_per_minute=9e4)
        llmframe.map(polars, "{a}", bool, budget=5, prices={"m": {"input": 0.15, "output": 1}})
        llmframe.map(polars, "{a}", bool, budget=llmframe.Budget(5, calls=100))
    llmframe.map(polars, "{a}", bool, priority="urgent")  # pyright: ignore[reportArgumentType]
    llmframe.map(polars, "{a}", bool, budget="5")  # pyright: ignore[reportArgumentType]
    llmframe.map(polars, "{a}", bool, on_null="maybe")  # pyright: ignore[reportArgumentType]
    llmframe.use(requests_per_minute="many")  # pyright: ignore[reportArgumentType]


def reports_and_doubles_have_types(polars: pl.DataFrame) -> None:
    """What a run tells, and the simulated provider."""
    assert_type(llmframe.plan(polars, "{a}"), llmframe.PlanReport)
    report: RunReport | None = llmframe.last_run()
    assert report is None or report.requests >= 0

    def show(progress: Progress) -> None:
        assert_type(progress, Progress)

    with Provider(latency=0.1) as provider:
        llmframe.map(polars, "{a}", bool, client=provider, progress=show)
        assert_type(provider.requests, int)
