from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from llmframe.testing import instance

SEEDS = range(40)


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Inner(BaseModel):
    points: int = Field(ge=1, le=5)
    share: float = Field(gt=0, lt=1)


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Linked(BaseModel):
    value: int
    next: Linked | None


class Number(BaseModel):
    kind: Literal["number"]
    value: float


class Sum(BaseModel):
    kind: Literal["sum"]
    left: Expression
    right: Expression


Expression = Number | Sum


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mood: Mood
    code: Literal[1, 2, 3]
    fixed: Literal["only"]
    inner: Inner
    many: list[Inner] = Field(min_length=2, max_length=3)
    pair: tuple[int, str]
    maybe: str | None
    either: int | list[bool]
    counts: dict[str, int]
    by_mood: dict[Mood, float]
    price: Decimal
    day: dt.date
    moment: dt.datetime
    clock: dt.time
    span: dt.timedelta
    key: uuid.UUID
    grid: float = Field(multiple_of=0.25, ge=-1, le=1)
    tens: int = Field(multiple_of=10, gt=10, lt=40)
    short: str = Field(max_length=3)
    long: str = Field(min_length=30)
    plate: str = Field(pattern=r"^[A-Z]{2}-\d{3,4}$")
    tags: set[Literal["a", "b", "c"]] = Field(min_length=2)
    tree: Tree
    anything: Any
    expression: Sum


class Root(BaseModel):
    everything: Everything


def test_a_pydantic_model_accepts_the_instance_of_its_schema():
    for seed in SEEDS:
        Root.model_validate(instance(Root.model_json_schema(), seed=seed))


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a", 1, None]},
        {"type": "integer", "enum": ["a", 1]},
        {"const": {"a": [1]}},
        {"type": ["integer", "null"], "minimum": 3},
        {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}], "title": "t"},
        {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "null"}}]},
        {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5, "minimum": 1}, {"enum": [2, 4, 9, 5]}]},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}
        | {
            "$defs": {
                "a": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 2}}, "required": ["x"]},
                "b": {"properties": {"x": {"maximum": 3}, "y": {"type": "string"}}, "required": ["x", "y"]},
            }
        },
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "integer", "maximum": -7},
        {"type": "integer", "multipleOf": 2.5, "minimum": 1, "maximum": 11},
        {"type": "number", "minimum": 2, "maximum": 2},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
        {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "maxItems": 0},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}, "minItems": 3},
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "required": ["x"], "additionalProperties": {"type": "boolean"}},
        {"type": "object", "patternProperties": {"^k[0-9]$": {"type": "integer"}}, "additionalProperties": False},
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "integer"}},
        {"type": "string", "minLength": 5, "maxLength": 5},
        {"type": "string", "format": "email"},
        {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"},
        {"type": "string", "pattern": r"^[a-f0-9]+\.\w{2}$"},
        {"properties": {"a~/b": {"type": "integer"}, "c": {"$ref": "#/properties/a~0~1b"}}, "required": ["c"]},
        {},
    ],
    ids=str,
)
def test_a_schema_accepts_its_instance(schema):
    for seed in SEEDS:
        jsonschema.Draft202012Validator(schema).validate(instance(schema, seed=seed))


def test_an_array_of_draft_seven_with_a_list_of_items_is_a_tuple():
    for seed in SEEDS:
        schema = {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False}
        value = instance(schema, seed=seed)
        assert isinstance(value, list)
        assert [type(item) for item in value] == [int, str]


def test_a_decimal_step_is_kept_to_the_last_digit():
    for seed in SEEDS:
        value = instance({"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 5}, seed=seed)
        assert Decimal(str(value)) % Decimal("0.01") == 0


@given(st.integers(0, 2**64 - 1))
def test_recursion_ends_in_every_direction(seed):
    for model in (Tree, Linked, Sum):
        value = instance(model.model_json_schema(), seed=seed)
        model.model_validate(value)
        assert len(str(value)) < 5000


@given(st.integers(0, 2**64 - 1))
def test_the_same_seed_gives_the_same_value(seed):
    schema = Root.model_json_schema()
    assert instance(schema, seed=seed) == instance(schema, seed=seed)


def test_seeds_reach_every_label():
    labels = {instance({"enum": ["a", "b", "c"]}, seed=seed) for seed in SEEDS}
    assert labels == {"a", "b", "c"}


def test_a_nullable_field_is_null_now_and_then():
    values = [instance({"anyOf": [{"type": "integer"}, {"type": "null"}]}, seed=seed) for seed in range(400)]
    # 400 draws at 1/4: mean 100, standard deviation √75 ≈ 9; five of them either way.
    assert 55 < values.count(None) < 145


def test_fields_named_echo_and_id_carry_the_token_back():
    for seed in SEEDS:
        schema = {
            "properties": {
                "echo": {"type": "string"},
                "id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "other": {"type": "string"},
                "inner": {"properties": {"id": {"type": "integer"}}},
            }
        }
        value = instance(schema, seed=seed, echo="row-42")
        assert isinstance(value, dict)
        assert (value["echo"], value["id"], value["inner"]["id"]) == ("row-42", "row-42", 42)
        assert value["other"] != "row-42"


def test_a_token_that_the_field_does_not_allow_stays_out():
    value = instance({"properties": {"id": {"type": "string", "maxLength": 3}}}, seed=1, echo="row-42")
    assert len(value["id"]) <= 3  # type: ignore[index]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/$defs/absent"}, "leads nowhere"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "always holds itself"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"$ref": "#/$defs/a"}}, "required": ["x"]}}},
            "always holds itself",
        ),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no multiple"),
        ({"type": "number", "minimum": 3, "maximum": 2}, "no number"),
    ],
)
def test_a_schema_without_a_finite_value_is_a_value_error(schema, problem):
    with pytest.raises(ValueError, match=problem):
        instance(schema, seed=1)
