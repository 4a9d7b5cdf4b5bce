"""Streaming in parts: the rows of `map`, as soon as a part is finished, from one run."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator
from contextlib import aclosing, closing
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning, RowError, UsageError
from llmframe.testing import Hang, Provider, Status
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]
    stars: int | None
    tags: list[str]


def rows(count: int, *, distinct: int | None = None) -> list[str]:
    return [f"row-{number % (distinct or count)} " for number in range(count)]


def whole(kind: Kind, parts: Iterable[Any]) -> Any:
    """Parts put together by the library's own means."""
    found = list(parts)
    if kind.library == "pandas":
        return pd.concat(found)
    if kind.library == "polars":
        return pl.concat(found)
    return pa.concat_tables(found) if kind.library == "pyarrow" else [row for part in found for row in part]


def length(part: Any) -> int:
    return part.num_rows if isinstance(part, pa.Table) else len(part)


def same(kind: Kind, left: Any, right: Any) -> bool:
    return left == right if kind.library == "records" else left.equals(right)


OPTIONS: dict[str, dict[str, Any]] = {
    "model": {"schema": Verdict},
    "one value": {"schema": Literal["pos", "neg"], "into": "verdict"},
    "prefix": {"schema": Verdict, "prefix": "x_"},
    "struct": {"schema": Verdict, "into": "all"},
    "plain": {"schema": Verdict, "labels": "string", "nested": "json"},
    "free text": {},
    "rendered null": {"schema": Verdict, "on_null": "render"},
    "mask": {"schema": Verdict, "where": [number % 3 != 1 for number in range(25)]},
}


@pytest.mark.filterwarnings("ignore::llmframe.errors.LlmframeWarning")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_ordered_parts_put_together_are_what_map_gives(any_kind: Kind, provider: Provider, options: dict[str, Any]):
    cells: list[Any] = rows(25, distinct=20)
    cells[7] = cells[24] = None
    frame = any_kind.make({"t": cells, "n": list(range(25))})
    parts = list(llmframe.stream(frame, "J {t}", rows=4, ordered=True, client=provider, **options))
    assert [length(part) for part in parts] == [4, 4, 4, 4, 4, 4, 1]
    asked = provider.requests
    mapped = llmframe.map(frame, "J {t}", client=provider, **options)
    assert provider.requests == asked  # parts and map have the same questions
    together = whole(any_kind, parts)
    assert same(any_kind, together, mapped)
    assert any_kind.dtypes(together) == any_kind.dtypes(mapped)
    if any_kind.library == "pandas":
        assert together.index.equals(mapped.index)


def test_what_is_replaced_in_place_is_so_in_every_part(any_kind: Kind, provider: Provider):
    frame = any_kind.make({"t": rows(9), "id": ["old"] * 9, "n": list(range(9))})
    options: dict[str, Any] = {
        "schema": Verdict,
        "client": provider,
        "overwrite": True,
        "where": [True, False, True] * 3,
    }
    parts = llmframe.stream(frame, "J {t}", rows=2, ordered=True, **options)
    assert same(any_kind, whole(any_kind, parts), llmframe.map(frame, "J {t}", **options))


def test_a_series_and_one_value_give_parts_of_a_series(kind: Kind, provider: Provider):
    series = kind.make_series(rows(5), "t")
    parts = list(series.llm.stream("J {}", Literal["pos", "neg"], rows=2, ordered=True, client=provider))
    assert {type(part) for part in parts} == {type(series)}
    assert whole(kind, parts).equals(series.llm.map("J {}", Literal["pos", "neg"], client=provider))
    frames = list(series.llm.stream("J {}", Verdict, rows=2, ordered=True, client=provider))
    assert whole(kind, frames).equals(series.llm.map("J {}", Verdict, client=provider))


async def test_the_async_twin_gives_the_same(any_kind: Kind, provider: Provider):
    frame = any_kind.make({"t": rows(7)})
    parts = [part async for part in llmframe.astream(frame, "J {t}", Verdict, rows=3, ordered=True, client=provider)]
    assert same(any_kind, whole(any_kind, parts), await llmframe.amap(frame, "J {t}", Verdict, client=provider))
    assert provider.requests == 7


@pytest.mark.parametrize("ordered", [False, True])
def test_without_rows_there_is_one_part_with_the_new_columns(any_kind: Kind, provider: Provider, *, ordered: bool):
    frame = any_kind.head(any_kind.make({"t": ["a"]}), 0)
    (part,) = llmframe.stream(frame, "J {t}", Verdict, client=provider, ordered=ordered)
    assert same(any_kind, part, llmframe.map(frame, "J {t}", Verdict, client=provider))
    assert length(part) == provider.requests == 0


def test_a_slow_row_holds_up_its_own_part_alone(library: Kind, provider: Provider):
    provider.when("row-0 ", Hang())
    frame = library.make({"t": rows(40)})
    with closing(frame.llm.stream("J {t}", Verdict, rows=4, client=provider)) as parts:
        others = [library.to_dict(next(parts))["t"] for _ in range(9)]
        assert sorted(others) == sorted(rows(40)[start : start + 4] for start in range(4, 40, 4))
        assert provider.in_flight == 1


def test_in_order_a_later_part_waits_for_an_earlier_one(library: Kind):
    with Provider(latency=lambda prompt: 0.02 if "row-1 " in prompt else 0.0) as provider:
        frame = library.make({"t": rows(12)})
        parts = list(frame.llm.stream("J {t}", Verdict, rows=2, ordered=True, client=provider))
    assert [library.to_dict(part)["t"] for part in parts] == [rows(12)[start : start + 2] for start in range(0, 12, 2)]


@pytest.mark.parametrize("cache", [True, False, "refresh"])
def test_equal_prompts_of_different_parts_are_asked_once(library: Kind, provider: Provider, cache: Any):
    frame = library.make({"t": rows(60, distinct=7)})
    for _ in range(2):
        parts = list(frame.llm.stream("J {t}", Verdict, rows=5, client=provider, cache=cache))
        assert sorted(name for part in parts for name in library.to_dict(part)["id"]) == sorted(
            row.strip() for row in rows(60, distinct=7)
        )
    assert provider.requests == (7 if cache is True else 14)


def test_all_parts_are_one_run_with_one_warning_at_the_end(library: Kind, provider: Provider):
    provider.when("row-3 ", Status(400, "context_length_exceeded"))
    told: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for part in library.make({"t": [*rows(10), None]}).llm.stream("J {t}", Verdict, rows=2, client=provider):
            told += [error.split(":")[0] for error in library.to_dict(part)["error"] if error]
            assert warned == []
        line = inspect.currentframe().f_lineno - 3
    assert sorted(told) == ["context_length", "null"]
    (warning,) = warned
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message).startswith("2 of 11 rows failed: ")
    run = llmframe.last_run()
    assert (run.rows, run.answered, run.requests, run.state) == (11, 9, 10, "done")


def test_progress_counts_the_rows_of_all_parts(library: Kind, provider: Provider):
    seen: list[llmframe.Progress] = []
    frame = library.make({"t": rows(10)})
    assert len(list(frame.llm.stream("J {t}", Verdict, rows=5, client=provider, progress=seen.append))) == 2
    assert {progress.rows for progress in seen} == {10}
    done = [progress.done for progress in seen]
    assert done == sorted(done)


def test_a_mask_function_sees_the_whole_frame_once(library: Kind, provider: Provider):
    seen: list[int] = []

    def first_two(frame: Any) -> list[bool]:
        seen.append(len(frame))
        return [row < 2 for row in range(len(frame))]

    frame = library.make({"t": rows(6)})
    parts = list(frame.llm.stream("J {t}", Verdict, rows=1, ordered=True, where=first_two, client=provider))
    assert [library.to_dict(part)["id"] for part in parts] == [["row-0"], ["row-1"], [None], [None], [None], [None]]
    assert [library.to_dict(part)["error"] for part in parts] == [[None]] * 6
    assert (seen, provider.requests) == ([6], 2)


def test_a_fault_that_all_rows_share_ends_the_sending_and_every_part_says_so(library: Kind, provider: Provider):
    provider.always(Status(401, "invalid_api_key"))
    frame = library.make({"t": rows(100)})
    with pytest.warns(LlmframeWarning, match="100 of 100 rows failed: 100 auth"):
        parts = list(frame.llm.stream("J {t}", Verdict, rows=10, client=provider, max_concurrency=2))
    assert len(parts) == 10
    assert {error.split(":")[0] for part in parts for error in library.to_dict(part)["error"]} == {"auth"}
    assert provider.requests <= 2


def test_the_first_failure_is_raised_with_its_part_and_its_row_in_the_whole_frame(library: Kind, provider: Provider):
    provider.when("row-13 ", Status(400, "context_length_exceeded"))
    frame = library.make({"t": rows(40)})
    parts = frame.llm.stream(
        "J {t}", Verdict, rows=5, ordered=True, on_error="raise", max_concurrency=1, client=provider
    )
    assert library.to_dict(next(parts))["id"] == [f"row-{number}" for number in range(5)]
    next(parts)
    with pytest.raises(RowError, match="row 13 failed: context_length") as caught:
        next(parts)
    part = library.to_dict(caught.value.frame)
    assert part["t"] == rows(40)[10:15]
    assert [(error or "").split(":")[0] for error in part["error"]] == ["", "", "", "context_length", "cancelled"]
    assert list(parts) == []
    assert provider.requests == 14
    assert llmframe.last_run().state == "stopped"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "rows": ({"rows": 0}, "`rows` must be a whole number of at least 1, got 0"),
    "rows of a float": ({"rows": 10.0}, "`rows` must be a whole number of at least 1, got 10.0"),
    "rows of a bool": ({"rows": True}, "`rows` must be a whole number of at least 1, got True"),
    "ordered": ({"ordered": 1}, "`ordered` must be True or False, got 1"),
    "chunk": ({"chunk_size": 10}, "no argument 'chunk_size'; did you mean 'rows'"),
    "misspelt": ({"orderd": True}, "did you mean 'ordered'"),
    "provider's word": ({"temperature": 0}, r'params=\{"temperature": 0\}'),
    "column": ({"prompt_template": "J {x}"}, "'x'"),
    "clash": ({"prefix": "", "schema": Literal["a"], "into": "t"}, r"\.llm\.{verb}\(\.\.\., prefix="),
    "null": ({"on_null": "raise"}, "has a null in 1 rows"),
    "mask": ({"where": [True]}, "`where` has 1 entries"),
    "budget": ({"budget": 0}, "`budget`"),
}


@pytest.mark.parametrize("verb", ["stream", "astream"])
@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_call_is_told_by_the_call_itself(
    library: Kind, provider: Provider, verb: str, options: dict[str, Any], message: str
):
    frame = library.make({"t": ["a", None]})
    with pytest.raises(UsageError, match=message.replace("{verb}", verb)):
        getattr(frame.llm, verb)(**{"prompt_template": "J {t}", "schema": Verdict, "client": provider, **options})
    with pytest.raises(UsageError, match="no model was named"):
        getattr(frame.llm, verb)("J {t}", Verdict)
    assert provider.requests == 0


def test_a_lazy_query_is_referred_to_what_it_has():
    with pytest.raises(UsageError, match=r"`stream` needs rows that are there: `\.collect\(\)`.*sink_parquet"):
        pl.LazyFrame({"t": ["a"]}).llm.stream("J {t}", Verdict)
    with pytest.raises(UsageError, match=r"`astream` needs rows that are there: `\.collect\(\)`"):
        pl.col("t").llm.astream("J {}", Verdict)


def test_the_callers_own_loop_is_for_async_code(provider: Provider):
    with pytest.raises(UsageError, match="async for part in"):
        pd.DataFrame({"t": ["a"]}).llm.stream("J {t}", Verdict, client=provider, loop="current")


async def test_a_client_of_the_callers_loop_is_used_there(library: Kind, provider: Provider):
    frame = library.make({"t": rows(6)})
    stream = frame.llm.astream("J {t}", Verdict, rows=2, ordered=True, client=provider, loop="current")
    async with aclosing(stream) as parts:
        assert [library.to_dict(part)["id"] async for part in parts] == [
            [f"row-{number}", f"row-{number + 1}"] for number in (0, 2, 4)
        ]


def test_connections_are_kept_from_part_to_part(library: Kind, provider: Provider):
    frame = library.make({"t": rows(30)})
    parts: Iterator[Any] = frame.llm.stream("J {t}", Verdict, rows=2, client=provider, max_concurrency=1)
    assert max(provider.connections for _ in parts) == 1
