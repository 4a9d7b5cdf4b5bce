"""A map inside a lazy polars query: only what survives is asked, and once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import llmframe
from llmframe.api import lazy as lazy_runs
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.queries import DTYPES, ROWS, VERBS, Verdict, as_expression, as_map, lazy


@VERBS
def test_the_schema_is_known_without_a_request(verb: Any, provider: Provider):
    query = verb(lazy(), provider)
    assert dict(query.collect_schema()) == {"t": pl.String, "n": pl.Int64, **DTYPES}
    assert query.explain()
    assert query.filter(pl.col("label") == "pos").select("error").collect_schema() == {"error": pl.String}
    assert provider.requests == 0


@VERBS
def test_a_collected_query_is_what_the_eager_map_gives(verb: Any, provider: Provider):
    out = verb(lazy(), provider).collect()
    assert out["id"].to_list() == ROWS
    eager = lazy().collect().llm.map("J {t}", schema=Verdict, client=provider)
    assert out.equals(eager)
    assert dict(out.schema) == dict(eager.schema)
    assert provider.requests == 6


@VERBS
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_only_rows_that_survive_a_later_filter_are_asked(verb: Any, provider: Provider, engine: Any):
    out = verb(lazy(), provider).filter(pl.col("n") > 3).collect(engine=engine)
    assert out["id"].to_list() == ["row-4", "row-5"]
    assert provider.requests == 2


@VERBS
def test_only_the_head_is_asked(verb: Any, provider: Provider):
    out = verb(lazy(), provider).head(2).collect()
    assert out["id"].to_list() == ["row-0", "row-1"]
    assert provider.requests == 2


def test_without_its_columns_nothing_is_asked(provider: Provider):
    assert as_map(lazy(), provider).select("t").collect().height == 6
    assert provider.requests == 0


def test_one_of_its_columns_asks_as_all(provider: Provider):
    out = as_map(lazy(), provider).select("label").collect()
    assert out.columns == ["label"]
    assert provider.requests == 6


@pytest.mark.parametrize("cache", [True, False])
def test_an_expression_in_two_columns_asks_once(provider: Provider, *, cache: bool):
    asked = pl.struct("t").llm.map("J {t}", schema=Verdict, client=provider, cache=cache)
    query = lazy().with_columns(asked.struct.field("label").alias("a"), asked.struct.field("id").alias("b"))
    out = query.with_columns(asked.alias("c")).collect()
    assert out["b"].to_list() == [each["id"] for each in out["c"].to_list()] == ROWS
    assert provider.requests == 6


@VERBS
@pytest.mark.parametrize("cache", [True, False, "refresh"])
def test_collected_twice_a_query_costs_once(verb: Any, provider: Provider, cache: Any):
    query = verb(lazy(), provider, cache=cache)
    first, second = query.collect(), query.collect()
    assert first.equals(second)
    assert provider.requests == 6
    again = verb(lazy(), provider, cache=cache).collect()
    assert again.equals(first)
    assert provider.requests == (6 if cache is True else 12)


@pytest.mark.parametrize("name", [None, "x"])
def test_an_expression_never_takes_the_name_of_its_input(provider: Provider, name: str | None):
    for source in (pl.col("t"), pl.struct("t", "n"), pl.col("t").alias("n")):
        template = "J {t}" if source.meta.output_name() == "t" and source.meta.is_column() is False else "J {}"
        asked = source.llm.map(template, schema=Verdict, client=provider, into=name)
        out = lazy().with_columns(asked).collect()
        assert out.columns == ["t", "n", name or "llm"]
        assert out["t"].to_list() == ROWS


def test_an_expression_of_one_value_is_a_struct_with_its_error(provider: Provider):
    asked = pl.col("t").llm.map("Bug? {}", schema=bool, client=provider, prefix="is_", into="bug")
    out = lazy().select(asked).collect()
    assert out.schema == {"is_bug": pl.Struct({"response": pl.Boolean, "error": pl.String})}


def test_an_expression_works_on_eager_frames_too(provider: Provider):
    asked = pl.struct("t", "n").llm.map("{n}: {t}", schema=Verdict, client=provider)
    out = lazy().collect().with_columns(asked)
    assert [each["id"] for each in out["llm"].to_list()] == ROWS
    assert sorted(provider.prompts) == [f"{number}: row-{number}" for number in range(6)]


def test_only_what_is_kept_has_to_fit(provider: Provider):
    frame = lazy(label=["pos", "neg", "mixed", "pos", "pos", "pos"])
    out = as_map(frame, provider, where=pl.col("n") == 2, overwrite=True).collect()
    assert out["label"].to_list()[2] in ("pos", "neg")
    assert out["label"].to_list()[:2] == ["pos", "neg"]
    # few rows are a batch for each core: of these every batch has two or more, or the last, so every one has a misfit
    many = pl.LazyFrame({"t": ["row-0", "row-1"] * 5000, "n": [0, 2] * 5000, "label": ["pos", "mixed"] * 5000})
    with pytest.raises(pl.exceptions.InvalidOperationError, match="mixed"):
        as_map(many, provider, where=pl.col("n") < 2, overwrite=True).collect(engine="streaming")
    assert provider.requests == 1


def test_columns_get_prefix_struct_and_meta(provider: Provider):
    out = as_map(lazy(), provider, prefix="p_", meta=True).collect()
    assert out.columns == ["t", "n", "p_id", "p_label", "p_error", "p_llm_meta"]
    whole = as_map(lazy(), provider, into="x").collect()
    assert whole.columns == ["t", "n", "x"]
    assert whole["x"].struct.fields == ["id", "label", "error"]
    assert provider.requests == 6


def test_maps_chain(provider: Provider):
    query = as_map(lazy(), provider).llm.map("K {id} {label}", schema=bool, client=provider, prefix="k_")
    out = query.filter(pl.col("n") < 2).collect()
    assert out.columns == ["t", "n", "id", "label", "error", "k_response", "k_error"]
    assert provider.requests == 4


def test_a_literal_prompt_needs_no_column(provider: Provider):
    out = lazy().llm.map(llmframe.Template("A joke", literal=True), schema=str, client=provider).collect()
    assert out["response"].n_unique() == 1
    assert provider.prompts == ["A joke"]


def test_a_callable_gets_whole_rows(provider: Provider):
    out = lazy().llm.map(lambda row: f"{row['n']}: {row['t']}", schema=Verdict, client=provider).head(2).collect()
    assert out["id"].to_list() == ROWS[:2]
    assert sorted(provider.prompts) == ["0: row-0", "1: row-1"]


@VERBS
def test_nulls_are_not_asked_and_without_rows_nothing_is(verb: Any, provider: Provider):
    frame = pl.LazyFrame({"t": ["row-1", None]})
    with pytest.warns(LlmframeWarning, match="rows failed: 1 null$"):
        out = verb(frame, provider).collect()
    assert out["error"].to_list() == [None, "null: missing value in 't'"]
    assert provider.requests == 1
    assert dict(verb(frame.clear(), provider).collect().schema) == {"t": pl.String, **DTYPES}
    assert provider.requests == 1


@VERBS
def test_failures_are_values_and_warn_once(verb: Any, provider: Provider):
    provider.when("row-2", Status(400, "context_length_exceeded"))
    with pytest.warns(LlmframeWarning, match="1 context_length") as warned:
        out = verb(lazy(), provider).collect()
    assert len(warned) == 1
    assert out["error"].null_count() == 5


def test_parts_report_one_at_a_time(provider: Provider):
    inside: list[int] = []
    overlaps: list[int] = []

    def show(progress: llmframe.Progress) -> None:
        inside.append(progress.done)
        overlaps.append(len(inside))
        inside.pop()

    as_map(lazy(), provider, progress=show).collect()
    assert overlaps
    assert set(overlaps) == {1}


@VERBS
def test_the_bar_of_a_query_ends_before_it_returns(
    verb: Any, provider: Provider, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lazy_runs, "STALE_SECONDS", 1e9)  # both times one run
    query = verb(lazy(), provider, progress=True)
    for done in (6, 12):
        query.collect()
        shown = capsys.readouterr().err
        assert shown.endswith("\n")
        assert f"llm: {done}row" in shown.splitlines()[-1]


def test_wrong_use_is_told_when_the_query_is_made(provider: Provider):
    for options, message in (
        ({"on_error": "raise"}, "collect first"),
        ({"on_null": "raise"}, "collect first"),
        ({"loop": "current"}, "lazy query"),
    ):
        with pytest.raises(UsageError, match=message):
            as_map(lazy(), provider, **options)
        with pytest.raises(UsageError, match=message):
            as_expression(lazy(), provider, **options)
    with pytest.raises(UsageError, match="'tt', which is absent"):
        lazy().llm.map("J {tt}", schema=Verdict, client=provider)
    with pytest.raises(UsageError, match="'response' must be 'a'"):
        pl.col("t").llm.map("J {}", schema=["a"], client=provider, examples=[("x", "b")])
    with pytest.raises(UsageError, match="no model was named"):
        lazy().llm.map("J {t}", schema=Verdict)
    with pytest.raises(UsageError, match="collect"):
        lazy().llm.plan("J {t}", schema=Verdict, client=provider)
    assert provider.requests == 0


async def test_the_async_verb_stays_lazy(provider: Provider):
    query = await lazy().llm.amap("J {t}", schema=Verdict, client=provider)
    assert provider.requests == 0
    assert (await query.collect_async())["id"].to_list() == ROWS


@VERBS
def test_cancelled_from_another_thread_a_query_still_ends(verb: Any, provider: Provider):
    provider.hold()
    query = verb(lazy(), provider)

    def stop() -> None:
        provider.wait_in_flight(6)
        llmframe.cancel()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.warns(LlmframeWarning, match="cancelled"):
        out = query.collect()
    stopping.join()
    assert all(error.startswith("cancelled: ") for error in out["error"].to_list())
    provider.wait_closed(6)


def test_three_hundred_thousand_rows_go_through_to_a_file(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lazy_runs, "STALE_SECONDS", 1e9)  # one run, however long polars takes from part to part
    rows = 300_000
    frame = pl.LazyFrame({"n": pl.int_range(rows, eager=True)}).with_columns(
        pl.format("row-{}", pl.col("n") % 50).alias("t")
    )
    frame.llm.map("J {t}", schema=Verdict, client=provider).sink_parquet(tmp_path / "out.parquet")
    out = pl.scan_parquet(tmp_path / "out.parquet")
    assert out.select((pl.col("id") == pl.col("t")).all(), pl.len()).collect().row(0) == (True, rows)
    assert provider.requests == 50
    run = llmframe.last_run()
    assert (run.rows, run.answered, run.requests) == (rows, rows, 50)
