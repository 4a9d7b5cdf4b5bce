"""`extract` as a question: the schema as it is, and items as rows of their own types."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, Field

from llmframe.errors import UsageError
from llmframe.judge.extract import extract
from llmframe.testing import Object, Provider


class Line(BaseModel):
    """What was bought."""

    what: str
    day: date
    price: Annotated[Decimal, Field(decimal_places=2)]
    tags: list[str]
    more: dict[str, int] = {}


class Bill(BaseModel):
    shop: str
    lines: list[Line] | None = None
    total: float


LINES = [
    {"what": "tea", "day": "2026-01-02", "price": "1.50", "tags": ["hot", "green"], "more": {"a": 1}},
    {"what": "pie", "day": "2026-01-03", "price": "2.00", "tags": []},
]
FRAME = pl.DataFrame({"t": ["row-1", "row-2"]})
TYPES = {
    "t": pl.String(),
    "shop": pl.String(),
    "what": pl.String(),
    "day": pl.Date(),
    "price": pl.Decimal(38, 2),
    "tags": pl.List(pl.String),
    "more": pl.String(),
    "total": pl.Float64(),
    "error": pl.String(),
}


@pytest.fixture
def shop():
    with Provider() as provider:
        provider.when("row-1", Object({"shop": "A", "lines": LINES, "total": 3.5}))
        provider.when("row-2", Object({"shop": "B", "lines": None, "total": 0}))
        yield provider


def test_items_have_the_dtypes_of_their_fields_in_the_place_of_the_list(shop: Provider):
    out = extract(FRAME, "t", Bill, explode="lines", client=shop)
    assert dict(out.schema) == TYPES
    assert out["t"].to_list() == ["row-1", "row-1", "row-2"]
    assert out["day"].to_list() == [date(2026, 1, 2), date(2026, 1, 3), None]
    assert out["price"].to_list() == [Decimal("1.50"), Decimal("2.00"), None]
    assert out["tags"].to_list() == [["hot", "green"], [], None]
    assert out["more"].to_list() == ['{"a":1}', "{}", None]
    lazy = extract(FRAME.lazy(), "t", Bill, explode="lines", client=shop)
    assert dict(lazy.collect_schema()) == TYPES
    assert lazy.collect().equals(out)


def test_pandas_has_the_same_items(shop: Provider):
    out = extract(pd.DataFrame({"t": ["row-1", "row-2"]}), "t", Bill, explode="lines", client=shop)
    assert list(out.columns) == list(TYPES)
    assert out["day"].tolist()[:2] == [date(2026, 1, 2), date(2026, 1, 3)]
    assert out["tags"].tolist()[0] == ["hot", "green"]
    assert pd.isna(out["what"].tolist()[2])
    assert out.index.tolist() == [0, 0, 1]


def test_the_schema_is_sent_as_the_model_says_it(shop: Provider):
    extract(FRAME, "t", Bill, client=shop)
    sent = shop.bodies[0]["response_format"]["json_schema"]
    assert sent["name"] == "Bill"
    assert list(sent["schema"]["properties"]) == ["shop", "lines", "total"]


def test_a_list_of_the_schema_is_asked_for_when_it_is_the_item():
    with Provider() as provider:
        extract(FRAME, "t", Line, explode=True, client=provider)
        shape: dict[str, Any] = provider.bodies[0]["response_format"]["json_schema"]["schema"]
        assert "Name every item" in provider.bodies[0]["messages"][0]["content"]
    assert shape["properties"]["response"]["type"] == "array"
    assert "Line" in shape["$defs"]


def test_the_same_answers_serve_with_and_without_rows_for_items(shop: Provider):
    extract(FRAME, "t", Bill, client=shop)
    assert extract(FRAME, "t", Bill, explode="lines", client=shop).height == 3
    assert shop.requests == 2


class Tagged(BaseModel):
    tag: Literal["a", "b"]


@pytest.mark.parametrize(("labels", "dtype"), [("enum", pl.Enum(["a", "b"])), ("string", pl.String())])
def test_labels_of_items_are_of_the_kind_that_is_said(labels: Any, dtype: pl.DataType):
    with Provider() as provider:
        provider.always(Object({"response": [{"tag": "a"}, {"tag": "b"}]}))
        out = extract(FRAME, "t", Tagged, explode=True, labels=labels, client=provider)
    assert out["tag"].to_list() == ["a", "b", "a", "b"]
    assert out["tag"].dtype == dtype


def test_a_schema_alone_reads_every_column():
    with Provider() as provider:
        out = extract([{"title": "One", "text": "Two"}], Bill, client=provider, cache=False, progress=False)
        assert [provider.prompts[0].count(word) for word in ("title:", "One", "text:", "Two")] == [1, 1, 1, 1]
    assert {"title", "text", "error"} < set(out[0])


def test_without_a_schema_there_is_nothing_to_extract():
    with Provider() as provider, pytest.raises(UsageError, match="wants a schema"):
        extract([{"text": "Two"}], "text", client=provider)
