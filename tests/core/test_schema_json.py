"""Models made from JSON schema documents ask what the classes ask that the documents were made from."""

from __future__ import annotations

import enum
import json
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, create_model

from llmframe.core.outcome import Answer, Failure
from llmframe.core.schema import schema_of
from llmframe.core.schema_json import model_from_json_schema
from llmframe.errors import UsageError


class Mood(enum.Enum):
    """How it feels."""

    GOOD = "good"
    BAD = "bad"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where it is."""

    street: str = Field(description="With its number", min_length=1)
    zip_code: Annotated[str, Field(pattern=r"^\d{5}$")]
    country: Literal["DE", "FR"] = "DE"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow", title="Another name")
    a: int


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class Odd(BaseModel):
    own: str = Field(alias="_id")
    made: list[int] = Field(default_factory=list)
    price: float = Field(1, ge=0, lt=10, description="In dollars")
    note: str = Field("x", title="Named", examples=["y"], deprecated=True)


class Letters(RootModel[list[Literal["a", "b"]]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    owner: Address | None = None


class Pets(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    by_name: dict[str, Cat | Dog]
    pair: tuple[int, Mood]
    anything: Any = None
    both: Annotated[Literal["a", "b"], Field(description="Inner")] | None = Field(None, description="Outer")


def document(kind: Any) -> dict[str, Any]:
    """The document of a class or annotation, through a file."""
    return json.loads(json.dumps(TypeAdapter(kind).json_schema()))


def canonical(kind: Any) -> str:
    return schema_of(kind).canonical


SCALARS = [
    str,
    int,
    float,
    bool,
    date,
    datetime,
    time,
    timedelta,
    UUID,
    Mood,
    Level,
    Literal["a", "b"],
    Literal["only"],
    Literal[1, "one", True, None],  # noqa: PYI061 - null among the values is another document than null beside them
    Annotated[int, Field(ge=1, le=5)],
    Annotated[float, Field(gt=0, lt=1, multiple_of=0.5)],
    Annotated[str, Field(min_length=1, max_length=9, pattern="^[a-z]*$", description="Small letters")],
    Annotated[str, Field(json_schema_extra={"format": "email", "x-unit": "m"})],
]
MODELS = [Address, Strict, Open, Tree, Odd, Letters, Cat, Dog, Pets]

annotations = st.recursive(
    # Without Tree: pydantic 2.14 writes the description of one field of a recursive model into the class itself.
    st.sampled_from([*SCALARS, *(model for model in MODELS if model is not Tree), Any]),
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: Annotated[list[kind], Field(min_length=1, max_length=3)]),
        inner.map(lambda kind: kind | None if kind is not Any else Any),
        inner.map(lambda kind: dict[str, kind]),
        st.tuples(inner, inner).map(lambda kinds: tuple[kinds]),
        inner.map(lambda kind: Annotated[kind, Field(description="Inside")]),
        st.sampled_from(SCALARS[:6]).map(lambda kind: set[kind]),
    ),
    max_leaves=3,
)
names = st.sampled_from(["a", "b", "label", "json", "due date", "größe", "a/b~c", "title", "type"])


@st.composite
def models(draw: st.DrawFn) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        kind = draw(annotations)
        about = draw(st.sampled_from([None, "What it is.", " \n odd  "]))
        default = draw(st.sampled_from([{}, {"default": None}])) if kind is not Any else {}
        fields[name] = (kind | None if default else kind, Field(description=about, **default))
    extra = draw(st.sampled_from(["ignore", "forbid", "allow"]))
    return create_model("Made", __config__=ConfigDict(extra=extra, protected_namespaces=()), **fields)


@settings(max_examples=120, deadline=None)
@given(models())
@pytest.mark.filterwarnings("ignore:Field name")
def test_the_document_of_a_class_asks_what_the_class_asks(model):
    assert canonical(model_from_json_schema(document(model))) == canonical(model)


@pytest.mark.parametrize("kind", [*SCALARS, *MODELS, list[Address], dict[str, Mood], tuple[int, str], Mood | None])
def test_the_document_of_one_value_or_shipped_shape_asks_what_it_asks(kind):
    made = model_from_json_schema(document(kind))
    assert canonical(made) == canonical(kind)
    assert [field.type for field in schema_of(made).fields] == [field.type for field in schema_of(kind).fields] or (
        kind in (Pets, Odd)  # an alias is told as the field's name, a discriminated union as JSON either way
    )


def test_a_document_of_a_document_is_the_same():
    once = model_from_json_schema(document(Pets))
    assert canonical(model_from_json_schema(document(once))) == canonical(Pets)


def test_the_name_on_the_wire_is_the_title():
    assert schema_of(model_from_json_schema(document(Address))).name == schema_of(Address).name == "Address"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"street": "A 1", "zip_code": "10115"}', True),
        ('{"street": "", "zip_code": "10115"}', False),
        ('{"street": "A 1", "zip_code": "1011"}', False),
        ('{"street": "A 1", "zip_code": "10115", "country": "IT"}', False),
        ('{"zip_code": "10115"}', False),
    ],
)
def test_a_reply_is_held_to_the_document(text, fits):
    found = schema_of(model_from_json_schema(document(Address))).read(text)
    assert isinstance(found, Answer if fits else Failure)


def test_a_default_fills_what_is_missing_as_its_own_type():
    made = model_from_json_schema(
        {"properties": {"due": {"type": "string", "format": "date", "default": "2024-02-29"}, "n": {"type": "integer"}}}
    )
    assert schema_of(made).read("{}") == Answer("{}", (date(2024, 2, 29), None))


def test_a_property_that_no_field_can_be_named_after_keeps_its_key_on_the_wire():
    made = model_from_json_schema(
        {"properties": {"_id": {"type": "string"}, "id": {"type": "string"}}, "type": "object"}
    )
    assert list(made.model_fields) == ["id_", "id"]
    assert schema_of(made).read('{"_id": "a", "id": "b"}').values == ("a", "b")


def test_a_pattern_that_looks_around_is_still_checked():
    made = model_from_json_schema({"type": "string", "pattern": "b(?=c)"})
    assert isinstance(schema_of(made).read('"abc"'), Answer)
    assert isinstance(schema_of(made).read('"abd"'), Failure)


@pytest.mark.parametrize("places", [2, None])
def test_a_decimal_is_known_by_the_pattern_that_some_versions_of_pydantic_write(places):
    digits = r"\d*\.?\d*$" if places is None else r"(?:\d*\.\d{0,2}0*$)"
    node = {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": rf"^(?!^[-+.]*$)[+-]?0*{digits}"}]
    }
    made = model_from_json_schema({"type": "object", "properties": {"price": node}, "required": ["price"]})
    wanted = create_model("M", price=(Annotated[Decimal, Field(decimal_places=places)], ...))
    assert canonical(made) == canonical(wanted)
    assert schema_of(made).fields[0].type == schema_of(wanted).fields[0].type


def test_what_was_sent_for_a_decimal_is_a_decimal_again():
    model = create_model("M", price=(Decimal, ...))
    assert canonical(model_from_json_schema(schema_of(model).wire)) == canonical(model)


@pytest.mark.parametrize(
    ("node", "pointer", "words"),
    [
        ({"type": "object", "patternProperties": {}}, "root", "'patternProperties' isn't supported"),
        ({"if": {}, "then": {}}, "root", "'if' isn't supported"),
        ({"properties": {"a/b": {"not": {}}}}, "/properties/a~1b", "'not' isn't supported"),
        ({"properties": {"a": {"type": "strnig"}}}, "/properties/a/type", "'strnig' is no type"),
        ({"type": "string", "minLenght": 1}, "root", "did you mean 'minLength'"),
        ({"type": "string", "minimum": 1}, "/minimum", "says nothing about string"),
        ({"type": "string", "minLength": -1}, "/minLength", "0 or more, got -1"),
        ({"type": "integer", "minimum": 0.5}, "/minimum", "whole number"),
        ({"type": "integer", "minimum": True}, "/minimum", "is a number, got True"),
        ({"type": "number", "multipleOf": 0}, "/multipleOf", "above 0"),
        ({"type": "string", "pattern": "("}, "/pattern", "can't be read"),
        ({"type": "string", "nullable": True}, "root", "OpenAPI"),
        ({"$ref": "https://example.com/s.json"}, "/$ref", "nothing is fetched"),
        ({"$ref": "other.json#/a"}, "/$ref", "nothing is fetched"),
        ({"$ref": "#/$defs/Gone"}, "/$ref", "names nothing"),
        ({"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}, "/$defs/A/$ref", "refers to itself"),
        ({"$defs": {"L": {"items": {"$ref": "#/$defs/L"}}}, "$ref": "#/$defs/L"}, "/$defs/L/items/$ref", "itself"),
        ({"allOf": [{"properties": {}}, {"properties": {}}]}, "/allOf", "can't be combined"),
        ({"anyOf": []}, "/anyOf", "a list with something in it"),
        ({"enum": []}, "/enum", "a list with something in it"),
        ({"enum": ["a", "a"]}, "/enum", "'a' stands there twice"),
        ({"enum": [[1]]}, "/enum", "a closed value is"),
        ({"enum": ["a", 1], "type": "string"}, "/enum", "1 is no string"),
        ({"enum": ["a"], "minLength": 1}, "/minLength", "says nothing"),
        ({"items": {"type": "integer"}, "uniqueItems": True, "type": "array", "minItems": "1"}, "/minItems", "'1'"),
        ({"type": "array", "items": {"type": "array"}, "uniqueItems": True}, "/uniqueItems", "scalar"),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "root", "fixed length"),
        ({"type": "object", "additionalProperties": False}, "/additionalProperties", "no value"),
        ({"type": "object", "required": ["a"]}, "/required", "aren't described"),
        ({"properties": {"a": {}}, "required": ["b"]}, "/required", "'b' isn't among"),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, "/additionalProperties", "further"),
        ({"properties": []}, "/properties", "are an object"),
        ({"properties": {"a": False}}, "/properties/a", "no value at all"),
        ({"properties": {"a": 1}}, "/properties/a", "a schema is an object"),
        ({"properties": {"a": {"type": "integer", "default": "x"}}}, "/properties/a/default", "doesn't fit"),
        ({"type": "string", "description": 1}, "/description", "is a text"),
        ({"type": ["object", "null"], "properties": {"a": {}}}, "/type", "anyOf"),
        ({"type": "string", "format": "date", "minLength": 1}, "/minLength", "beside the format"),
        ([1], "root", "got list"),
    ],
)
def test_what_is_not_supported_is_refused_with_its_pointer(node, pointer, words):
    with pytest.raises(UsageError) as refusal:
        model_from_json_schema(node)
    assert (f"at {pointer!r}" if pointer.startswith("/") else f"at its {pointer}") in str(refusal.value)
    assert words in str(refusal.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "string", "#", "#/$defs/a", "object"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type properties items anyOf enum const $ref $defs a required default minLength allOf pattern".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from("type properties items anyOf enum $ref $defs".split()), json_values, max_size=4))
def test_any_document_becomes_a_schema_or_a_usage_error(node):
    with suppress(UsageError):
        assert schema_of(model_from_json_schema(node)).canonical
