"""What the schema argument may be."""

from __future__ import annotations

import dataclasses
import enum
import re
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, Required, TypeVar

import pydantic.dataclasses
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, ValidationError, create_model
from typing_extensions import TypedDict

from llmframe.core.spec import asked_of, wire_name, with_confidences
from llmframe.errors import UsageError

T = TypeVar("T")


class Label(BaseModel):
    label: Literal["pos", "neg"]
    score: int = 1


class G(BaseModel, Generic[T]):
    value: T


class Zero(BaseModel):
    pass


class NoMembers(enum.Enum):
    pass


class Calls(BaseModel):
    fine: int
    call: Callable[[int], int]


class Foreign:
    pass


class Holds(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: Foreign


class Keys(TypedDict, total=False):
    """Keys that may be left out."""

    label: Required[Literal["pos", "neg"]]
    why: str


@dataclasses.dataclass
class Checked:
    """Made by hand."""

    label: Literal["pos", "neg"]
    score: Annotated[int, Field(le=5)] = 1
    copy: list[str] = dataclasses.field(default_factory=list)
    length: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.score < 0:
            raise ValueError("score is negative")
        self.copy = [*self.copy, "seen"]


@pydantic.dataclasses.dataclass
class Typed:
    n: int = Field(ge=1)

    @pydantic.field_validator("n")
    @classmethod
    def doubled(cls, n: int) -> int:
        if n == 13:
            raise ValueError("unlucky")
        return n


@pytest.mark.parametrize(
    ("spec", "name", "fields", "single"),
    [
        (Label, "Label", ["label", "score"], False),
        (G[int], "G_int", ["value"], False),
        (Checked, "Checked", ["label", "score", "copy"], False),
        (Typed, "Typed", ["n"], False),
        (Keys, "Keys", ["label", "why"], False),
        (RootModel[list[int]], "Response", ["response"], True),
        (["a", 'say "b"', "ü"], "Response", ["response"], True),
        (("a", "b"), "Response", ["response"], True),
        (Literal["a"], "Response", ["response"], True),
        (bool, "Response", ["response"], True),
        (list[Label], "Response", ["response"], True),
        (int | None, "Response", ["response"], True),
        (dict, "Response", ["response"], True),
        (Any, "Response", ["response"], True),
        (Annotated[int, Field(ge=1)], "Response", ["response"], True),
    ],
)
def test_a_spec_becomes_a_model_to_ask_for(spec, name, fields, single):
    asked = asked_of(spec)
    assert (asked.name, list(asked.model.model_fields), asked.single) == (name, fields, single)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (Zero, "Zero has no fields"),
        (BaseModel, "has no fields"),
        (NoMembers, "without members"),
        ([], "empty list of labels"),
        (["a", "b", "a"], "'a' twice"),
        (["a", 1], "1 in it"),
        ({"b", "a"}, r"pass a list: \['a', 'b'\]"),
        ("Label", "'Label'; pass a Pydantic model"),
        (5, "5; pass a Pydantic model"),
        (type(None), "NoneType; pass"),
        (Label(label="pos"), "pass its class"),
        (Foreign(), "an object of type Foreign"),
        ({"label": str}, "an object of type dict"),
        (wire_name, "the function wire_name"),
        (Foreign, "Foreign can't be put as a JSON schema"),
        (list[Foreign], "can't be put as a JSON schema"),
        (Calls, "field 'call'"),
        (Holds, "field 'thing' is Foreign"),
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error_that_says_why(spec, said):
    with pytest.raises(UsageError, match=said):
        asked_of(spec)


@pytest.mark.parametrize("name", ["Label", "G[int]", "Größe", "L" * 80, "情感", "", "a.b.<locals>.C"])
def test_every_name_becomes_one_that_providers_take(name):
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_name(name))


def test_names_stay_readable():
    assert [wire_name(name) for name in ("Größe", "G[int]", "情感")] == ["Grosse", "G_int", "Response"]


def test_a_dataclass_keeps_its_defaults_constraints_and_its_own_checks():
    model = asked_of(Checked).model
    found: Any = model.model_validate_json('{"label": "pos"}')
    assert (found.score, found.copy) == (1, ["seen"])
    assert model.model_json_schema()["description"] == "Made by hand."
    for bad in ('{"label": "pos", "score": 6}', '{"label": "pos", "score": -1}', '{"label": "x"}'):
        with pytest.raises(ValidationError):
            model.model_validate_json(bad)


def test_a_pydantic_dataclass_keeps_its_validators():
    model = asked_of(Typed).model
    for bad in ('{"n": 13}', '{"n": 0}'):
        with pytest.raises(ValidationError):
            model.model_validate_json(bad)


def test_a_pydantic_dataclass_is_built_by_its_aliases():
    @pydantic.dataclasses.dataclass
    class Aliased:
        first: int
        second: str = Field(alias="2nd")
        third: str = Field(validation_alias=AliasChoices("3rd", "iii"))

    found: Any = asked_of(Aliased).model.model_validate_json('{"first": 1, "2nd": "b", "iii": "c"}')
    assert (found.first, found.second, found.third) == (1, "b", "c")


def test_a_typed_dicts_optional_key_may_be_left_out():
    model = asked_of(Keys).model
    assert model.model_validate_json('{"label": "pos"}').why is None
    with pytest.raises(ValidationError):
        model.model_validate_json('{"why": "x"}')


def test_confidences_are_added_after_the_models_own_fields_and_its_validators_stay():
    class Strict(BaseModel):
        """Doc."""

        model_config = ConfigDict(extra="forbid")
        label: Literal["pos", "neg"]

        @pydantic.field_validator("label")
        @classmethod
        def never_neg(cls, label: str) -> str:
            if label == "neg":
                raise ValueError("not today")
            return label

    model = with_confidences(asked_of(Strict), {"confidence": None}).model
    assert list(model.model_fields) == ["label", "confidence"]
    assert model.model_json_schema()["description"] == "Doc."
    for bad in (
        '{"label": "neg", "confidence": 1}',
        '{"label": "pos"}',
        '{"label": "pos", "confidence": 1.1}',
        '{"label": "pos", "confidence": 1, "x": 1}',
    ):
        with pytest.raises(ValidationError):
            model.model_validate_json(bad)


def test_field_names_that_pydantic_dislikes_pass_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_confidences(asked_of(create_model("M", a=(bool, ...))), {"model_name_confidence": "model_name"})
        asked_of(Checked)
