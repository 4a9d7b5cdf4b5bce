"""Cost of a card: what nobody told isn't free."""

from __future__ import annotations

import math

import pytest

from llmframe.report.card_parts.cost_part import KEYS, cost_section
from llmframe.report.compared import Spending


def test_dollars_are_told_in_all_and_for_a_thousand_rows():
    found = Spending(told_by="llm_meta", asked=50, cached=10, unknown=2, usd=0.5, input_tokens=1200, output_tokens=40)
    part = cost_section(found)
    # 0.5 dollars over 50 asked rows are 10 for a thousand
    assert part.values == {"usd": 0.5, "usd_per_1000": 10.0, "input_tokens": 1200, "output_tokens": 40}
    assert dict(part.lines)["for"] == "50 rows were asked, 10 were kept from an earlier run"
    assert "2 requests is unknown" in part.notes[0]


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (Spending(), "nobody told"),
        (Spending(told_by="report", asked=0, cached=7, usd=0.0), "all 7 answers were kept"),
        (Spending(told_by="report", asked=0, cached=0), "no row was asked"),
    ],
    ids=["untold", "all kept", "none asked"],
)
def test_what_nobody_told_is_unknown(found: Spending, word: str):
    part = cost_section(found)
    assert part.absent
    assert word in part.reason
    assert all(math.isnan(part.values[key]) for key in KEYS)


def test_a_model_without_a_price_has_tokens_but_no_dollars():
    part = cost_section(Spending(told_by="llm_meta", asked=5, input_tokens=10, output_tokens=5))
    assert math.isnan(part.values["usd"])
    assert dict(part.lines)["dollars"] == "unknown: no price for this model"
    assert part.values["input_tokens"] == 10
