"""How the text of an answer becomes values."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, create_model, field_validator
from pydantic.fields import FieldInfo

from llmframe.core.outcome import Answer, Failure
from llmframe.core.schema import schema_of


class Mood(enum.Enum):
    POS = "pos"
    NEG = "neg"


class Label(BaseModel):
    label: Literal["pos", "neg"]
    confidence: float = Field(ge=0, le=1)


class Why(Label):
    why: str


class Deep(BaseModel):
    moods: list[Mood]
    inner: Label | None = None
    by_key: dict[str, Mood] = {}


class Aliased(BaseModel):
    label: str = Field(alias="Label Text")


class Rude(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def explode(cls, n: int) -> int:
        if n == 1:
            raise KeyError("secret cell text")
        if n == 2:
            raise ValueError("n may not be 2")
        return n


GOOD = '{"label": "pos", "confidence": 0.9}'


def values(spec: object, text: str) -> object:
    found = schema_of(spec).read(text)
    return found.values if isinstance(found, Answer) else found.kind


@pytest.mark.parametrize(
    ("spec", "text", "read"),
    [
        (Label, GOOD, ("pos", 0.9)),
        (Label, f"```json\n{GOOD}\n```", ("pos", 0.9)),
        (Label, f"```\n{GOOD}\n```\n", ("pos", 0.9)),
        (Why, '{"label":"pos","confidence":0.9,"why":"use ```x``` here"}', ("pos", 0.9, "use ```x``` here")),
        (Label, f"```json\n{GOOD}\n```\nI hope this helps!", "invalid"),
        (Label, "```json\n```", "invalid"),
        (Label, f"```bash\nls\n```\n```json\n{GOOD}\n```", "invalid"),
        (Label, f"{GOOD} trailing", "invalid"),
        (Label, '{"label": "pos", "label": "neg", "confidence": 0.9}', "invalid"),
        (Deep, '{"moods": [], "by_key": {"a": "pos", "a": "neg"}}', "invalid"),
        (Label, '{"label": "POS", "confidence": "0.9"}', ("pos", 0.9)),
        (Label, '{"label": " pos", "confidence": 0.9}', ("pos", 0.9)),
        (Label, '{"label": "Pos.", "confidence": 0.9}', ("pos", 0.9)),
        (Label, '{"label": "positive", "confidence": 0.9}', "invalid"),
        (Label, '{"label": "pos", "confidence": 1.7}', "invalid"),
        (Label, '{"label": "pos", "confidence": NaN}', "invalid"),
        (Label, '{"label": "pos"}', "invalid"),
        (Label, "", "empty"),
        (Label, " \n", "empty"),
        (Label, "null", "invalid"),
        (Deep, '{"moods": ["POS", "neg."]}', (["pos", "neg"], None, "{}")),
        (
            Deep,
            '{"moods": [], "inner": {"label": "NEG", "confidence": 1}, "by_key": {"k": "Pos"}}',
            ([], {"label": "neg", "confidence": 1.0}, '{"k":"pos"}'),
        ),
        (Aliased, '{"Label Text": "a"}', ("a",)),
        (Aliased, '{"label": "a"}', ("a",)),
        (Literal["US", "us"], '{"response": "Us"}', "invalid"),
        (int, '{"response": 9223372036854775808}', "invalid"),
        (float, '{"response": 1e999}', "invalid"),
        (float, '{"response": "NaN"}', "invalid"),
        (Annotated[str, AfterValidator(len)], '{"response": "four"}', ("4",)),
    ],
)
def test_a_text_is_read_as_far_as_it_can_mean_one_thing(spec, text, read):
    assert values(spec, text) == read


@pytest.mark.parametrize(
    ("spec", "text", "read"),
    [
        (["pos", "neg"], '{"response": "pos"}', "pos"),
        (["pos", "neg"], '"pos"', "pos"),
        (["pos", "neg"], "pos", "pos"),
        (["pos", "neg"], "Pos.\n", "pos"),
        (["pos", "neg"], "```\npos\n```", "pos"),
        (["1", "2"], "1", "1"),
        (Mood, "NEG", "neg"),
        (bool, "true", True),
        (bool, "True", True),
        (int, "3", 3),
        (float, "```json\n3\n```", 3.0),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int], '{"a": 1}', '{"a":1}'),
        (str, "plain words", "plain words"),
        (str, '"quoted"', "quoted"),
        (str, "12", "12"),
        (Decimal, "12345678901234567.80", "12345678901234567.80"),
        (Decimal, '{"response": 1.5}', "1.5"),
        (Literal[1, 2], "2", 2),
        (str, "```py\nx = 1\n```", "```py\nx = 1\n```"),
        (Label, '{"label": "pos", "confidence": 1}', "pos"),
    ],
)
def test_one_value_may_come_without_its_wrapping(spec, text, read):
    found = values(spec, text)
    assert isinstance(found, tuple)
    assert found[0] == read


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (["pos", "neg"], "pos, I think"),
        (["pos", "neg"], "positive"),
        (str, '{"response": "cut'),
        (str, '"cut'),
        (str, '{"text": "x"}'),
        (int, "about three"),
        (list[int], "1, 2"),
    ],
)
def test_bare_text_that_may_mean_something_else_is_invalid(spec, text):
    assert values(spec, text) == "invalid"


def test_the_stored_text_reads_as_the_same_answer():
    for spec, text in (
        (Label, '```json\n{"label": "POS", "confidence": 0.10}\n```'),
        (["pos"], "Pos."),
        (str, "words"),
    ):
        schema = schema_of(spec)
        first = schema.read(text)
        assert isinstance(first, Answer)
        assert schema.read(first.text) == first


def test_digits_survive_the_folding_of_a_label():
    model = create_model("M", label=(Mood, ...), price=(str, Field(coerce_numbers_to_str=True)), n=(int, ...))
    assert values(model, '{"label": "POS", "price": 1.5, "n": 9007199254740993}') == ("pos", "1.5", 9007199254740993)


def detail(spec: object, text: str, **options: Any) -> str:
    found = schema_of(spec, **options).read(text)
    assert isinstance(found, Failure)
    return found.detail


def test_a_problem_names_the_field_its_allowed_values_and_a_short_excerpt():
    assert detail(Label, '{"label": "happy", "confidence": 1}') == (
        "field 'label' must be 'pos' or 'neg'; reply: {\"label\": \"happy\", \"confidence\": 1}"
    )
    assert detail(["pos", "neg"], "happy", into="mood") == "field 'mood' must be 'pos' or 'neg'; reply: happy"
    assert detail(Label, '{"label": "pos"}').startswith("field 'confidence' is missing; ")
    assert detail(Deep, '{"moods": ["pos", "x"]}').startswith("field 'moods.1' must be 'pos' or 'neg'; ")
    assert detail(int, '{"response": 99999999999999999999}').startswith("field 'response' is beyond 64-bit integers; ")
    assert detail(Label, "Sure! Here it is").startswith("not JSON (")


def test_a_problem_never_dumps_the_reply():
    told = detail(Label, '{"label": "' + "x" * 5000 + '", "confidence": 7}')
    assert len(told) < 400
    assert "x" * 80 not in told


def test_only_the_first_problems_are_told():
    model = create_model("M", **{f"f{n}": (int, ...) for n in range(9)})
    assert "; and 6 more; " in detail(model, "{}")


def test_a_long_list_of_labels_is_cut_in_the_problem():
    assert len(detail([f"label {n}" for n in range(500)], "x")) < 400


def test_what_a_users_validator_raises_is_the_rows_failure_without_its_text():
    assert detail(Rude, '{"n": 1}') == 'a validator raised KeyError; reply: {"n": 1}'
    assert "n may not be 2" in detail(Rude, '{"n": 2}')
    assert values(Rude, '{"n": 3}') == (3,)


@pytest.mark.parametrize("text", ['{"label": "pos\ud800", "confidence": 1}', "\ud800", '{"label": "\\ud800"}'])
def test_half_a_surrogate_pair_never_reaches_a_column(text):
    for spec in (Label, str, None):
        found = schema_of(spec).read(text)
        (found.values[0] if isinstance(found, Answer) else str(found)).encode()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"label": ' + "[" * 100_000])
def test_a_bottomless_reply_is_invalid(text):
    assert values(Label, text) == "invalid"
    assert values(["pos"], text) == "invalid"


def test_names_of_python_attributes_make_good_fields():
    fields: dict[str, FieldInfo | Any] = dict.fromkeys(("shape", "index", "count", "error"), (int, ...))
    text = '{"shape": 1, "index": 2, "count": 3, "error": 4}'
    assert values(create_model("M", **fields), text) == (1, 2, 3, 4)
