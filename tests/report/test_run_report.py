"""What a run tells, word for word."""

from __future__ import annotations

import dataclasses
import json
import sys

import pytest

import llmframe
from llmframe.report import LimitMove, RunReport, Series
from llmframe.report.run_report import limit_moves

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
    retries_by_kind={"rate_limit": 11, "server": 22, "timeout": 0},
    rate_limited=12,
    cooldown_seconds=8.06,
    pause_seconds=90.0,
    hedges=7,
    hedges_won=3,
    input_tokens=123456,
    output_tokens=7890,
    cached_tokens=1024,
    unknown_usage=3,
    usd=0.0231,
    budget={"usd": 0.05, "calls": 1000, "seconds": 60},
    budget_spent={"usd": 0.025, "calls": 900},
    seconds=55.0,
    p50=0.5,
    p95=1.25,
    p99=2.0,
    wait_p50=0.01,
    wait_p95=0.25,
    wait_p99=0.4,
    in_flight_peak=64,
    limit=51,
    limits=(LimitMove(0.0, 8, "start"), LimitMove(2.5, 64, "slow start"), LimitMove(9.0, 51, "429")),
    output_mode="tools",
    notes=("asked by tools instead of json_schema, because the server refused (400)",),
    state="stopped",
    timeline=Series(width=0.25, sent=(3, 1), answered=(0, 4), tokens=(0, 1000)),
    frame="cells stay out of it: sk-secret",
)


def test_a_full_report_reads_as_a_small_table():
    # 1100 answered rows / 55 s = 20 a second; 131,346 tokens / 55 s = 2,388.1; 0.0231 / 1100 rows = 0.000021
    assert repr(FULL).splitlines() == [
        "llmframe run · gpt-4o-mini · stopped early",
        "  rows      1,200 (40 not asked)",
        "  answered  1,100 (300 cached, 20 shared)",
        "  failed    60 (45 invalid, 10 timeout, 5 auth)",
        "  requests  900 (33 retries, 12 re-asks)",
        "  retried   after 22 server, 11 rate_limit",
        "  hedges    7 sent, 3 won",
        "  limits    12 429s, 8.1 s of cooldown, 1.5 min paused after faults alone",
        "  in flight up to 64 (limit 8 -> 64: slow start; -> 51: 429)",
        "  tokens    123,456 in, 7,890 out (1,024 of the input read from the provider's cache); unknown for 3 requests",
        "  cost      $0.0231, $0.000021 an answered row",
        "  budget    $0.025 of $0.05, 900 of 1,000 calls, 60 s to send in",
        "  time      55.0 s, 20.0 answered rows/s, 2,388 tokens/s",
        "  latency   p50 0.50 s, p95 1.25 s, p99 2.00 s",
        "  queued    p50 0.01 s, p95 0.25 s, p99 0.40 s",
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
    assert "<th style='text-align:left;padding-right:1em'>cost</th><td style='text-align:left'>$0.0231, $" in html
    assert "provider&#x27;s cache" in html
    strange = RunReport(model="<script>x</script>", notes=("<b>",))
    assert "<script>" not in strange._repr_html_()
    assert "<b>" not in strange._repr_html_()


def test_no_cell_gets_into_any_of_its_forms():
    assert not any("secret" in text for text in (repr(FULL), FULL._repr_html_(), FULL.to_json()))


def test_a_report_comes_back_from_json():
    values = json.loads(FULL.to_json())
    assert values == FULL.to_dict()
    assert (values["rows_per_second"], values["requests_per_second"]) == (20.0, 900 / 55)
    assert values["tokens_per_second"] == 131_346 / 55
    assert values["usd_per_row"] == 0.0231 / 1100
    fields = {name: value for name, value in values.items() if "_per_" not in name}
    fields["notes"] = tuple(values["notes"])
    fields["limits"] = tuple(LimitMove(**move) for move in values["limits"])
    assert RunReport(**fields) == dataclasses.replace(FULL, frame=None, timeline=Series())


def test_json_holds_every_field_but_the_frame_and_the_timeline_when_it_is_wanted():
    names = {field.name for field in dataclasses.fields(RunReport)} - {"frame"}
    assert names <= set(json.loads(FULL.to_json(timeline=True)))
    assert names - set(json.loads(FULL.to_json())) == {"timeline"}
    timeline = json.loads(FULL.to_json(timeline=True))["timeline"]
    assert set(timeline) == {field.name for field in dataclasses.fields(Series)}
    assert (timeline["width"], timeline["answered"]) == (0.25, [0, 4])


def test_a_run_that_goes_on_tells_what_is_left():
    running = RunReport(
        model="m",
        state="running",
        seconds=10.0,
        in_flight=12,
        in_flight_peak=16,
        usd=0.5,
        projected_usd=2.0,
        eta_seconds=30.0,
    )
    lines = repr(running).splitlines()
    assert "  in flight up to 16, 12 now" in lines
    assert "  cost      $0.5, about $2.00 in the end" in lines
    assert "  time      10.0 s, 0.0 answered rows/s; about 30.0 s left" in lines


BATCHED = RunReport(
    model="m",
    answered=1204,
    shared=104,
    batches=2,
    batch_requests=1100,
    batch_rows=1204,
    usd=0.41,
    usd_batch=0.41,
    saved_usd=0.41,
)


def test_a_run_through_batches_tells_what_they_took_and_what_it_would_have_been_live():
    lines = repr(BATCHED).splitlines()
    assert "  batch     1,204 rows from 2 batches ($0.41; live $0.82)" in lines
    assert "  cost      $0.41, $0.0003405 an answered row" in lines  # 0.41 / 1204
    mixed = dataclasses.replace(BATCHED, batches=1, batch_rows=1, usd=0.5)
    lines = repr(mixed).splitlines()
    assert "  batch     1 row from 1 batch ($0.41; live $0.82)" in lines
    assert "  cost      $0.5 ($0.41 in batches), $0.0004153 an answered row" in lines  # 0.5 / 1204
    unpriced = dataclasses.replace(BATCHED, usd=None, usd_batch=None, saved_usd=None)
    assert "  batch     1,204 rows from 2 batches\n" in repr(unpriced)
    assert "batch" not in repr(RunReport(model="m", usd=1.0, usd_batch=0.0))


def test_a_row_costs_what_is_known_to_be_spent_over_those_answered():
    assert RunReport(model="m", usd=None, answered=5).usd_per_row is None
    assert RunReport(model="m", usd=0.5).usd_per_row is None
    assert "answered row" not in repr(RunReport(model="m", usd=0.0, answered=5)).split("cost")[1].splitlines()[0]
    assert "budget" not in repr(RunReport(model="m"))


def test_a_wait_that_nobody_notices_is_not_told():
    quick = RunReport(model="m", p50=1.0, p95=1.0, p99=1.0, wait_p50=0.0, wait_p95=0.049, wait_p99=2.0)
    assert "queued" not in repr(quick)


def test_failures_are_counted_over_all_kinds():
    assert FULL.failures == 60
    assert RunReport(model="m", seconds=0.0, answered=5).rows_per_second == 0.0


def test_a_pause_that_hardly_began_isnt_told():
    text = repr(dataclasses.replace(FULL, cooldown_seconds=0.02, pause_seconds=0.0))
    assert "  limits    12 429s\n" in text


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ([], ""),
        ([(8, "start")], ""),
        ([(8, "start"), (64, "slow start")], "limit 8 -> 64: slow start"),
        (
            [(8, "start"), (64, "slow start"), (51, "429"), (40, "429"), (44, "gradient"), (48, "gradient")],
            "limit 8 -> 64: slow start; 4 moves between 40 and 51 (2 by 429, 2 by gradient); now 48",
        ),
        (
            [(8, "start"), (6, "429"), (5, "429"), (7, "gradient"), (6, "429"), (9, "gradient")],
            "limit 8; 5 moves between 5 and 9 (3 by 429, 2 by gradient); now 9",
        ),
    ],
)
def test_moves_of_the_limit_are_told_one_by_one_or_summed_up(moves: list[tuple[int, str]], text: str):
    assert limit_moves(tuple(LimitMove(float(n), *move) for n, move in enumerate(moves))) == text


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "llmframe.report.run_figure", raising=False)
    with pytest.raises(llmframe.MissingExtraError, match=r"pip install 'llmframe\[plots\]'"):
        FULL.plot()


def test_a_report_draws_its_own_run():
    figure = FULL.plot()
    assert figure.get_suptitle() == "llmframe run · gpt-4o-mini · stopped early"
