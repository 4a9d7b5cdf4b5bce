"""20,000 rows with a tenth distinct: requests as packed, every row its own vector, whatever the way.

A million are measured in `benchmarks/`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import llmframe
from llmframe.testing import Provider
from llmframe.testing.embeddings import vector

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")

ROWS, DISTINCT, WIDTH, INPUTS = 20_000, 2_000, 4, 300
REQUESTS = 7
"""2,000 texts, 300 a request."""

BAD: dict[int, tuple[Any, str]] = {
    **dict.fromkeys(range(5_000, 5_010), (np.nan, "null")),
    **dict.fromkeys(range(9_000, 9_020), ("", "empty")),
    **dict.fromkeys(range(15_000, 15_030), ("long " * 20_000, "context_length")),  # 100,000 characters, surely too long
}
TEXTS: list[Any] = [BAD[row][0] if row in BAD else f"text {row % DISTINCT}" for row in range(ROWS)]
ANSWERED = np.array([row not in BAD for row in range(ROWS)])
OPTIONS: dict[str, Any] = {"dimensions": WIDTH, "batch_size": INPUTS, "progress": False}


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    distinct = np.array([vector(f"text {number}", WIDTH) for number in range(DISTINCT)], "float32")
    return distinct[np.arange(ROWS)[ANSWERED] % DISTINCT]


def errors(column: Any) -> Counter[str]:
    return Counter(error.partition(":")[0] for error in column if isinstance(error, str))


def texts_sent(provider: Provider) -> int:
    return sum(len(body["input"]) for body in provider.bodies)


KINDS = Counter(kind for _, kind in BAD.values())


def test_in_pandas(provider: Provider, expected: np.ndarray):
    out = pd.DataFrame({"text": TEXTS}).llm.embed("text", client=provider, **OPTIONS)
    assert (provider.requests, texts_sent(provider)) == (REQUESTS, DISTINCT)
    assert np.array_equal(np.stack(out["embedding"][ANSWERED].to_list()), expected)
    assert out["embedding"][~ANSWERED].isna().all()
    assert errors(out["error"]) == KINDS


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_in_polars_live_and_by_batches(provider: Provider, expected: np.ndarray, mode: Any):
    frame = pl.DataFrame({"text": [text if isinstance(text, str) else None for text in TEXTS]})
    out = frame.llm.embed("text", client=provider, mode=mode, **OPTIONS)
    if mode == "live":
        assert (provider.requests, texts_sent(provider)) == (REQUESTS, DISTINCT)
    else:
        assert (provider.requests, provider.batches.created, provider.batches.lines) == (0, 1, REQUESTS)
        assert len(provider.batches.paid_prompts) == provider.batches.paid_prompts.total() == DISTINCT
    assert np.array_equal(out["embedding"].filter(ANSWERED).to_numpy(), expected)
    assert out["embedding"].null_count() == len(BAD)
    assert errors(out["error"]) == KINDS


def test_in_a_file(provider: Provider, expected: np.ndarray, tmp_path: Path):
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "in.parquet")
    options: dict[str, Any] = {**OPTIONS, "cache": tmp_path / "vectors.sqlite"}
    report = llmframe.embed_file(tmp_path / "in.parquet", tmp_path / "out.parquet", "text", client=provider, **options)
    # the first part of 4,096 rows has every text
    assert (provider.requests, texts_sent(provider), report.requests) == (REQUESTS, DISTINCT, REQUESTS)
    table = pq.read_table(tmp_path / "out.parquet")
    vectors = table["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, WIDTH)
    assert np.array_equal(vectors[ANSWERED] if len(vectors) == ROWS else vectors, expected)
    assert table["embedding"].null_count == len(BAD)
    assert errors(table["error"].to_pylist()) == KINDS
    assert report.failed == KINDS
