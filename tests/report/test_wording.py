"""How numbers are said."""

from __future__ import annotations

import pytest

from llmframe.report.wording import (
    batch_count,
    counts,
    dollars,
    duration,
    failure_counts,
    html_table,
    text_table,
    unsure_counts,
)


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (None, "unknown (no price for this model)"),
        (0.0, "$0.00"),
        (1234.5, "$1,234.50"),
        (1.0, "$1.00"),
        (0.0123456, "$0.01235"),
        (0.000021, "$0.000021"),
        (3e-7, "$0.0000003"),
        (0.99999, "$1.00"),
    ],
)
def test_dollars_read_as_money(usd: float | None, text: str):
    assert dollars(usd) == text


def test_batches_are_counted_in_words():
    assert [batch_count(number) for number in (0, 1, 2, 1200)] == ["0 batches", "1 batch", "2 batches", "1,200 batches"]


def test_failures_are_told_in_one_line_most_frequent_first():
    assert failure_counts({"auth": 1, "timeout": 2, "invalid": 1}, 10) == (
        "4 of 10 rows failed: 2 timeout, 1 auth, 1 invalid"
    )
    assert failure_counts({"timeout": 1200}, 5000) == "1,200 of 5,000 rows failed: 1,200 timeout"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (8.06, "8.1 s"), (59.9, "59.9 s"), (90.0, "1.5 min"), (3599.0, "60.0 min"), (11520.0, "3.2 h")],
)
def test_durations_read_in_the_unit_that_fits(seconds: float, text: str):
    assert duration(seconds) == text


def test_kinds_that_never_occurred_are_not_told():
    assert counts({"timeout": 0, "server": 3}) == "3 server"
    assert counts({}) == ""


def test_what_is_to_be_done_about_missing_log_probabilities_helps_under_auto_too():
    told = unsure_counts({"no_logprobs": 2, "logprobs": 8})
    assert told.startswith("2 of 10 answered rows have no confidence: 2 no_logprobs; ")
    # "auto" has none where it can't take votes: in batches, and at temperature 0
    assert told.endswith('"auto", with `mode="live"` and a temperature above 0')
    assert unsure_counts({"logprobs": 8, "votes": 2}) == ""


def test_tables_have_one_line_for_each_pair():
    assert text_table("title", [("rows", "3"), ("cost", "$1.00")]).splitlines() == [
        "title",
        "  rows      3",
        "  cost      $1.00",
    ]
    assert html_table("a < b", [("rows", "<3>")]).count("<tr>") == 1
    assert "&lt;3&gt;" in html_table("a < b", [("rows", "<3>")])
