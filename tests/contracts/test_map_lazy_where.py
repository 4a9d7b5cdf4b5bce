"""`where` and `overwrite` inside a lazy polars query."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.queries import DTYPES, ROWS, VERBS, Verdict, as_map, lazy


@VERBS
def test_where_keeps_rows_from_being_asked(verb: Any, provider: Provider):
    out = verb(lazy(), provider, where=pl.col("n").is_in([1, 2])).collect()
    assert out["id"].to_list() == [None, "row-1", "row-2", None, None, None]
    assert out["error"].to_list() == [None] * 6
    assert provider.requests == 2


def test_under_where_an_expression_still_goes_by_its_name(provider: Provider):
    asked = pl.col("t").llm.map("J {t}", schema=Verdict, client=provider, where=pl.col("n") == 1)
    out = lazy().with_columns(asked).collect()
    assert out["llm"].to_list()[0] is None
    assert out["llm"].to_list()[1]["id"] == "row-1"
    assert provider.prompts == ["J row-1"]


def test_rows_that_are_not_asked_have_no_struct(provider: Provider):
    eager = lazy().collect().llm.map("J {t}", schema=Verdict, client=provider, into="x", where=pl.col("n") == 1)
    assert as_map(lazy(), provider, into="x", where=pl.col("n") == 1).collect().equals(eager)
    asked = pl.struct("t").llm.map("J {t}", schema=Verdict, client=provider, into="x", where=pl.col("n") == 1)
    assert lazy().with_columns(asked).collect().equals(eager)
    assert eager["x"].null_count() == 5


@VERBS
def test_numbers_are_no_mask(verb: Any, provider: Provider):
    with pytest.raises(UsageError, match=r"polars\.Expr of Int64"):
        verb(lazy(), provider, where=pl.col("n")).collect()
    assert provider.requests == 0


@VERBS
def test_null_in_where_is_no(verb: Any, provider: Provider):
    frame = lazy(w=[True, None, False, None, True, None])
    assert verb(frame, provider, where=pl.col("w")).collect()["id"].to_list()[:5] == [
        "row-0",
        None,
        None,
        None,
        "row-4",
    ]
    assert provider.requests == 2


def test_where_may_be_a_function_of_the_query(provider: Provider):
    out = as_map(lazy(), provider, where=lambda frame: pl.col(frame.collect_schema().names()[1]) == 5).collect()
    assert out["id"].to_list() == [None] * 5 + ["row-5"]
    with pytest.raises(UsageError, match="polars expression, got list"):
        as_map(lazy(), provider, where=[True] * 6)


def test_overwriting_under_where_keeps_the_other_rows(provider: Provider):
    frame = lazy(label=["pos"] * 6, error=["old"] * 6, id=["kept"] * 6)
    with pytest.raises(UsageError, match="overwrite=True"):
        as_map(frame, provider)
    query = as_map(frame, provider, where=pl.col("n") == 2, overwrite=True)
    assert query.collect_schema().names() == ["t", "n", "label", "error", "id"]
    out = query.collect()
    assert out["id"].to_list() == ["kept", "kept", "row-2", "kept", "kept", "kept"]
    assert out["error"].to_list() == ["old", "old", None, "old", "old", "old"]
    assert out.schema["label"] == DTYPES["label"]
    assert provider.requests == 1


def test_failed_rows_are_filled_by_the_next_map(provider: Provider):
    provider.when("row-2", Status(400, "context_length_exceeded"), times=1)
    with pytest.warns(LlmframeWarning, match="context_length"):
        once = as_map(lazy(), provider).collect()
    out = as_map(once.lazy(), provider, where=pl.col("error").is_not_null(), overwrite=True).collect()
    assert out["id"].to_list() == ROWS
    assert provider.requests == 7
