"""A comparison as text, HTML and JSON."""

from __future__ import annotations

import json
import math

from llmframe.report.compared import Spending
from llmframe.stats.flips import Significance
from tests.report.comparisons import column, comparison


def test_the_repr_is_a_table_that_ends_with_what_is_decided():
    lines = repr(comparison()).splitlines()
    assert lines[0] == "llmframe comparison · a -> b · 103 rows"
    assert lines[-2].startswith("  verdict   label: 10 of 100 values differ")
    assert lines[-1] == "  cost      unknown: map with `meta=True` to have it told"


def test_html_escapes_labels():
    html = comparison(column(name="<label>"))._repr_html_()
    assert "&lt;label&gt;" in html
    assert "<label>" not in html


def test_json_has_null_for_what_is_unknown():
    found = json.loads(comparison(column(kappa=math.nan, shift=Significance(reason="no row differs"))).to_json())
    [only] = found["columns"]
    assert (only["kappa"], only["shift"]["p"], only["agreement"]) == (None, None, 0.9)
    assert only["table"][0] == {"before": "p", "after": "n", "count": 9}
    assert found["usd_difference"] is None


def test_each_column_has_its_sentence():
    assert len(comparison(column(), column(name="topic")).verdict.splitlines()) == 2


def test_a_free_run_says_nothing_about_its_cost():
    asked = Spending(told_by="llm_meta", asked=10, cached=0, usd=0.1)
    kept = Spending(told_by="llm_meta", asked=0, cached=10, usd=0.0)
    assert comparison(spending_a=asked, spending_b=kept).usd_difference is None
    assert comparison(spending_a=asked, spending_b=asked).usd_difference == 0.0
