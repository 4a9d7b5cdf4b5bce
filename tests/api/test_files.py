"""Calls of `map_file` that can't work: told before anything is sent or written."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def ask(tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    pq.write_table(pa.table({"review": ["a", "b"], "n": [1, 2]}), tmp_path / "in.parquet")
    monkeypatch.chdir(tmp_path)
    return {
        "source": tmp_path / "in.parquet",
        "target": tmp_path / "out.parquet",
        "prompt_template": "J {review}",
        "schema": ["a", "b"],
        "client": provider,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_template": "J {reviw}"}, "'reviw'.*did you mean 'review'"),
        ({"source": "none.parquet"}, "none.parquet"),
        ({"format": "parqet"}, "parquet"),
        ({"target": "nowhere/out.parquet"}, "nowhere"),
        ({"exists": "repalce"}, "`exists` must be one of 'error', 'replace', 'append', got 'repalce'.*'replace'"),
        ({"exists": "append"}, "`exists='append'` is for Delta tables"),
        ({"spreadsheet_safe": True}, "`spreadsheet_safe` is for CSV"),
        ({"spreadsheet_safe": 1}, "`spreadsheet_safe` must be True or False, got 1"),
        ({"rows": 0}, "`rows` must be a whole number of at least 1, got 0"),
        ({"on_null": "raise"}, '`on_null="raise"` needs rows that are there'),
        ({"loop": "current"}, "await llmframe.amap_file"),
        ({"where": [True, False]}, "`where` over files is a function of a `pyarrow.Table`"),
        ({"where": lambda table: [True] * 5}, "`where` has 5 entries"),
        ({"temperature": 0}, "params="),
        ({"exist": "error"}, "did you mean 'exists'"),
        ({"into": "n"}, r"llmframe.map_file\(..., prefix="),
        ({"budget": 1.0}, "a budget of dollars needs the price"),
    ],
)
def test_what_cant_work_is_told_before_anything_is_sent(
    ask: dict[str, Any], provider: Provider, tmp_path: Path, change: dict[str, Any], message: str
):
    with pytest.raises(UsageError, match=message):
        llmframe.map_file(**ask | change)
    assert provider.requests == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_an_output_that_is_there_is_left_alone(ask: dict[str, Any], provider: Provider):
    ask["target"].write_text("mine")
    with pytest.raises(UsageError, match=r'is there already \(a file of 4 bytes\); say `exists="replace"`'):
        llmframe.map_file(**ask)
    assert (ask["target"].read_text(), provider.requests) == ("mine", 0)


@pytest.mark.parametrize("exists", ["error", "replace"])
def test_a_folder_with_files_of_somebody_else_is_left_alone(
    ask: dict[str, Any], provider: Provider, tmp_path: Path, exists: str
):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letters.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"a folder with 1 other file \('letters.txt'\), which stay as they are"):
        llmframe.map_file(**ask | {"target": tmp_path / "out", "exists": exists})
    assert ([path.name for path in (tmp_path / "out").iterdir()], provider.requests) == (["letters.txt"], 0)


@pytest.mark.parametrize(
    ("source", "target"),
    [("in.parquet", "in.parquet"), ("in.parquet", "."), (".", "out"), ("*.parquet", "out.parquet")],
)
def test_the_output_cant_be_in_the_input(ask: dict[str, Any], provider: Provider, source: str, target: str):
    with pytest.raises(UsageError, match=r"would overwrite the input .*, or be read with it the next time"):
        llmframe.map_file(**ask | {"source": source, "target": target, "exists": "replace"})
    assert provider.requests == 0


def test_a_plan_needs_no_output_and_tells_the_same_mistakes(ask: dict[str, Any], provider: Provider):
    del ask["target"]
    assert llmframe.plan_file(**ask).requests == 2
    with pytest.raises(UsageError, match="did you mean 'review'"):
        llmframe.plan_file(**ask | {"prompt_template": "J {reviw}"})


@pytest.mark.parametrize("verb", [llmframe.map_file, llmframe.amap_file, llmframe.plan_file])
def test_the_signature_shows_all_arguments_of_map(verb: Any):
    shown, of_map = inspect.signature(verb).parameters, inspect.signature(llmframe.map).parameters
    assert set(of_map) - set(shown) == {"frame"}
    assert shown["labels"].default == "string"
    assert list(shown)[-1] == "unknown"
