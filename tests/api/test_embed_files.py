"""Calls of `embed_file` that can't work: told before anything is sent or written."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import llmframe
from llmframe.api.embedding import EmbedOptions
from llmframe.errors import UsageError
from llmframe.testing import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def ask(tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    pq.write_table(pa.table({"text": ["a", "b"], "n": [1, 2], "v": [1, 2]}), tmp_path / "in.parquet")
    monkeypatch.chdir(tmp_path)
    return {"source": "in.parquet", "target": "out.parquet", "column": "text", "client": provider}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column": "txet"}, "no column 'txet'; did you mean 'text'"),
        ({"column": None}, "needs the column whose texts are embedded"),
        ({"source": "none.parquet"}, "none.parquet"),
        ({"target": "in.parquet"}, "would overwrite the input"),
        ({"target": "nowhere/out.parquet"}, "nowhere"),
        ({"exists": "repalce"}, "`exists` must be one of"),
        ({"rows": 0}, "`rows` must be a whole number of at least 1, got 0"),
        ({"dimensions": 0}, "`dimensions` must be a whole number from 1 up"),
        ({"on_null": "raise"}, '`on_null="raise"` needs rows that are there'),
        ({"loop": "current"}, "await llmframe.aembed_file"),
        ({"where": [True, False]}, "`where` over files is a function"),
        ({"into": "v"}, r"llmframe.embed_file\(..., prefix="),
        ({"into": "v", "overwrite": True, "where": pl.col("n") > 1}, "`overwrite=True` under `where` keeps values"),
        ({"mode": "batch", "cache": False}, "leave out `cache=False`"),
        ({"budget": 1.0}, "a budget of dollars needs the price"),
        ({"labels": "string"}, "labels"),
        ({"dimension": 3}, "did you mean 'dimensions'"),
    ],
)
def test_what_cant_work_is_told_before_anything_is_sent(
    ask: dict[str, Any], provider: Provider, change: dict[str, Any], message: str
):
    with pytest.raises(UsageError, match=message):
        llmframe.embed_file(**{**ask, **change})
    assert provider.requests == 0
    assert not Path("out.parquet").exists()


def test_an_output_that_is_there_stays_unless_it_is_to_be_replaced(ask: dict[str, Any], provider: Provider):
    Path("out.parquet").write_bytes(b"mine")
    with pytest.raises(UsageError, match='exists="replace"'):
        llmframe.embed_file(**ask)
    assert provider.requests == 0
    llmframe.embed_file(**ask, exists="replace", progress=False)
    assert pq.read_table("out.parquet").num_rows == 2


@pytest.mark.parametrize("verb", [llmframe.embed_file, llmframe.aembed_file])
def test_help_shows_what_is_passed_on(verb: Any):
    own = list(inspect.signature(verb).parameters)
    assert own[:3] == ["source", "target", "column"]
    assert own[9:] == [*EmbedOptions.__annotations__, "unknown"]
