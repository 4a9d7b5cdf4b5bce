"""The parts of a comparison."""

from __future__ import annotations

from llmframe.report.compared import Spending


def test_dollars_a_row_are_over_the_rows_that_were_asked():
    assert Spending(told_by="llm_meta", asked=4, cached=6, usd=0.02).usd_per_row == 0.005


def test_a_run_that_asked_nothing_or_told_nothing_has_no_cost_a_row():
    assert Spending(told_by="llm_meta", asked=0, cached=6, usd=0.0).usd_per_row is None
    assert Spending(told_by="llm_meta", asked=4).usd_per_row is None
    assert Spending().usd_per_row is None
