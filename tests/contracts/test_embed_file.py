"""`embed_file` as a user calls it: vectors in every kind of file, whatever the run's way."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import llmframe
from llmframe.core.vectors import numbers_of, vector_of
from llmframe.errors import LlmframeError, LlmframeWarning, RowError
from llmframe.frames.files.arrow_sink import READS_NULL_VECTORS
from llmframe.testing import Provider, Status
from llmframe.testing.embeddings import vector
from tests.contracts.files import KINDS, FileKind

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")

FOUR: dict[str, Any] = {"dimensions": 4, "progress": False}
TEXTS = ["a", "b", None, "a", "", "ä→", "c", "a"]


def vectors_of(size: int) -> pa.DataType:
    """The type of vectors in a parquet file: an older pyarrow can't read nulls of a fixed size, so there are none."""
    return pa.list_(pa.float32(), size) if READS_NULL_VECTORS else pa.list_(pa.float32())


def numbers(text: str | None, dimensions: int = 4) -> list[float] | None:
    return numbers_of(vector_of(vector(text, dimensions))) if text else None


def told(cell: Any) -> list[float] | None:
    """The numbers of a cell, of whatever kind of file."""
    if cell is None or cell == "":
        return None
    return numbers_of(vector_of(json.loads(cell) if isinstance(cell, str) else cell))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"n": range(len(TEXTS)), "text": TEXTS}), path)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out.parquet"


@pytest.mark.parametrize("file", KINDS, ids=lambda file: file.name)
def test_every_kind_of_file_holds_the_vectors_of_its_texts(file: FileKind, provider: Provider, tmp_path: Path):
    source, target = tmp_path / f"in{file.extension}", tmp_path / f"out{file.extension}"
    texts = ["a", "b", "a", "ä→"]
    file.write(pa.table({"n": range(4), "text": texts}), source)
    form: dict[str, Any] = {"target_format": "delta"} if file.name == "delta" else {}
    report = llmframe.embed_file(source, target, "text", client=provider, rows=2, **form, **FOUR)
    got = file.read(target)
    assert list(got) == ["n", "text", "embedding", "error"]
    assert [told(cell) for cell in got["embedding"]] == [numbers(text) for text in texts]
    assert (report.rows, report.answered, report.output) == (4, 4, str(target))


def test_the_column_is_a_list_of_fixed_size_and_bad_texts_are_errors(source: Path, target: Path, provider: Provider):
    with pytest.warns(LlmframeWarning, match="1 null.*1 empty|1 empty.*1 null"):
        llmframe.embed_file(source, target, "text", client=provider, rows=3, **FOUR)
    table = pq.read_table(target)
    assert table.schema.field("embedding").type == vectors_of(4)
    assert [told(cell) for cell in table["embedding"].to_pylist()] == [numbers(text) for text in TEXTS]
    errors = table["error"].to_pylist()
    assert [error and error.split(":")[0] for error in errors] == [None, None, "null", None, "empty", None, None, None]


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_a_file_has_what_the_frame_has(source: Path, target: Path, provider: Provider, mode: Any):
    options: dict[str, Any] = {**FOUR, "client": provider, "into": "v", "prefix": "x_"}
    llmframe.embed_file(source, target, "{n}: {text}", mode=mode, rows=3, **options)
    assert (provider.requests == 0) is (mode == "batch")
    with Provider() as other:
        frame = pl.read_parquet(source).llm.embed("{n}: {text}", **{**options, "client": other})
    assert pl.read_parquet(target).equals(frame)


def test_batches_hold_the_texts_of_all_parts_in_full_lines(tmp_path: Path, target: Path, provider: Provider):
    texts = [f"text {number % 25}" for number in range(60)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "many.parquet")
    options: dict[str, Any] = {**FOUR, "client": provider, "mode": "batch", "batch_size": 10, "meta": True}
    report = llmframe.embed_file(tmp_path / "many.parquet", target, "text", rows=7, **options)
    assert provider.batches.lines == 3  # 25 texts, ten a line
    assert set(provider.batches.paid_prompts.values()) == {1}
    assert (report.batches, report.batch_requests) == (1, 25)
    table = pl.read_parquet(target)
    assert [told(cell) for cell in table["embedding"].to_list()] == [numbers(text) for text in texts]
    assert table["llm_meta"].struct.field("input_tokens").sum() == report.input_tokens


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_without_dimensions_the_first_text_tells_the_width_and_is_paid_once(
    source: Path, target: Path, provider: Provider, mode: Any
):
    options: dict[str, Any] = {"client": provider, "mode": mode, "rows": 3, "progress": False, "meta": True}
    report = llmframe.embed_file(source, target, "text", **options)
    table = pl.read_parquet(target)
    meta = table["llm_meta"].struct.unnest()
    assert isinstance(table.schema["embedding"], pl.Array if READS_NULL_VECTORS else pl.List)
    assert provider.bodies[0]["input"] == ["a"]
    asked = [text for body in provider.bodies for text in body["input"]]
    assert len(asked) == len(set(asked)) == (4 if mode == "live" else 1)
    assert meta["source"][0] == "live"
    assert meta["input_tokens"].sum() == report.input_tokens == 4  # a token each: none has more than four characters
    assert (report.rows, report.answered, report.cached, report.shared) == (8, 6, 0, 2)
    before = provider.requests
    again = llmframe.embed_file(source, target, "text", exists="replace", **options)
    assert provider.requests == before  # a kept vector tells the width
    assert (again.cached, again.requests) == (6, 0)


def test_a_first_text_without_a_vector_is_followed_by_the_next(tmp_path: Path, target: Path):
    pq.write_table(pa.table({"text": ["bad", None, "good", "more"]}), tmp_path / "in.parquet")
    refuse = lambda prompt, request: Status(400, "invalid") if "bad" in request["input"] else None  # noqa: E731
    with Provider(answer=refuse) as provider:
        report = llmframe.embed_file(tmp_path / "in.parquet", target, "text", client=provider, progress=False)
        assert [body["input"] for body in provider.bodies] == [["bad"], ["good"], ["more"]]
    table = pl.read_parquet(target)
    assert table["embedding"].is_null().to_list() == [True, True, False, False]
    assert table["error"][0].startswith("bad_request")
    assert (report.requests, report.failed) == (3, {"bad_request": 1, "null": 1})


def test_where_no_text_has_a_vector_the_width_has_to_be_said(source: Path, target: Path, provider: Provider):
    provider.always(Status(400, "invalid"))
    with pytest.raises(LlmframeError, match=r"the first 4 texts have no vector \(bad_request.*give `dimensions=`"):
        llmframe.embed_file(source, target, "text", client=provider, progress=False)
    assert not target.exists()
    report = llmframe.embed_file(source, target, "text", client=provider, **FOUR)
    assert report.answered == 0
    assert pq.read_schema(target).field("embedding").type == vectors_of(4)


def test_a_wrong_key_stops_before_anything_is_written(source: Path, target: Path, provider: Provider):
    provider.always(Status(401))
    with pytest.warns(LlmframeWarning, match="auth"):
        report = llmframe.embed_file(source, target, "text", client=provider, progress=False)
    assert report.output is None
    assert (provider.requests, target.exists()) == (1, False)
    provider.reset()
    assert llmframe.embed_file(source, target, "text", client=provider, progress=False).output == str(target)


def test_a_file_without_a_text_is_written_without_a_request(tmp_path: Path, target: Path, provider: Provider):
    for texts in ([], [None, ""]):
        pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), tmp_path / "none.parquet")
        llmframe.embed_file(
            tmp_path / "none.parquet", target, "text", client=provider, exists="replace", progress=False
        )
        assert pq.read_table(target)["embedding"].to_pylist() == [None] * len(texts)
    assert provider.requests == 0


def test_finished_parts_stay_when_the_same_call_goes_on(source: Path, target: Path):
    sick = [True]
    refuse = lambda prompt, request: Status(400, "invalid") if sick and "c" in request["input"] else None  # noqa: E731
    with Provider(answer=refuse) as provider:
        options: dict[str, Any] = {**FOUR, "client": provider, "rows": 2, "cache": False, "batch_size": 1}
        with pytest.raises(RowError, match="row 2 failed: null"):
            llmframe.embed_file(source, target, "text", on_error="raise", **options)
        where: Any = pl.col("text").is_not_null() & (pl.col("text") != "")
        with pytest.raises(RowError, match="row 6 failed: bad_request"):
            llmframe.embed_file(source, target, "text", on_error="raise", where=where, max_concurrency=1, **options)
        sick.clear()
        provider.reset()
        report = llmframe.embed_file(source, target, "text", where=where, **options)
        assert report.notes == ("3 parts with 6 rows were finished by an earlier run",)
        assert sorted(text for body in provider.bodies for text in body["input"]) == ["a", "c"]
    assert [told(cell) for cell in pq.read_table(target)["embedding"].to_pylist()] == [numbers(text) for text in TEXTS]


def test_parts_with_empty_texts_are_finished_too(source: Path, target: Path, provider: Provider):
    options: dict[str, Any] = {**FOUR, "client": provider, "rows": 2, "max_concurrency": 1, "batch_size": 1}
    provider.when("c", Status(401))
    assert llmframe.embed_file(source, target, "text", **options).output is None
    provider.reset()
    report = llmframe.embed_file(source, target, "text", **options)
    assert report.notes == ("3 parts with 6 rows were finished by an earlier run",)


def test_async_code_awaits_the_same(source: Path, target: Path, provider: Provider):
    report = asyncio.run(llmframe.aembed_file(source, target, "text", client=provider, loop="current", progress=False))
    assert report.answered == 6
    assert pq.read_table(target).schema.field("embedding").type == vectors_of(8)


@pytest.mark.parametrize("cache", [False, "refresh"])
def test_what_is_not_kept_is_asked_once_a_run_all_the_same(source: Path, target: Path, provider: Provider, cache: Any):
    options: dict[str, Any] = {"client": provider, "rows": 2, "cache": cache, "progress": False}
    for run in (1, 2):
        report = llmframe.embed_file(source, target, "text", exists="replace", **options)
        asked = [text for body in provider.bodies for text in body["input"]]
        assert sorted(asked) == sorted(["a", "b", "c", "ä→"] * run)
        assert report.input_tokens == 4
