"""Schemas as the command line names them."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import Literal

import pytest
from pydantic import BaseModel

from llmframe.cli.schemas import named_file, named_module, schema_from
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError

CODE = """
from __future__ import annotations
from enum import Enum
from pydantic import BaseModel
import {neighbour}

class Mood(Enum):
    GOOD = "good"
    BAD = "bad"

class Review(BaseModel):
    mood: Mood
    class Inner(BaseModel):
        n: int

labels = ["a", "b"]
nothing = None
number = 5
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a module, its neighbour and a JSON schema; what gets imported is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "reviews_f.py").write_text(CODE.format(neighbour="neighbour_f"))
    (tmp_path / "neighbour_f.py").write_text("")
    (tmp_path / "broken_f.py").write_text("def (:\n")
    (tmp_path / "lacking_f.py").write_text("import not_installed_f\n")
    (tmp_path / "json.py").write_text(CODE.format(neighbour="neighbour_f"))
    (tmp_path / "review.json").write_text(json.dumps({"properties": {"mood": {"enum": ["good", "bad"]}}}))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("reviews_f:Review", ["mood"]),
        ("reviews_f:Review.Inner", ["n"]),
        ("reviews_f.py:Review", ["mood"]),
        ("./reviews_f.py:Review", ["mood"]),
        ("json.py:Review", ["mood"]),
        ("reviews_f:Mood", ["response"]),
        ("reviews_f:labels", ["response"]),
        ("review.json", ["mood"]),
        ('{"properties": {"mood": {"enum": ["a", "b"]}}}', ["mood"]),
        ("label: positive|negative, confidence: float", ["label", "confidence"]),
        ("label:positive|negative", ["label"]),
        ("stars:int", ["stars"]),
        ("due:date", ["due"]),
        ("positive|negative", ["response"]),
        ("str", ["response"]),
    ],
)
def test_a_text_names_a_class_a_file_or_is_the_schema(text, names, folder):
    assert [field.name for field in schema_of(schema_from(text, base=folder)).fields] == names


def test_a_field_without_a_blank_is_a_field_where_a_type_of_the_line_stands(folder):
    assert schema_from("due:date", base=folder).model_fields["due"].annotation is date
    assert named_module("due:date") is None
    assert named_module("due:Date") == "due"
    assert named_module("label: str") is None


def test_class_file_and_line_ask_the_same(folder):
    asked = {
        schema_of(schema_from(text, base=folder)).canonical
        for text in ("reviews_f:Review", "review.json", "mood: good|bad")
    }
    assert len(asked) == 1


def test_the_path_of_modules_is_as_before(folder):
    before = list(sys.path)
    schema_from("reviews_f:Review", base=folder)
    assert sys.path == before


def test_a_file_that_is_called_like_a_module_leaves_that_module_alone(folder):
    schema_from("json.py:Review", base=folder)
    assert sys.modules["json"] is json


def test_a_class_of_an_installed_package_is_found(folder):
    assert (
        schema_from("llmframe.cli.demo:Sentiment", base=folder).model_fields["label"].annotation
        == (Literal["positive", "negative"])
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("revews_f:Review", "module 'revews_f', which isn't there; did you mean 'reviews_f'?"),
        ("label:positive", "'label: positive'"),
        ("reviews_f:Reveiw", "has no 'Reveiw'; did you mean 'Review'?"),
        ("reviews_f:Review.Gone", "has no 'Gone'"),
        ("reviews_f.py:Gone", "classes there: "),
        ("revews_f.py:Review", "isn't there; did you mean 'reviews_f.py'"),
        ("reviews_f.py", "'reviews_f.py:Name'"),
        ("reviews_f:nothing", "leave the schema out"),
        ("reviews_f:number", "is none"),
        ("lacking_f:Review", "imports 'not_installed_f', which isn't installed"),
        ("broken_f:Review", "can't be imported: SyntaxError"),
        ("broken_f.py:Review", "can't be imported: SyntaxError"),
        ("revew.json", "isn't there; did you mean 'review.json'?"),
        ("stars: flot", "did you mean 'float'?"),
        ("", "empty text"),
        ('{"properties": ', "isn't JSON: Expecting value, line 1, column 15"),
        ('{"type": "number", "minimum": NaN}', "NaN is no number"),
        ('{"name": "x", "schema": {}}', "keep only what stands below 'schema'"),
        ('{"type": "object", "properties": {}}', "no fields"),
        ('{"type": "strnig"}', "at '/type'"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(text, told, folder):
    with pytest.raises(UsageError) as refusal:
        schema_from(text, base=folder)
    assert told in str(refusal.value)


def test_a_module_that_failed_can_be_tried_again(folder):
    (folder / "later_f.py").write_text("import gone_f")
    with pytest.raises(UsageError):
        schema_from("later_f.py:Review", base=folder)
    (folder / "later_f.py").write_text(CODE.format(neighbour="neighbour_f") + "# longer\n")
    assert issubclass(schema_from("later_f.py:Review", base=folder), BaseModel)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b.json", ("a/b.json", "")),
        ("a/b.py:C.D", ("a/b.py", ":C.D")),
        ("b:C", None),
        ("label: positive|negative", None),
        ('{"a": "b.json"}', None),
    ],
)
def test_the_file_that_a_text_names_is_known_before_it_is_opened(text, expected):
    assert named_file(text) == expected


def test_a_file_that_cannot_be_read_is_told(folder):
    (folder / "folder.json").mkdir()
    (folder / "latin.json").write_bytes(b"\xe9")
    (folder / "list.json").write_text("[1]")
    for name, told in [("folder.json", "can't be read"), ("latin.json", "UTF-8"), ("list.json", "JSON list")]:
        with pytest.raises(UsageError, match=told):
            schema_from(name, base=folder)
