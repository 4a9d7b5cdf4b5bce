"""What an audit looks like: a table, HTML, Markdown, JSON."""

from __future__ import annotations

import json
import math

import pytest

from llmframe.errors import UsageError
from llmframe.report.audit import Audit, Finding, probability
from llmframe.stats.estimate import Estimate

AUDIT = Audit(
    judge="pairwise",
    rows=100,
    failed=2,
    least=0.1,
    seed=0,
    findings=(
        Finding(
            probe="position",
            measure="picks of the first text above a half",
            effect=Estimate(value=0.18, low=0.13, high=0.23, n=98),
            p=0.00002,
            q=0.00006,
            detectable=0.07,
            verdict="biased",
            clusters=98,
            facts={"first_pick_rate": 0.68, "always_first": 37},
        ),
        Finding(
            probe="length",
            measure="growth of the <log-odds>",
            effect=Estimate(value=math.nan, n=9, reason="9 items are fewer than 10"),
            verdict="observational",
            note="seen, not tried",
        ),
    ),
)


def test_the_table_has_a_line_for_each_probe_and_a_note_below():
    assert repr(AUDIT).splitlines() == [
        "llmframe audit · pairwise · 100 rows, 2 failed",
        "  probe     effect               p       q       detectable  rows  verdict",
        "  position  0.18 (0.13 to 0.23)  <0.001  <0.001  0.07        98    biased",
        "  length    unknown                                          9     observational",
        "",
        "  position: picks of the first text above a half; first_pick_rate 0.68, always_first 37",
        "  length: growth of the <log-odds>; 9 items are fewer than 10; seen, not tried",
        f"  {AUDIT.rule}",
    ]


def test_the_rule_of_the_verdicts_names_the_effect_that_matters():
    assert AUDIT.rule.startswith("biased: q <= 0.05; clear at this power: not so, though an effect of 0.1 would")


def test_html_has_the_same_and_no_markup_of_its_content():
    shown = AUDIT._repr_html_()
    assert "<td style='text-align:left'>0.18 (0.13 to 0.23)</td>" in shown
    assert "&lt;log-odds&gt;" in shown
    assert shown.count("<li>") == 2


def test_markdown_is_a_table_with_a_list():
    lines = AUDIT.to_markdown().splitlines()
    assert lines[0] == "**llmframe audit · pairwise · 100 rows, 2 failed**"
    assert lines[2:5] == [
        "| probe | effect | p | q | detectable | rows | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| position | 0.18 (0.13 to 0.23) | <0.001 | <0.001 | 0.07 | 98 | biased |",
    ]


def test_json_has_null_for_what_is_unknown():
    told = json.loads(AUDIT.to_json())
    assert told["biased"] == ["position"]
    assert told["findings"][0]["effect"]["value"] == 0.18
    assert told["findings"][1]["effect"]["value"] is None
    assert told["findings"][1]["q"] is None


def test_a_finding_is_found_by_its_probe():
    assert AUDIT["position"].verdict == "biased"
    with pytest.raises(UsageError, match="probe 'positon' isn't in this audit; did you mean 'position'"):
        AUDIT["positon"]


@pytest.mark.parametrize(("p", "text"), [(math.nan, ""), (0.0, "<0.001"), (0.0312, "0.031"), (1.0, "1.000")])
def test_a_probability_has_three_digits(p: float, text: str):
    assert probability(p) == text
