"""What is asked for: names, columns, wire and the texts of examples."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import re
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, create_model, field_serializer

from llmframe.core.columns import ColumnType
from llmframe.core.outcome import Answer, Failure
from llmframe.core.schema import Schema, schema_of
from llmframe.errors import UsageError


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Inner(BaseModel):
    mood: Mood = Field(alias="The Mood")
    when: dt.datetime | None = None


class Everything(BaseModel):
    """All kinds of fields."""

    label: Literal["a", "b"] = Field(alias="Label Text")
    mood: Mood | None = None
    n: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    x: float
    yes: bool
    text: str = Field(validation_alias=AliasChoices("words", "txt"))
    day: dt.date
    span: dt.timedelta
    price: Decimal = Field(decimal_places=2, max_digits=12)
    tags: list[str] = []
    inner: Inner | None = None
    many: list[Inner] = []
    meta: dict[str, int] = {}
    hidden: int = Field(0, exclude=True)


class Sure(BaseModel):
    label: Literal["a", "b"]
    confidence: float | None = None


class Graded(BaseModel):
    label: Literal["a", "b"]
    confidence: Literal["low", "high"]


class Two(BaseModel):
    label: Literal["a", "b"]
    spam: bool
    reason: str


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Pairs(RootModel[list[Inner]]):
    pass


def names(schema: Schema) -> list[str]:
    return [field.name for field in schema.fields]


def test_free_text_is_one_text_column_and_taken_as_it_is():
    schema = schema_of(None, into="summary")
    assert (schema.model, schema.wire, schema.strict, schema.single) == (None, {}, False, True)
    assert [(f.name, f.type) for f in schema.fields] == [("summary", ColumnType("string"))]
    assert schema.read(" as it is\n") == Answer(" as it is\n", (" as it is\n",))
    assert schema.read(" \n") == Failure("empty", "the reply has no text")
    assert schema.answer_text("words") == "words"
    assert schema.canonical != schema_of(str).canonical
    assert names(schema_of(None)) == ["response"]


def test_columns_are_named_by_field_and_the_wire_by_alias():
    schema = schema_of(Everything)
    assert names(schema) == list(Everything.model_fields)
    assert "Label Text" in schema.wire["properties"]
    assert "label" not in schema.wire["properties"]
    assert (schema.name, schema.single, schema.model) == ("Everything", False, Everything)


@pytest.mark.parametrize(
    ("spec", "kind", "closed"),
    [
        (Literal["a", "b"], ColumnType("enum", labels=("a", "b")), True),
        (["a", "b"], ColumnType("enum", labels=("a", "b")), True),
        (Mood, ColumnType("enum", labels=("good", "bad")), True),
        (bool, ColumnType("bool"), True),
        (int, ColumnType("int"), False),
        (list[Mood], ColumnType("list", item=ColumnType("enum", labels=("good", "bad"))), False),
        (dict[str, int], ColumnType("json"), False),
        (int | str, ColumnType("json"), False),
        (dt.date, ColumnType("date"), False),
    ],
)
def test_one_value_is_one_column_in_an_object_on_the_wire(spec, kind, closed):
    schema = schema_of(spec, into="topic")
    (field,) = schema.fields
    assert (field.name, field.type, field.closed) == ("topic", kind, closed)
    assert list(schema.wire["properties"]) == ["response"]
    assert (schema.wire["type"], schema.name, schema.single) == ("object", "Response", True)


def test_list_roots_become_one_list_column():
    schema = schema_of(Pairs)
    assert schema.fields[0].type.kind == "list"
    assert schema.read('[{"The Mood": "GOOD"}]').values == ([{"mood": "good", "when": None}],)


def test_a_recursive_model_has_its_recursive_field_as_json():
    schema = schema_of(Tree)
    assert [(f.name, f.type.kind) for f in schema.fields] == [("name", "string"), ("kids", "json")]
    assert not schema.strict
    assert schema.wire["type"] == "object"
    answer = schema.read('{"name": "a", "kids": [{"name": "b"}]}')
    assert answer.values == ("a", '[{"name":"b","kids":[]}]')


def test_labels_and_nested_change_the_columns_and_never_the_question():
    plain = schema_of(Everything)
    flat = schema_of(Everything, labels="string", nested="json")
    assert plain.canonical == flat.canonical
    kinds = {field.name: field.type.kind for field in flat.fields}
    assert (kinds["label"], kinds["tags"], kinds["inner"]) == ("string", "json", "json")
    assert flat.fields[0].closed
    assert flat.fields[0].allowed == ("a", "b")


def test_a_strict_schema_applies_a_default_that_a_server_left_out():
    model = create_model("M", label=(Literal["a", "b"], "b"), note=(str | None, None))
    schema = schema_of(model)
    assert schema.strict
    assert schema.wire["required"] == ["label", "note"]
    assert schema.read("{}").values == ("b", None)


def test_an_open_model_is_asked_for_without_strict():
    model = create_model("M", __config__=ConfigDict(extra="allow"), a=(int, ...))
    schema = schema_of(model)
    assert not schema.strict
    assert schema.obstacle == "the schema takes any keys"
    assert schema.read('{"a": 1, "b": 2}').values == (1,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": "text"}, "labels is 'text'; pass one of 'enum', 'string'"),
        ({"nested": "flat"}, "nested is 'flat'"),
        ({"confidence": "high"}, "confidence is 'high'"),
        ({"into": ""}, "into is an empty text"),
    ],
)
def test_an_option_out_of_range_is_a_usage_error(options, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        schema_of(Sure, **options)


class TestStatedConfidence:
    @pytest.mark.parametrize(
        ("spec", "into", "columns", "stated"),
        [
            (Sure, None, ["label", "confidence"], ("confidence",)),
            (["a", "b"], None, ["response", "confidence"], ("confidence",)),
            (["a", "b"], "confidence", ["confidence", "llm_confidence"], ("llm_confidence",)),
            (int, None, ["response", "confidence"], ("confidence",)),
            (Graded, None, ["label", "confidence", "label_confidence", "confidence_confidence"], None),
            (
                create_model("M", label=(Literal["a"], ...), confidence=(str, ...)),
                None,
                ["label", "confidence", "llm_confidence"],
                ("llm_confidence",),
            ),
            (Two, None, ["label", "spam", "reason", "label_confidence", "spam_confidence"], None),
            (
                create_model("M", a=(bool, ...), b=(bool, ...), a_confidence=(float, ...)),
                None,
                ["a", "b", "a_confidence", "b_confidence"],
                ("a_confidence", "b_confidence"),
            ),
            (
                create_model("M", a=(bool, ...), sure=(str, Field(alias="confidence"))),
                None,
                ["a", "sure", "llm_confidence"],
                ("llm_confidence",),
            ),
            (create_model("M", reason=(str, ...)), None, ["reason", "confidence"], ("confidence",)),
        ],
    )
    def test_it_stands_at_the_end_or_where_the_schema_has_it(self, spec, into, columns, stated):
        schema = schema_of(spec, into=into, confidence="stated")
        assert names(schema) == columns
        assert schema.confidences == (tuple(columns[-2:]) if stated is None else stated)
        assert schema.canonical == schema_of(spec).canonical or set(schema.confidences) - set(names(schema_of(spec)))

    def test_an_added_one_is_required_and_within_0_and_1(self):
        schema = schema_of(["a", "b"], confidence="stated")
        assert schema.wire["required"] == ["response", "confidence"]
        assert schema.strict
        assert schema.read('{"response": "A", "confidence": 1}').values == ("a", 1.0)
        for text in ('{"response": "a"}', '{"response": "a", "confidence": 1.01}', '"a"'):
            assert schema.read(text).kind == "invalid"

    def test_the_schemas_own_is_checked_and_may_be_null(self):
        schema = schema_of(Sure, confidence="stated")
        assert schema.read('{"label": "a"}').values == ("a", None)
        assert schema.read('{"label": "a", "confidence": 0}').values == ("a", 0.0)
        assert str(schema.read('{"label": "a", "confidence": 90}')).startswith(
            "invalid: field 'confidence' is outside 0 to 1; reply: "
        )

    def test_without_it_the_schemas_own_is_an_ordinary_number(self):
        assert schema_of(Sure).read('{"label": "a", "confidence": 90}').values == ("a", 90.0)
        assert schema_of(Sure).confidences == ()

    def test_free_text_has_nothing_to_be_confident_about(self):
        with pytest.raises(UsageError, match="pass a schema"):
            schema_of(None, confidence="stated")


class TestExamples:
    @pytest.mark.parametrize(
        ("spec", "answer", "text"),
        [
            (Literal["a", "b"], "b", '{"response": "b"}'),
            (["a", "b"], {"response": "A."}, '{"response": "a"}'),
            (Mood, Mood.GOOD, '{"response": "good"}'),
            (list[int], [1, 2], '{"response": [1, 2]}'),
            (list[int], "[1, 2]", '{"response": [1, 2]}'),
            (dict[str, int], {"a": 1}, '{"response": {"a": 1}}'),
            (dict[str, Any], {"response": 1}, '{"response": {"response": 1}}'),
            (str, "[1", '{"response": "[1"}'),
            (dt.date, dt.date(2024, 1, 2), '{"response": "2024-01-02"}'),
            (Point, Point(1, 2), '{"x": 1, "y": 2}'),
            (Point, {"x": 1}, '{"x": 1, "y": 0}'),
            (Inner, {"mood": "BAD"}, '{"The Mood": "bad", "when": null}'),
            (Inner, {"The Mood": "bad"}, '{"The Mood": "bad", "when": null}'),
            (Inner, Inner.model_validate({"The Mood": "bad"}), '{"The Mood": "bad", "when": null}'),
            (Tree, {"name": "ü", "kids": '[{"name": "b"}]'}, '{"name": "ü", "kids": [{"name": "b", "kids": []}]}'),
        ],
    )
    def test_an_answer_is_told_as_the_model_would_have(self, spec, answer, text):
        assert schema_of(spec).answer_text(answer) == text

    def test_the_column_name_serves_for_one_value(self):
        schema = schema_of(["a"], into="topic", confidence="stated")
        assert schema.answer_text({"topic": "a", "confidence": 0.5}) == '{"response": "a", "confidence": 0.5}'

    @pytest.mark.parametrize(
        ("spec", "answer", "said"),
        [
            (["a", "b"], "c", "field 'response' must be 'a' or 'b'"),
            (Sure, {"label": "c"}, "field 'label' must be 'a' or 'b'"),
            (Sure, {}, "field 'label' is missing"),
            (Sure, {"labl": "a"}, "names 'labl', which the schema hasn't; did you mean 'label'? fields: "),
            (Sure, "a", "is str; pass a dict with 'label', 'confidence'"),
            (None, 3, "is 3; without a schema it has to be text"),
            (int, object(), "can't be put as JSON"),
        ],
    )
    def test_a_wrong_answer_is_a_usage_error_that_names_the_field(self, spec, answer, said):
        with pytest.raises(UsageError, match=re.escape(said)):
            schema_of(spec).answer_text(answer)

    def test_a_serialiser_that_its_validator_cannot_read_is_passed_by(self):
        class Odd(BaseModel):
            n: int
            inner: Inner

            @field_serializer("n")
            def spoken(self, n: int) -> str:
                return f"number {n}"

        schema = schema_of(list[Odd])
        text = schema.answer_text([{"n": 1, "inner": {"mood": "bad"}}])
        assert schema.read(text).values == ([{"n": 1, "inner": {"mood": "bad", "when": None}}],)


moments = st.datetimes(min_value=dt.datetime(1, 1, 2), max_value=dt.datetime(9999, 12, 30))  # noqa: DTZ001 - naive
texts = st.text(st.characters(exclude_categories=["Cs"]))
inners = st.fixed_dictionaries({"mood": st.sampled_from(["good", "bad"]), "when": st.none() | moments})
everything = st.fixed_dictionaries(
    {
        "label": st.sampled_from(["a", "b"]),
        "mood": st.none() | st.sampled_from(["good", "bad"]),
        "n": st.integers(-(2**63), 2**63 - 1),
        "x": st.floats(allow_nan=False, allow_infinity=False),
        "yes": st.booleans(),
        "text": texts,
        "day": st.dates(),
        "span": st.timedeltas(dt.timedelta(days=-1000), dt.timedelta(days=1000)),
        "price": st.decimals(-(10**9), 10**9, places=2),
        "tags": st.lists(texts, max_size=3),
        "inner": st.none() | inners,
        "many": st.lists(inners, max_size=2),
        "meta": st.dictionaries(texts, st.integers(-(2**63), 2**63), max_size=2),
        "hidden": st.integers(0, 9),
    }
)
EVERYTHING = schema_of(Everything)


@given(everything)
def test_reading_an_examples_text_gives_the_example(answer):
    read = EVERYTHING.read(EVERYTHING.answer_text(answer))
    assert isinstance(read, Answer)
    got = dict(zip(Everything.model_fields, read.values, strict=True))
    assert json.loads(str(got.pop("meta"))) == answer["meta"]
    assert got == {name: value for name, value in answer.items() if name != "meta"}
    assert EVERYTHING.read(read.text) == read


@given(st.lists(texts, min_size=1, max_size=8, unique=True), st.data())
def test_any_texts_can_be_labels(labels, data):
    schema = schema_of(labels)
    label = data.draw(st.sampled_from(labels))
    assert schema.fields[0].type.labels == tuple(labels)
    assert schema.read(schema.answer_text(label)).values == (label,)


@given(st.text())
def test_whatever_a_model_says_is_an_answer_or_a_failure(text):
    for schema in (EVERYTHING, schema_of(["a", "b"]), schema_of(str), schema_of(int)):
        read = schema.read(text)
        if isinstance(read, Answer):
            assert schema.read(read.text) == read
        else:
            assert read.kind in {"empty", "invalid"}
