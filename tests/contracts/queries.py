"""Lazy queries with a map in them, by the verb and by an expression."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel

from llmframe.testing import Provider


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]


ROWS = [f"row-{number}" for number in range(6)]
DTYPES = {"id": pl.String, "label": pl.Enum(["pos", "neg"]), "error": pl.String}


def lazy(**columns: list[Any]) -> pl.LazyFrame:
    return pl.LazyFrame({"t": ROWS, "n": list(range(6)), **columns})


def as_map(frame: pl.LazyFrame, provider: Provider, **options: Any) -> pl.LazyFrame:
    return frame.llm.map("J {t}", schema=Verdict, client=provider, **options)


def as_expression(frame: pl.LazyFrame, provider: Provider, **options: Any) -> pl.LazyFrame:
    return frame.with_columns(pl.struct("t").llm.map("J {t}", schema=Verdict, client=provider, **options)).unnest("llm")


VERBS = pytest.mark.parametrize("verb", [as_map, as_expression])
"""A test on both."""
