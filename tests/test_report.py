"""What a run tells, word for word."""

from __future__ import annotations

import dataclasses
import json

import pytest

from llmframe.report import PlanReport, RunReport, dollars, failure_counts

FULL = RunReport(
    model="gpt-4o-mini",
    rows=1200,
    answered=1100,
    not_asked=40,
    failed={"timeout": 10, "invalid": 45, "auth": 5},
    cached=300,
    shared=20,
    requests=900,
    retries=33,
    reasks=12,
    input_tokens=123456,
    output_tokens=7890,
    cached_tokens=1024,
    unknown_usage=3,
    usd=0.0231,
    seconds=55.0,
    p50=0.5,
    p95=1.25,
    p99=2.0,
    output_mode="tools",
    notes=("asked by tools instead of json_schema, because the server refused (400)",),
    state="stopped",
    frame="cells stay out of it: sk-secret",
)

PLAN = PlanReport(
    model="gpt-4o-mini",
    rows=1000,
    null_rows=3,
    failed_rows=1,
    not_asked=40,
    requests=700,
    cached=100,
    input_tokens=21000,
    output_tokens=3500,
    characters_per_token=4.0,
    usd=0.00525,
    prompts=([{"role": "user", "content": "a secret cell"}],),
    schema={"type": "object"},
)


def test_a_full_report_reads_as_a_small_table():
    # 1100 answered rows / 55 s = 20 a second
    assert repr(FULL).splitlines() == [
        "llmframe run · gpt-4o-mini · stopped early",
        "  rows      1,200 (40 not asked)",
        "  answered  1,100 (300 cached, 20 shared)",
        "  failed    60 (45 invalid, 10 timeout, 5 auth)",
        "  requests  900 (33 retries, 12 re-asks)",
        "  tokens    123,456 in, 7,890 out (1,024 of the input read from the provider's cache); unknown for 3 requests",
        "  cost      $0.0231",
        "  time      55.0 s, 20.0 answered rows/s",
        "  latency   p50 0.50 s, p95 1.25 s, p99 2.00 s",
        "  asked by  tools",
        "  note      asked by tools instead of json_schema, because the server refused (400)",
    ]


def test_an_empty_report_says_nothing_that_it_does_not_know():
    assert repr(RunReport(model=None)).splitlines() == [
        "llmframe run · no model · done",
        "  rows      0",
        "  answered  0",
        "  failed    0",
        "  requests  0",
        "  tokens    0 in, 0 out",
        "  cost      unknown (no price for this model)",
        "  time      0.0 s, 0.0 answered rows/s",
    ]


def test_a_notebook_shows_the_same_words_escaped():
    html = FULL._repr_html_()
    assert "<th style='text-align:left;padding-right:1em'>cost</th><td style='text-align:left'>$0.0231</td>" in html
    assert "provider&#x27;s cache" in html
    strange = RunReport(model="<script>x</script>", notes=("<b>",))
    assert "<script>" not in strange._repr_html_()
    assert "<b>" not in strange._repr_html_()


def test_no_cell_gets_into_any_of_its_forms():
    assert not any("secret" in text for text in (repr(FULL), FULL._repr_html_(), FULL.to_json()))
    assert not any("secret" in text for text in (repr(PLAN), PLAN._repr_html_()))


def test_a_report_comes_back_from_json():
    values = json.loads(FULL.to_json())
    assert values == FULL.to_dict()
    assert RunReport(**{**values, "notes": tuple(values["notes"])}) == dataclasses.replace(FULL, frame=None)
    assert "frame" not in values


def test_failures_are_counted_over_all_kinds():
    assert FULL.failures == 60
    assert RunReport(model="m", seconds=0.0, answered=5).rows_per_second == 0.0


def test_a_plan_says_what_would_be_sent():
    assert repr(PLAN).splitlines() == [
        "llmframe plan · gpt-4o-mini · nothing sent",
        "  rows      1,000 (40 not asked, 3 with a null, 1 that can't be rendered)",
        "  requests  700 to send, 100 answered already",
        "  tokens    about 21,000 in, 3,500 out",
        "  cost      about $0.00525",
    ]
    assert "<td style='text-align:left'>about $0.00525</td>" in PLAN._repr_html_()
    failing = dataclasses.replace(PLAN, problems=("render: KeyError: 'x' in the prompt callable",))
    assert repr(failing).splitlines()[2] == "  problem   render: KeyError: 'x' in the prompt callable"


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


def test_failures_are_told_in_one_line_most_frequent_first():
    assert failure_counts({"auth": 1, "timeout": 2, "invalid": 1}, 10) == (
        "4 of 10 rows failed: 2 timeout, 1 auth, 1 invalid"
    )
    assert failure_counts({"timeout": 1200}, 5000) == "1,200 of 5,000 rows failed: 1,200 timeout"
