"""Which column an annotation becomes, and which cell a value."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional
from uuid import UUID

import pytest
from pydantic import (
    AwareDatetime,
    BaseModel,
    Field,
    HttpUrl,
    JsonValue,
    NaiveDatetime,
    PastDate,
    RootModel,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    condecimal,
    conint,
)
from typing_extensions import TypedDict  # pydantic refuses the one of `typing` before 3.12

from llmframe.core.columns import ColumnType
from llmframe.core.fields import field_type
from llmframe.core.scalars import Misfit
from llmframe.errors import UsageError


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class StrMood(enum.StrEnum):
    GOOD = "good"
    BAD = "bad"


class Grade(enum.IntEnum):
    ONE = 1
    TWO = 2


class Mixed(enum.Enum):
    ONE = 1
    B = "b"


class Point(BaseModel):
    x: int
    mood: Mood = Field(alias="The Mood")


class Empty(BaseModel):
    pass


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class Forest(BaseModel):
    tree: Tree
    n: int


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    loud: bool


class Labels(RootModel[list[str]]):
    pass


@dataclasses.dataclass
class Plain:
    a: int
    b: Optional[str] = None  # noqa: UP045 - both spellings of optional are read


class Dict(TypedDict):
    a: int
    b: NotRequired[str]


UserId = NewType("UserId", int)

ENUM = ColumnType("enum", labels=("good", "bad"))
INT, TEXT, FLOAT, BOOL, JSON = (ColumnType(kind) for kind in ("int", "string", "float", "bool", "json"))
POINT = ColumnType("struct", fields=(("x", INT), ("mood", ENUM)))
A_DAY, A_TIME = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 0, 5)  # noqa: DTZ001 - naive is the point


def listed(item: ColumnType) -> ColumnType:
    return ColumnType("list", item=item)


# annotation, what the model says, column type, cell
TABLE: list[tuple[Any, Any, ColumnType, object]] = [
    (Literal["good", "bad"], "bad", ENUM, "bad"),
    (Literal["good", "bad"] | None, None, ENUM, None),
    (Literal["good"] | Literal["bad"], "bad", ENUM, "bad"),  # noqa: PYI030 - as a user may write it
    (Mood, "good", ENUM, "good"),
    (StrMood, "good", ENUM, "good"),
    (Literal[StrMood.GOOD, StrMood.BAD], "good", ENUM, "good"),
    (Literal[1, 2], 2, INT, 2),
    (Literal[True], True, BOOL, True),
    (Literal["a", 1], 1, TEXT, "1"),
    (Grade, 2, INT, 2),
    (Mixed, 1, TEXT, "1"),
    (Literal["a"] | str, "zebra", TEXT, "zebra"),  # noqa: PYI051 - as a user may write it
    (str, "é ", TEXT, "é "),
    (bool, True, BOOL, True),
    (Optional[int], None, INT, None),  # noqa: UP045 - as above
    (int, 9007199254740993, INT, 9007199254740993),
    (UserId, 7, INT, 7),
    (conint(ge=1, le=5), 5, INT, 5),
    (float, 3, FLOAT, 3.0),
    (int | float, 3, FLOAT, 3.0),
    (date, "2024-02-29", ColumnType("date"), A_DAY),
    (PastDate, "2024-02-29", ColumnType("date"), A_DAY),
    (datetime, "2024-02-29T12:30:00.000005", ColumnType("datetime"), A_TIME),
    (datetime, "2024-02-29T14:30:00.000005+02:00", ColumnType("datetime"), A_TIME),
    (NaiveDatetime, "2024-02-29T12:30:00.000005", ColumnType("datetime"), A_TIME),
    (AwareDatetime, "2024-02-29T14:30:00.000005+02:00", ColumnType("datetime", utc=True), A_TIME.replace(tzinfo=UTC)),
    (timedelta, "PT90S", ColumnType("duration"), timedelta(seconds=90)),
    (time, "12:30:00", TEXT, "12:30:00"),
    (Decimal, "1.50", TEXT, "1.50"),
    (Decimal, "1E+3", TEXT, "1000"),
    (condecimal(decimal_places=2), "1.5", ColumnType("decimal", scale=2), Decimal("1.50")),
    (Annotated[Decimal, Field(decimal_places=0)], "7", ColumnType("decimal", scale=0), Decimal(7)),
    (
        list[Annotated[Decimal, Field(decimal_places=1)]],
        ["7"],
        listed(ColumnType("decimal", scale=1)),
        [Decimal("7.0")],
    ),
    (UUID, "12345678123456781234567812345678", TEXT, "12345678-1234-5678-1234-567812345678"),
    (HttpUrl, "https://example.org/a", TEXT, "https://example.org/a"),
    (Path, "a/b", TEXT, "a/b"),
    (SecretBytes, "told", TEXT, "told"),
    (SecretStr, "told", TEXT, "told"),
    (bytes, "raw", TEXT, "raw"),
    (list[str], ["a", "b"], listed(TEXT), ["a", "b"]),
    (list[Mood], ["bad"], listed(ENUM), ["bad"]),
    (list[Point], [{"x": 1, "The Mood": "bad"}], listed(POINT), [{"x": 1, "mood": "bad"}]),
    (list[int | None], [1, None], listed(INT), [1, None]),
    (Sequence[int], [1], listed(INT), [1]),
    (set[int], [10, 9, 10], listed(INT), [9, 10]),
    (tuple[int, ...], [1, 2], listed(INT), [1, 2]),
    (tuple[int, int], [1, 2], listed(INT), [1, 2]),
    (tuple[int, str], [1, "a"], JSON, '[1,"a"]'),
    (list[dict[str, int]], [{"é": 1}], listed(JSON), ['{"é":1}']),
    (Labels, ["a"], listed(TEXT), ["a"]),
    (Point, {"x": 1, "The Mood": "good"}, POINT, {"x": 1, "mood": "good"}),
    (Point | None, None, POINT, None),
    (
        Cat,
        {"kind": "cat"},
        ColumnType("struct", fields=(("kind", ColumnType("enum", labels=("cat",))),)),
        {"kind": "cat"},
    ),
    (Plain, {"a": 1}, ColumnType("struct", fields=(("a", INT), ("b", TEXT))), {"a": 1, "b": None}),
    (Dict, {"a": 1}, ColumnType("struct", fields=(("a", INT), ("b", TEXT))), {"a": 1, "b": None}),
    (dict[str, Mood], {"k": "good"}, JSON, '{"k":"good"}'),
    (dict, {"k": [1, None]}, JSON, '{"k":[1,null]}'),
    (Any, {"k": 1}, JSON, '{"k":1}'),
    (Any, None, JSON, None),
    (JsonValue, [1, "a"], JSON, '[1,"a"]'),
    (int | str, "1", JSON, '"1"'),
    (date | list[int], [1], JSON, "[1]"),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat"}, JSON, '{"kind":"cat"}'),
    (Empty, {}, JSON, "{}"),
    (Tree, {"name": "a", "kids": [{"name": "b"}]}, JSON, '{"name":"a","kids":[{"name":"b","kids":[]}]}'),
    (list[Tree], [{"name": "a"}], JSON, '[{"name":"a","kids":[]}]'),
    (
        Forest,
        {"tree": {"name": "a"}, "n": 1},
        ColumnType("struct", fields=(("tree", JSON), ("n", INT))),
        {"tree": '{"name":"a","kids":[]}', "n": 1},
    ),
]


@pytest.mark.parametrize(("annotation", "said", "kind", "cell"), TABLE, ids=[str(row[0])[:60] for row in TABLE])
def test_an_annotation_decides_the_column_and_a_value_becomes_its_cell(annotation, said, kind, cell):
    found = field_type(annotation)
    assert found.type == kind
    got = found.cell(TypeAdapter(annotation).validate_json(json.dumps(said)))
    assert got == cell
    assert type(got) is type(cell)


@pytest.mark.parametrize("annotation", [row[0] for row in TABLE], ids=[str(row[0])[:60] for row in TABLE])
def test_every_column_can_be_null(annotation):
    assert field_type(annotation).cell(None) is None


@pytest.mark.parametrize(
    ("annotation", "allowed"),
    [
        (bool, (False, True)),
        (bool | None, (False, True)),
        (Mood, ("good", "bad")),
        (Literal["a", None], ("a",)),  # noqa: PYI061 - as a user may write it
        (Grade, (1, 2)),
        (Mixed, (1, "b")),
        (str, ()),
        (list[Mood], ()),
    ],
)
def test_a_closed_field_lists_its_values_as_they_stand_in_json(annotation, allowed):
    assert field_type(annotation).allowed == allowed


def test_labels_as_text_reach_every_depth():
    assert field_type(list[Point], labels="string").type == listed(
        ColumnType("struct", fields=(("x", INT), ("mood", TEXT)))
    )
    assert field_type(Mood, labels="string").allowed == ("good", "bad")


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (list[str], ["é"], '["é"]'),
        (set[str], {"b", "a", "c"}, '["a","b","c"]'),
        (Point, Point.model_validate({"x": 1, "The Mood": "bad"}), '{"x":1,"mood":"bad"}'),
        (list[float] | None, None, None),
    ],
)
def test_nested_values_become_json_text_on_demand(annotation, value, text):
    found = field_type(annotation, nested="json")
    assert found.type == JSON
    assert found.cell(value) == text


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 2**63),
        (int, -(2**63) - 1),
        (float, float("nan")),
        (float, float("-inf")),
        (int | float, 10**400),
        (list[int], [2**63]),
        (Any, {"a": float("nan")}),
        (dict[str, float], {"a": float("inf")}),
        (timedelta, timedelta.max),
        (datetime, datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))),
        (condecimal(decimal_places=2), Decimal(10) ** 36),
        (int, "a validator made text of it"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_a_misfit(annotation, value):
    with pytest.raises(Misfit):
        field_type(annotation).cell(value)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type X = …` is new in 3.12")
def test_a_type_alias_is_what_it_names():
    space: dict[str, Any] = {}
    exec("type Alias = list[int]\ntype Loop = list[Loop]", space)  # noqa: S102 - the syntax is newer than the oldest Python
    assert field_type(space["Alias"]).type == listed(INT)
    assert field_type(space["Loop"]).type == JSON


class Days(enum.Enum):
    FIRST = date(2024, 1, 1)


class Pairs(enum.Enum):
    ONE = ("x", 1)


class Found(enum.Enum):
    FIRST = date(2024, 1, 1)

    @classmethod
    def _missing_(cls, value: object) -> Found:
        return cls(date.fromisoformat(str(value)))


@pytest.mark.parametrize("kind", [Days, Pairs, list[Days], Days | None])
def test_an_enum_that_no_reply_can_name_is_refused(kind: object):
    with pytest.raises(UsageError, match=r"which no JSON reply can name; give its members texts"):
        field_type(kind)


def test_an_enum_that_finds_its_members_by_itself_may_hold_anything():
    found = field_type(Found)
    assert found.cell(TypeAdapter(Found).validate_json('"2024-01-01"')) == date(2024, 1, 1)
