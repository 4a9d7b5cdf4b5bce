"""The exception tree and the words of the error column."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe import errors
from llmframe.errors import (
    ERROR_KINDS,
    EXCERPT_CHARS,
    LlmframeError,
    LlmframeWarning,
    MissingExtraError,
    RowError,
    UsageError,
    callers_place,
    did_you_mean,
    excerpt,
)


def test_the_kinds_are_a_closed_list():
    """A snapshot: people filter on these words, so a changed one is a changed interface."""
    assert ERROR_KINDS == (
        "null",
        "render",
        "encoding",
        "timeout",
        "connection",
        "rate_limit",
        "server",
        "auth",
        "quota",
        "not_found",
        "bad_request",
        "context_length",
        "content_filter",
        "refusal",
        "truncated",
        "empty",
        "invalid",
        "tool_call",
        "budget",
        "cancelled",
        "batch_expired",
        "batch_missing",
        "internal",
    )


def test_wrong_use_is_caught_as_value_error_too_and_a_missing_package_as_import_error():
    assert issubclass(UsageError, (LlmframeError, ValueError))
    assert issubclass(MissingExtraError, UsageError)
    assert issubclass(MissingExtraError, ImportError)
    assert not issubclass(RowError, ValueError)
    assert issubclass(LlmframeWarning, UserWarning)


def test_every_exception_descends_from_one():
    raised = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert {cls.__name__ for cls in raised if not issubclass(cls, LlmframeError)} == {"LlmframeWarning"}


def test_a_row_error_holds_its_kind_and_the_frame():
    error = RowError("row 3 failed: timeout", kind="timeout", frame=[1])
    assert (str(error), error.kind, error.frame) == ("row 3 failed: timeout", "timeout", [1])


def test_a_row_error_comes_back_from_another_process():
    error = pickle.loads(pickle.dumps(RowError("row 3 failed", kind="timeout", frame=[1])))  # noqa: S301 - our own
    assert (str(error), error.kind, error.frame) == ("row 3 failed", "timeout", [1])


@pytest.mark.parametrize(
    ("name", "hint"),
    [("reviw", "; did you mean 'review'?"), ("zzz", ""), ("review", "; did you mean 'review'?")],
)
def test_the_nearest_name_is_offered(name: str, hint: str):
    assert did_you_mean(name, ["review", "title"]) == hint


def test_another_case_is_near():
    assert did_you_mean("REVIEW", ["Title", "Review"]) == "; did you mean 'Review'?"


def test_two_near_names_are_both_offered():
    assert did_you_mean("revie", ["review", "reviews"]) == "; did you mean 'review' or 'reviews'?"


@given(st.text())
def test_an_excerpt_is_one_short_line(text: str):
    shown = excerpt(text)
    assert len(shown) <= EXCERPT_CHARS
    assert len(shown.splitlines()) <= 1


def test_an_excerpt_says_that_it_was_cut():
    assert excerpt("a" * 80) == "a" * 80
    assert excerpt("a" * 81) == "a" * 79 + "…"
    assert excerpt(" two\n\tlines ") == "two lines"


def test_the_callers_place_is_the_line_outside_the_package():
    filename, line = callers_place()
    assert filename == __file__
    assert Path(__file__).read_text().splitlines()[line - 1].strip() == "filename, line = callers_place()"
