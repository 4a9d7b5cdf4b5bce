"""Every kind of schema: its columns, their dtypes whatever came back, and their way to disk."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Generic, Literal, TypedDict, TypeVar

import polars as pl
import pytest
from pydantic import BaseModel, Field, RootModel

from llmframe.testing import Object, Provider
from tests.contracts.kinds import Kind

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Part(BaseModel):
    name: str
    size: int | None


class Closed(BaseModel):
    colour: Colour
    level: Level
    label: Literal["a", "b"] = "a"
    code: Literal[1, 2]


class Scalars(BaseModel):
    count: int
    maybe: int | None
    sure: bool
    share: float
    day: date
    moment: datetime
    span: timedelta


class Priced(Scalars):
    price: Decimal


class Nested(BaseModel):
    tags: list[str]
    part: Part
    parts: list[Part]


class Open(BaseModel):
    meta: dict[str, Any]
    scores: dict[str, int]
    anything: Any
    either: int | str


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class Box(BaseModel, Generic[T]):
    item: T


class Words(RootModel[list[str]]):
    pass


class Typed(TypedDict):
    label: str
    count: int


@dataclass
class Data:
    label: Literal["x", "y"]
    note: str | None = None


class Aliased(BaseModel):
    label: str = Field(alias="Label Text")


class Awkward(BaseModel):
    shape: str
    index: int
    schema_: int = Field(alias="schema")
    copy_: str = Field(alias="copy")
    model_name: str


SPECS: dict[str, Any] = {
    "closed": Closed,
    "scalars": Scalars,
    "nested": Nested,
    "open": Open,
    "recursive": Tree,
    "generic": Box[int],
    "root": Words,
    "typeddict": Typed,
    "dataclass": Data,
    "alias": Aliased,
    "awkward": Awkward,
    "one-literal": Literal["a", "b"],
    "one-enum": Colour,
    "one-bool": bool,
    "one-int": int,
    "one-float": float,
    "one-str": str,
    "one-list": list[str],
    "one-list-of-models": list[Part],
    "labels": ["good", "bad"],
    "free-text": None,
}


@pytest.mark.filterwarnings("ignore:Field name .* shadows:UserWarning")
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_answers_are_written_read_back_and_pickled(library: Kind, provider: Provider, spec: Any):
    out = library.make({"t": ["a", "b", "c"]}).llm.map("J {t}", schema=spec, client=provider)
    columns = library.to_dict(out)
    assert columns["error"] == [None] * 3
    back = library.through_parquet(out)
    assert list(library.to_dict(back)) == list(columns)
    assert library.dtypes(library.through_pickle(out)) == library.dtypes(out)
    none = library.make({"t": []}).llm.map("J {t}", schema=spec, client=provider)
    assert library.dtypes(none)[1:] == library.dtypes(out)[1:]
    assert list(library.to_dict(library.through_parquet(none))) == list(columns)
    assert provider.requests == 3


ANSWERS = {
    "tags": ["x", "y"],
    "part": {"name": "n", "size": None},
    "parts": [{"name": "m", "size": 2}],
}


def test_nested_answers_come_as_lists_and_dicts(kind: Kind, provider: Provider):
    provider.always(Object(ANSWERS))
    out = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Nested, client=provider)
    columns = kind.to_dict(out)
    assert [columns[name][0] for name in ANSWERS] == list(ANSWERS.values())


def test_nested_answers_come_as_json_on_demand(kind: Kind, provider: Provider):
    provider.always(Object(ANSWERS))
    out = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Nested, client=provider, nested="json")
    columns = kind.to_dict(out)
    assert [json.loads(columns[name][0]) for name in ANSWERS] == list(ANSWERS.values())
    assert kind.to_dict(kind.through_parquet(out)) == columns


def test_values_have_the_types_of_the_schema(kind: Kind, provider: Provider):
    sent = {
        "count": 9007199254740993,
        "maybe": None,
        "sure": True,
        "share": 0.1,
        "day": "2024-02-29",
        "moment": "2024-02-29T01:02:03",
        "span": "PT90S",
        "price": "1.50",
    }
    provider.always(Object(sent))
    out = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Priced, client=provider)
    row = {name: values[0] for name, values in kind.to_dict(out).items()}
    assert row["count"] == 9007199254740993  # an odd number above 2**53: a float would have lost it
    assert row["maybe"] is None
    assert row["sure"] is True
    assert row["share"] == 0.1
    assert row["day"] == date(2024, 2, 29)
    assert row["moment"] == datetime(2024, 2, 29, 1, 2, 3)  # noqa: DTZ001 - the schema says no zone
    assert row["span"] == timedelta(seconds=90)
    assert Decimal(row["price"]) == Decimal("1.50")
    assert list(kind.to_dict(kind.through_parquet(out))) == ["t", *sent, "error"]
    assert kind.to_dict(kind.through_pickle(out)) == kind.to_dict(out)


def test_labels_are_plain_text_on_demand(kind: Kind, provider: Provider):
    enums = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Closed, client=provider)
    strings = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Closed, client=provider, labels="string")
    assert kind.to_dict(enums) == kind.to_dict(strings)
    assert provider.requests == 1
    dtypes = dict(zip(kind.to_dict(enums), zip(kind.dtypes(enums), kind.dtypes(strings), strict=True), strict=True))
    assert dtypes["label"][1] == dtypes["error"][1]
    assert dtypes["label"][0] != dtypes["label"][1]
    if kind.library == "polars":
        assert enums["label"].dtype == pl.Enum(["a", "b"])


def test_an_integer_that_no_column_holds_is_invalid(library: Kind, provider: Provider):
    provider.always(Object({"response": 2**63}))
    with pytest.warns(match="1 invalid"):
        out = library.make({"t": ["a"]}).llm.map("J {t}", schema=int, client=provider, reask=0)
    assert library.to_dict(out)["error"][0].startswith("invalid: ")


def test_columns_are_named_by_field_and_wire_by_alias(library: Kind, provider: Provider):
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Aliased, client=provider)
    assert list(library.to_dict(out)) == ["t", "label", "error"]
    assert "Label Text" in provider.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]
