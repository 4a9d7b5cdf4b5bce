"""Schemas in a line of text."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, create_model

from llmframe.core.schema import schema_of
from llmframe.core.schema_text import TYPES, parse_schema
from llmframe.errors import UsageError


def fields(text: str) -> dict[str, Any]:
    return {name: info.annotation for name, info in parse_schema(text).model_fields.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "label: positive|negative, confidence: float",
            {"label": Literal["positive", "negative"], "confidence": float},
        ),
        (
            "topic: str, stars: int?, tags: list[str], due: date",
            {"topic": str, "stars": int | None, "tags": list[str], "due": date},
        ),
        ("at: datetime, price: decimal, ok: bool,", {"at": datetime, "price": Decimal, "ok": bool}),
        ("stars:int|null", {"stars": int | None}),
        ("label: a|b|null", {"label": Literal["a", "b"] | None}),
        ("label: a|b?", {"label": Literal["a", "b"] | None}),
        (
            "kinds: list[a|b], deep: list[list[int?]]",
            {"kinds": list[Literal["a", "b"]], "deep": list[list[int | None]]},
        ),
        ("kind: \"bug report\"|'praise, thanks'|n/a", {"kind": Literal["bug report", "praise, thanks", "n/a"]}),
        (r"kind: 'it\'s'|'a\\b'", {"kind": Literal["it's", "a\\b"]}),
        ("stars: 1|2|3", {"stars": Literal[1, 2, 3]}),
        ('stars: "1"|many', {"stars": Literal["1", "many"]}),
        ('kind: "date"|time', {"kind": Literal["date", "time"]}),
        ("'due date': date", {"due date": date}),
        ("größe: klein|groß", {"größe": Literal["klein", "groß"]}),
        ("\n  a: int,\n  b: str\n", {"a": int, "b": str}),
        ("copy: str, json: int", {"copy": str, "json": int}),
    ],
)
def test_fields_have_the_types_that_stand_there(text, expected):
    assert fields(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("positive|negative", Literal["positive", "negative"]),
        ("int?", int | None),
        ("list[str]", list[str]),
        ("decimal", Decimal),
    ],
)
def test_without_a_name_the_answer_is_one_value(text, expected):
    assert parse_schema(text) == expected
    assert schema_of(parse_schema(text)).single


def test_a_description_stands_after_the_name_and_is_sent():
    wire = schema_of(parse_schema("label (the tone (not the topic), as\n heard): good|bad, n: int")).wire
    assert wire["properties"]["label"]["description"] == "the tone (not the topic), as heard"
    assert "description" not in wire["properties"]["n"]


def test_text_and_class_ask_the_same():
    model = create_model(
        "Review", label=(Literal["good", "bad"], Field(description="the tone")), stars=(int | None, None)
    )
    assert schema_of(parse_schema("label (the tone): good|bad, stars: int?")).canonical == schema_of(model).canonical


def test_what_may_be_missing_is_null_when_it_is():
    answer = schema_of(parse_schema("label: good|bad, stars: int?")).read('{"label": "good"}')
    assert answer.values == ("good", None)


@pytest.mark.parametrize(
    ("text", "marked", "told"),
    [
        ("stars: flot", "flot", "did you mean 'float'?"),
        ("stars: Int", "Int", "did you mean 'int'?"),
        ("stars: number", "number", "did you mean 'float'?"),
        ("s: string, b: int", "string", "did you mean 'str'?"),
        ("s: list", "list", "`list[str]`"),
        ("s: dict", "dict", "Pydantic model or JSON schema"),
        ("s: good", "good", "labels are two or more"),
        ("s: 'good'", "'good'", "one label is no choice"),
        ("good, bad", "good", "divided by |"),
        ("s: bug report|praise", "report", "a label with a blank stands in quotes"),
        ("a: good|bad b: int", "b", "divided by commas"),
        ("due date: date", "date", "several words stands in quotes"),
        ("due-date: date", "due-date", "stands in quotes"),
        ("s: int|str", "int", "stands alone or with null"),
        ("s: date|time|other", "date", "as a label it stands in quotes"),
        ("s: a|b|a", "a", "stands here twice"),
        ("s: 1|many", "1", "numbers and words are mixed"),
        ("s: true|false", "true", "write `bool`"),
        ("s: null", "null", "null alone"),
        ("s: int, s: str", "s", "stands here twice"),
        ("_s: int", "_s", "can't begin with _"),
        ("model_config: int", "model_config", "pydantic's own"),
        ("'': int", "''", "letters that can be seen"),
        ("s: ''|a", "''", "a label is empty"),
        ("s: a?|b", "|", "after the last label"),
        ("s: (why) int", "(why)", "a type or a label is missing"),
        ("s: int (why)", "(why)", "after the name"),
        ("a|b (why)", "(why)", "needs a name"),
        ("s: int,, b: int", ",", "a field is missing"),
        ("s: int]", "]", "isn't expected here"),
        ("s: 'open", "'open", "this quote isn't closed"),
        ("s (open: int", "(open: int", "this parenthesis isn't closed"),
        ("s:", "", "a type is missing at the end"),
        ("s: list[int", "", "] is missing"),
        (": int", ":", "begins with its name"),
        ("l: " + "list[" * 6, "list", "at most 5 deep"),
    ],
)
def test_an_error_points_at_its_place_and_names_what_is_near(text, marked, told):
    with pytest.raises(UsageError) as refusal:
        parse_schema(text)
    problem, line, carets, syntax = str(refusal.value).split("\n")
    assert told in problem
    assert line == f"  {text}"
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == marked
    assert "types: str, int, float, bool, date, datetime, decimal, list[...]" in syntax


def test_an_empty_text_and_half_a_character_are_refused():
    for text in ("", " \n", "label: a|\udc80"):
        with pytest.raises(UsageError):
            parse_schema(text)


def test_nothing_in_the_text_is_run():
    with pytest.raises(UsageError):
        parse_schema("__import__('os').system('x'): int")
    assert fields("a: 'exec(1)'|'__import__(\"os\")'") == {"a": Literal["exec(1)", '__import__("os")']}


labels = st.lists(st.text(min_size=1, max_size=8).filter(str.strip), min_size=2, max_size=5, unique=True)


def in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@settings(max_examples=60, deadline=None)
@given(labels)
def test_any_label_can_be_said_in_quotes(texts):
    assert parse_schema("|".join(map(in_quotes, texts))) == Literal[tuple(texts)]


words = st.sampled_from(
    [*TYPES, "list", "a", "b", "null", "1", "'q w'", ":", ",", "|", "?", "[", "]", "(", ")", "'", "\\"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(words | st.text(max_size=3), max_size=12).map(" ".join))
def test_any_text_becomes_a_schema_or_a_usage_error(text):
    with suppress(UsageError):
        assert schema_of(parse_schema(text)).canonical
