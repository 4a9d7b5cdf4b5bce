"""Texts to embed: which are sent, how an answer is read, who pays how much of it."""

from __future__ import annotations

import base64
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.columns import ColumnType
from llmframe.core.embeddings import (
    EMPTY,
    NO_VECTOR,
    Width,
    embedding_schema,
    is_finite,
    kept_text,
    shared_out,
    text_prompt,
    too_long,
    unwrapped,
    wire_vector,
)
from llmframe.core.outcome import Answer, Failure
from llmframe.core.template import compile_prompt
from llmframe.core.vectors import vector_of


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10_000), min_size=1, max_size=50))
def test_shares_are_whole_numbers_whose_sum_is_exact(total, weights):
    shares = shared_out(total, weights)
    assert sum(share for share in shares if share is not None) == total
    heavy = sum(weights)
    for share, weight in zip(shares, weights, strict=True):
        exact = total * weight / heavy if heavy else total / len(weights)
        assert share is not None
        assert abs(share - exact) < 1 + 1e-6 * total


def test_unknown_stays_unknown_and_texts_without_characters_share_evenly():
    assert shared_out(None, [1, 2]) == [None, None]
    assert shared_out(4, [0, 0]) == [2, 2]


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_a_vector_is_finite_when_all_its_numbers_are(numbers):
    assert is_finite(vector_of(numbers)) == all(map(math.isfinite, numbers))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_both_forms_on_the_wire_and_the_kept_text_say_the_same_vector(numbers):
    vector = struct.pack(f"<{len(numbers)}f", *numbers)
    assert wire_vector(base64.b64encode(vector).decode()) == wire_vector(numbers) == vector
    assert unwrapped(kept_text(vector)) == vector


@pytest.mark.parametrize("value", [None, 7, {}, "no base64!", "AAAA", "é", [1, "x"], [None], [10**400]])
def test_what_is_no_vector_is_none(value: object):
    assert wire_vector(value) == NO_VECTOR


def test_the_first_vector_decides_the_width_unless_one_was_asked_for():
    width = Width()
    two, three = vector_of([1, 2]), vector_of([1, 2, 3])
    assert width.problem(NO_VECTOR) == "the answer has no vector for this text"
    assert width.problem(vector_of([1, math.nan])) == "the vector has numbers that are no numbers"
    assert width.size is None
    assert width.problem(two) is None
    assert width.problem(three) == "the vector has 3 numbers, 2 had the others"
    assert Width(3).problem(two) == "the vector has 2 numbers, 3 were asked for"


def test_a_kept_vector_is_read_as_long_as_it_fits():
    width = Width(2)
    schema = embedding_schema("embedding", width)
    assert schema.fields[0].type == ColumnType("vector", size=2)
    assert schema.read(kept_text(vector_of([1, 2]))) == Answer("", (vector_of([1, 2]),))
    for text in (kept_text(vector_of([1])), "pos"):
        result = schema.read(text)
        assert isinstance(result, Failure)
        assert result.kind == "invalid"


def test_empty_and_surely_too_long_texts_are_failures_and_null_stays_one():
    prompt = text_prompt(compile_prompt("{t}", ["t"]), most_tokens=2)  # 2 tokens of 8 characters
    long = "x" * 17
    assert prompt.render([["a", "", " ", "x" * 16, long, None]]) == [
        "a",
        EMPTY,
        " ",
        "x" * 16,
        too_long(2),
        Failure("null", "missing value in 't'"),
    ]
    assert text_prompt(compile_prompt("{t}", ["t"]), most_tokens=None).render([[long, ""]]) == [long, EMPTY]
