from __future__ import annotations

import datetime as dt
import random
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing.scalars import Draw, number, string


def draw(seed: int = 0, echo: str | None = None) -> Draw:
    return Draw(random.Random(seed), echo)


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(0, 2**32))
def test_whole_numbers_stay_between_their_bounds(low, width, seed):
    value = number({"minimum": low, "maximum": low + width}, "n", draw(seed), whole=True)
    assert isinstance(value, int)
    assert low <= value <= low + width


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6), st.integers(0, 2**32))
def test_open_bounds_are_never_met(low, width, seed):
    if low + width / 2 in {low, low + width}:
        return
    value = number({"exclusiveMinimum": low, "exclusiveMaximum": low + width}, "x", draw(seed), whole=False)
    assert low < value < low + width or width / abs(low or 1) < 1e-12


def test_the_tighter_of_two_bounds_counts():
    node = {"minimum": 3, "exclusiveMinimum": 3, "maximum": 5, "exclusiveMaximum": 6}
    assert {number(node, "n", draw(seed), whole=True) for seed in range(50)} == {4, 5}


def test_a_flag_beside_the_bound_opens_it_as_in_draft_four():
    node = {"minimum": 3, "exclusiveMinimum": True, "maximum": 5}
    assert {number(node, "n", draw(seed), whole=True) for seed in range(50)} == {4, 5}


def test_whole_multiples_of_a_fraction_are_the_multiples_of_its_numerator():
    # 2.5 = 5/2: its whole multiples are those of 5.
    node = {"multipleOf": 2.5, "minimum": 1, "maximum": 11}
    assert {number(node, "n", draw(seed), whole=True) for seed in range(50)} == {5, 10}


@pytest.mark.parametrize(
    ("name", "parse"),
    [
        ("date", dt.date.fromisoformat),
        ("time", dt.time.fromisoformat),
        ("date-time", dt.datetime.fromisoformat),
        ("uuid", uuid.UUID),
        ("duration", re.compile(r"P\dDT\d+H\d+M").fullmatch),
        ("email", re.compile(r"\w+@example\.com").fullmatch),
        ("uri", re.compile(r"https://example\.com/\w+").fullmatch),
    ],
)
def test_a_format_is_kept(name, parse):
    for seed in range(50):
        assert parse(string({"format": name}, "x", draw(seed)))


@pytest.mark.parametrize(
    "pattern", [r"^\d{4}$", r"^[A-Z]{2}\d?$", r"\.txt$", r"^a+b*c?$", r"^-?[0-9]+\.[0-9]{2}$", r"^(?:\d{1,3}|x)$"]
)
def test_a_plain_pattern_or_one_that_a_decimal_fits_is_kept(pattern):
    for seed in range(50):
        assert re.search(pattern, string({"pattern": pattern}, "x", draw(seed)))


def test_a_pattern_too_hard_to_draw_from_gives_a_word():
    assert string({"pattern": r"^(red|green)(?=!)"}, "x", draw()).startswith("word")


def test_a_length_is_kept():
    assert len(string({"minLength": 50}, "x", draw())) == 50
    assert len(string({"maxLength": 2}, "x", draw())) == 2
