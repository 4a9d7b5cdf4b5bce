"""The JSON schema that is sent, and the text that stands for it in a fingerprint."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, NaiveDatetime, conint, constr, create_model

from llmframe.core.wire import canonical_text, json_schema_of, wire_of


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Kinds(BaseModel):
    """What it says."""

    model_config = ConfigDict(regex_engine="python-re")  # the default engine knows no look-around

    price: Decimal
    day: date
    when: datetime
    naive: NaiveDatetime
    span: timedelta
    uid: UUID
    grade: conint(ge=1, le=5)
    word: constr(pattern=r"(?=x)", min_length=1)
    code: constr(pattern=r"^[a-z]+$")
    tags: set[str] = Field(max_length=3)
    mood: Mood = Field(Mood.GOOD, description="How it feels")
    again: Mood | None = None
    label: Literal["a", "b"] = "a"
    title: str = Field("t", title="Named")
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    none: str | None = None
    mixed: Literal["a", 1] = "a"


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Inner(BaseModel):
    meta: dict[str, Any]


class Outer(BaseModel):
    inner: Inner


def nodes(schema: object) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from nodes(each)
    if isinstance(schema, list):
        for each in schema:
            yield from nodes(each)


def test_strict_form_has_every_field_required_and_nothing_that_strict_mode_refuses():
    wire = wire_of(json_schema_of(Kinds))
    assert wire.strict
    assert wire.obstacle is None
    assert wire.schema["required"] == list(Kinds.model_fields)
    assert wire.schema["description"] == "What it says."
    for node in nodes(wire.schema):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
        assert not {"oneOf", "default", "discriminator", "uniqueItems", "minLength"} & set(node)
        assert not ("$ref" in node and len(node) > 1)
        assert "(?" not in str(node.get("pattern", ""))
    properties = wire.schema["properties"]
    assert properties["title"] == {"type": "string"}
    assert properties["grade"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert properties["code"] == {"type": "string", "pattern": "^[a-z]+$"}
    assert properties["word"] == {"type": "string"}
    assert properties["day"] == {"type": "string", "format": "date"}
    assert "format" not in properties["naive"]
    assert properties["price"]["type"] == "string"
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}, "maxItems": 3}
    assert properties["mood"] == {"type": "string", "enum": ["good", "bad"], "description": "How it feels"}
    assert properties["again"] == {"anyOf": [{"$ref": "#/$defs/Mood"}, {"type": "null"}]}
    assert properties["mixed"] == {"enum": ["a", 1], "type": ["string", "integer"]}
    assert set(wire.schema["$defs"]) == {"Mood", "Cat", "Dog"}


@pytest.mark.parametrize(
    ("model", "obstacle"),
    [
        (Outer, "inner.meta takes any keys"),
        (create_model("M", scores=(dict[str, int], ...)), "scores takes any keys"),
        (create_model("M", bare=(dict, ...)), "bare takes any keys"),
        (create_model("M", any=(Any, ...)), "any may be anything"),
        (create_model("M", pair=(tuple[int, str], ...)), "pair is a tuple"),
        (create_model("M", bare=(list, ...)), "bare may be anything"),
        (Open, "the schema takes any keys"),
        (Tree, "kids is recursive"),
        (create_model("M", many=(Literal[tuple(map(str, range(1001)))], ...)), "many has more than 1000 values"),
    ],
)
def test_what_strict_mode_cannot_say_is_found_before_the_first_call(model, obstacle):
    wire = wire_of(json_schema_of(model))
    assert not wire.strict
    assert obstacle in wire.obstacle
    assert wire.schema["type"] == "object"


def test_the_plain_form_keeps_its_words_except_look_around():
    model = create_model(
        "M",
        __config__=ConfigDict(regex_engine="python-re"),
        a=(constr(pattern=r"^(?!x)", min_length=2), "zz"),
        b=(dict[str, int], ...),
    )
    wire = wire_of(json_schema_of(model))
    assert wire.schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 2, "default": "zz"},
            "b": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["b"],
    }


def canonical(model: type[BaseModel]) -> str:
    return canonical_text(wire_of(json_schema_of(model)).schema)


BASE: dict[str, Any] = {"label": (Mood, ...), "n": (int, Field(ge=1, description="d")), "s": (str, ...)}


def test_names_titles_and_modules_do_not_change_the_canonical_text():
    other_mood = enum.Enum("Feeling", {"A": "good", "B": "bad"}, module="elsewhere")
    same = create_model(
        "Other",
        __module__="elsewhere",
        label=(other_mood, Field(title="T")),
        n=(int, Field(ge=1, description="d", title="N!")),
        s=(str, ...),
    )
    assert canonical(create_model("Base", **BASE)) == canonical(same)


def test_a_literal_and_an_enum_of_the_same_labels_ask_the_same():
    assert canonical(create_model("A", x=(Mood, ...))) == canonical(create_model("B", x=(Literal["good", "bad"], ...)))


@pytest.mark.parametrize(
    "change",
    [
        {"label": (Literal["good", "bad", "so"], ...)},
        {"label": (Literal["bad", "good"], ...)},
        {"n": (int, Field(ge=2, description="d"))},
        {"n": (int, Field(ge=1, description="e"))},
        {"n": (float, Field(ge=1, description="d"))},
        {"s": (str | None, ...)},
        {"title": (str, ...)},
        {"s": (list[str], ...)},
    ],
)
def test_what_is_asked_changes_the_canonical_text(change):
    assert canonical(create_model("M", **BASE)) != canonical(create_model("M", **{**BASE, **change}))


def test_the_order_of_fields_changes_the_canonical_text_since_models_write_in_it():
    assert canonical(create_model("M", a=(int, ...), b=(int, ...))) != canonical(
        create_model("M", b=(int, ...), a=(int, ...))
    )


def test_the_words_of_older_pydantic_give_the_same_canonical_text():
    """Before 2.10 a constant was also an enum of one, and a reference with a description stood in `allOf`."""
    older = {
        "$defs": {"X": {"const": "a", "enum": ["a"], "title": "X", "type": "string"}},
        "type": "object",
        "properties": {"x": {"allOf": [{"$ref": "#/$defs/X"}], "description": "d"}},
        "required": ["x"],
    }
    newer = {
        "type": "object",
        "properties": {"x": {"const": "a", "description": "d", "type": "string"}},
        "required": ["x"],
    }
    assert canonical_text(wire_of(older).schema) == canonical_text(wire_of(newer).schema)


def test_the_canonical_text_is_frozen():
    """A change here makes every stored answer a new question: raise the key version with it."""
    assert json.loads(canonical(create_model("M", label=(Mood, ...), n=(int | None, None)))) == {
        "type": "object",
        "properties": [
            ["label", {"enum": ["good", "bad"]}],
            ["n", {"anyOf": [{"type": "integer"}, {"type": "null"}]}],
        ],
        "required": ["label", "n"],
        "additionalProperties": False,
    }


def test_a_recursive_model_has_a_canonical_text_without_its_name():
    renamed = json.loads(json.dumps(json_schema_of(Tree)).replace("Tree", "Baum"))
    assert canonical(Tree) == canonical_text(wire_of(renamed).schema)
    assert "recursion" in canonical(Tree)


def test_the_given_schema_is_not_changed():
    raw = json_schema_of(Kinds)
    before = json.dumps(raw)
    wire_of(raw)
    assert json.dumps(raw) == before
