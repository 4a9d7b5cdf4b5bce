"""Single values are checked against what their column can hold."""

from __future__ import annotations

import dataclasses
import enum
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pydantic import BaseModel, Field

from llmframe.core.scalars import (
    Misfit,
    bool_cell,
    date_cell,
    duration_cell,
    float_cell,
    int_cell,
    json_text,
    naive_cell,
    text_cell,
    utc_cell,
)


class Mood(enum.StrEnum):
    GOOD = "good"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (Mood.GOOD, "good"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.00"), "0.00"),
        (Decimal("1E+999999"), "1E+999999"),
        (5, "5"),
    ],
)
def test_text_is_plain_and_exactly_of_type_str(value, text):
    assert text_cell(value) == text
    assert type(text_cell(value)) is str


def test_the_edges_of_64_bits_fit_and_their_neighbours_do_not():
    assert int_cell(2**63 - 1) == 2**63 - 1
    assert int_cell(-(2**63)) == -(2**63)
    for value in (2**63, -(2**63) - 1):
        with pytest.raises(Misfit, match="64-bit"):
            int_cell(value)


def test_an_aware_time_is_told_in_utc_and_a_naive_one_is_taken_as_utc():
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    assert naive_cell(noon) == noon.replace(tzinfo=None)
    assert utc_cell(noon.replace(tzinfo=None)) == noon


def test_a_date_with_a_time_is_its_date():
    assert date_cell(datetime(2024, 1, 1, 12, tzinfo=UTC)) == date(2024, 1, 1)


@pytest.mark.parametrize("cell", [bool_cell, int_cell, float_cell, date_cell, utc_cell, duration_cell])
def test_what_a_validator_turned_into_something_else_is_a_misfit_by_type_name(cell):
    with pytest.raises(Misfit, match="became object in a validator"):
        cell(object())


def test_json_text_is_compact_and_keeps_unicode():
    assert json_text({"é": [1, None, timedelta(seconds=1)]}) == '{"é":[1,null,"PT1S"]}'


class Tags(BaseModel):
    name: str = Field(alias="Name")
    tags: set[str]


@dataclasses.dataclass
class Held:
    tags: frozenset[str]


def test_json_text_has_its_sets_in_one_order_however_deep_they_stand():
    words = set("hgfedcba")
    tags = Tags.model_validate({"Name": "n", "tags": words})
    ordered = '["a","b","c","d","e","f","g","h"]'
    assert json_text(words) == ordered
    assert json_text([tags]) == f'[{{"name":"n","tags":{ordered}}}]'
    assert (
        json_text({1: Held(frozenset(words)), 2: (words, "x")}) == f'{{"1":{{"tags":{ordered}}},"2":[{ordered},"x"]}}'
    )
    assert json_text(["b", "a"]) == '["b","a"]'
