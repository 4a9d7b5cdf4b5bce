"""Counters of one run, with numbers by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Answer, Failure, Outcome, Source, Usage
from llmframe.core.prices import EMBEDDED, Price
from llmframe.engine.metrics import Metrics
from tests.engine.doubles import plan_of

CANCELLED = Failure("cancelled", "stopped")
ANSWER = Answer("x", ("x",))


def metrics(provider: str | None = None, model: str = "m") -> Metrics:
    return Metrics(model=model, price=Price(provider, model))


def outcome(result: Answer | Failure = ANSWER, source: Source = "live") -> Outcome:
    return Outcome(result=result, source=source)


def counted(rows: Sequence[object], outcomes: list[Outcome | None], *, asked: list[bool] | None = None) -> Metrics:
    plan = plan_of(rows, identity="x", asked=asked)
    list(plan.draw())
    found = metrics()
    found.count_rows(plan, outcomes, missing=CANCELLED)
    return found


def test_tokens_and_dollars_add_up_and_unknown_usage_is_counted():
    run = metrics("openai", "gpt-4o-mini")
    assert run.book(Usage(1000, 100, 0)) == pytest.approx(0.00021)  # 1000·0.15 + 100·0.60 millionths
    assert run.book(Usage(None, None, None)) is None
    assert run.book(Usage(1000, 100, 1000)) == pytest.approx(0.000135)  # all of the input at 0.075
    report = run.report(seconds=1.0, state="done")
    assert (report.input_tokens, report.output_tokens, report.cached_tokens) == (2000, 200, 1000)
    assert report.unknown_usage == 1
    assert report.usd == pytest.approx(0.000345)


def test_a_model_without_a_price_has_unknown_costs_and_an_embedded_one_none():
    unpriced, embedded = metrics(), metrics(EMBEDDED)
    for run in (unpriced, embedded):
        run.book(Usage(1000, 100, 0))
    assert unpriced.report(seconds=1.0, state="done").usd is None
    assert embedded.report(seconds=1.0, state="done").usd == 0.0


def test_rows_are_counted_by_what_became_of_them():
    # requests: a (twice), b, c; one null, one not asked
    found = counted(
        ["a", "b", "a", None, "c", "z"],
        [outcome(), outcome(Failure("timeout", "late")), outcome(source="cache")],
        asked=[True] * 5 + [False],
    )
    assert (found.rows, found.answered, found.not_asked) == (6, 3, 1)
    assert dict(found.failed) == {"timeout": 1, "null": 1}
    assert (found.shared, found.cached) == (1, 1)


def test_every_row_of_a_failed_request_has_failed():
    assert dict(counted(["a", "a", "a"], [outcome(Failure("server", "500"))]).failed) == {"server": 3}


def test_every_row_of_a_kept_answer_is_cached():
    found = counted(["a", "a", "b"], [outcome(source="cache"), outcome()])
    assert (found.answered, found.cached, found.shared) == (3, 2, 0)


def test_an_answer_that_another_run_paid_is_shared():
    found = counted(["a", "a"], [outcome(source="shared")])
    assert (found.answered, found.shared) == (2, 2)


def test_a_batchs_answers_are_booked_at_its_price_and_what_they_save_is_counted():
    run = metrics("openai", "gpt-4o-mini")
    assert run.book(Usage(1000, 100, 0)) == pytest.approx(0.00021)  # 1000·0.15 + 100·0.60 millionths
    assert run.book(Usage(4000, 400, 0), batch=True) == pytest.approx(0.00042)  # 4 times as much at half the price
    assert run.book(Usage(None, None, None), batch=True) is None
    run.batches += 1
    report = run.report(seconds=1.0, state="done")
    assert (report.input_tokens, report.output_tokens, report.unknown_usage) == (5000, 500, 1)
    assert report.usd == pytest.approx(0.00063)
    assert (report.usd_batch, report.saved_usd) == (pytest.approx(0.00042), pytest.approx(0.00042))
    assert report.batches == 1
    unpriced = metrics()
    unpriced.book(Usage(1000, 100, 0), batch=True)
    told = unpriced.report(seconds=1.0, state="done")
    assert (told.usd, told.usd_batch, told.saved_usd) == (None, None, None)


def test_rows_that_a_batch_answered_are_counted_and_those_that_share_its_answer_too():
    # requests: a (three times) and b from batches, c live, d kept, e failed in a batch
    found = counted(
        ["a", "b", "a", "c", "d", "a", "e"],
        [
            outcome(source="batch"),
            outcome(source="batch"),
            outcome(),
            outcome(source="cache"),
            outcome(Failure("batch_expired", "not done within 24 h"), source="batch"),
        ],
    )
    assert (found.answered, found.shared, found.cached) == (6, 2, 1)
    assert (found.batch_requests, found.batch_rows) == (2, 4)
    assert dict(found.failed) == {"batch_expired": 1}


def test_rows_without_an_outcome_failed_of_what_stopped_the_run():
    assert dict(counted(["a", "b", "c"], [outcome(), None]).failed) == {"cancelled": 2}


def test_parts_of_a_run_add_up():
    found = metrics()
    for rows in (["a", "b"], ["c"]):
        plan = plan_of(rows, identity="x")
        list(plan.draw())
        found.count_rows(plan, [outcome()] * len(rows), missing=CANCELLED)
    assert (found.rows, found.answered) == (3, 3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", None]),
            st.booleans(),
        ),
        max_size=30,
    ),
    st.lists(
        st.sampled_from([outcome(), outcome(Failure("server", "500")), outcome(source="cache"), None]), max_size=4
    ),
)
def test_rows_are_answered_or_failed_or_not_asked(rows: list[tuple[str | None, bool]], outcomes: list[Outcome | None]):
    found = counted([cell for cell, _ in rows], outcomes, asked=[asked for _, asked in rows])
    assert found.rows == len(rows) == found.answered + sum(found.failed.values()) + found.not_asked
    assert found.not_asked == sum(not asked for _, asked in rows)


def test_a_report_may_be_read_while_the_run_goes_on():
    run = metrics()
    run.requests, run.retries, run.reasks = 5, 1, 2
    run.output_mode = "tools"
    run.notes += ["something changed"] * 2  # as two parts of a run tell it
    for seconds in (1.0, 3.0):
        run.latencies.add(seconds)
    report = run.report(seconds=2.0, state="running", frame="frame")
    assert (report.requests, report.retries, report.reasks) == (5, 1, 2)
    assert report.p50 == pytest.approx(1.0, rel=0.01)
    assert (report.output_mode, report.notes, report.state, report.frame) == (
        "tools",
        ("something changed",),
        "running",
        "frame",
    )
    run.notes.append("later")
    assert report.notes == ("something changed",)


def test_requests_are_counted_as_they_go_out_and_end():
    run = metrics()
    run.begun(100.0)
    run.started(101.0, waited=0.5)
    run.started(101.0, waited=1.5)
    run.ended(103.0, seconds=2.0, tokens=300)
    report = run.report(seconds=3.0, state="running")
    assert (report.requests, report.in_flight, report.in_flight_peak) == (2, 1, 2)
    assert report.p50 == pytest.approx(2.0)
    assert (report.wait_p50, report.wait_p99) == (pytest.approx(0.5, rel=0.01), pytest.approx(1.5, rel=0.01))
    series = report.timeline
    assert len(series.sent) == 25  # 3 s by eighths, and the one that has just begun
    assert (sum(series.sent), sum(series.answered), sum(series.tokens)) == (2, 1, 300)
    assert series.in_flight[7:10] == (0, 2, 2)
    assert series.answered[24] == 1


def test_requests_per_second_are_over_the_wall_time():
    run = metrics()
    for second in range(4):
        run.started(float(second), waited=0.0)
        run.ended(float(second), seconds=0.1, tokens=10)
        run.book(Usage(8, 2, 0))
    report = run.report(seconds=8.0, state="done")
    assert (report.requests_per_second, report.tokens_per_second) == (0.5, 5.0)


def test_ends_are_counted_as_what_they_are():
    run = metrics()
    for kind in ("rate_limit", "rate_limit", "server", "cancelled", None):
        run.started(0.0, waited=0.0)
        run.ended(0.0, seconds=1.0, kind=kind)
    run.retried("rate_limit")
    run.retried("server")
    run.cooled(2.0, 2.0)
    run.cooled(0.5, 2.5)
    run.paused(60.0, 70.0)
    run.hedged()
    run.hedged()
    run.hedge_won()
    report = run.report(seconds=100.0, state="done")
    assert (report.rate_limited, report.in_flight, report.retries) == (2, 0, 2)
    assert report.retries_by_kind == {"rate_limit": 1, "server": 1}
    assert (report.cooldown_seconds, report.pause_seconds) == (2.5, 60.0)
    assert (report.hedges, report.hedges_won) == (2, 1)
    assert (sum(report.timeline.rate_limited), sum(report.timeline.faults), sum(report.timeline.answered)) == (2, 1, 1)


def test_a_pause_counts_for_no_more_than_what_has_passed_of_it():
    run = metrics()
    run.begun(10.0)
    run.cooled(3.0, 14.0)  # from 11 on
    run.paused(8.0, 20.0)  # from 12 on
    early, late = (run.report(seconds=seconds, state="done") for seconds in (3.0, 100.0))  # at 13 and at 110
    assert (early.cooldown_seconds, early.pause_seconds) == (2.0, 1.0)
    assert (late.cooldown_seconds, late.pause_seconds) == (3.0, 8.0)


def test_the_limit_and_its_moves_are_told_from_the_runs_start():
    run = metrics()
    run.begun(100.0)
    run.limit_moved(100.0, 8, "start")
    run.limit_moved(101.0, 16, "slow start")
    run.limit_moved(104.5, 12, "429")
    report = run.report(seconds=5.0, state="running")
    assert report.limit == 12
    assert [(move.seconds, move.limit, move.reason) for move in report.limits] == [
        (0.0, 8, "start"),
        (1.0, 16, "slow start"),
        (4.5, 12, "429"),
    ]
    assert (report.timeline.limit[0], report.timeline.limit[-1]) == (8, 12)


def half_way(*, tokens: int = 0, provider: str | None = None, model: str = "m") -> Metrics:
    """Ten of twenty rows drawn, each a request of its own; five of those answered in 10 s."""
    run = metrics(provider, model)
    run.begun(0.0)
    run.expected_rows = 20
    run.planned(10, 1000, rows=10)
    for second in range(0, 10, 2):
        run.started(float(second), waited=0.0)
        run.ended(second + 1.0, seconds=1.0, tokens=tokens or None)
        run.book(Usage(tokens, 0, 0))
        run.settled(100)
    return run


def test_what_is_left_takes_as_long_as_its_tokens_do_at_the_recent_pace():
    # 15 requests of 100 tokens are left; 500 tokens came in 10 s
    report = half_way(tokens=100).report(seconds=10.0, state="running")
    assert report.eta_seconds == pytest.approx(30.0)


def test_without_tokens_the_requests_are_counted():
    assert half_way().report(seconds=10.0, state="running").eta_seconds == pytest.approx(30.0)  # 15 at one in 2 s
    assert half_way().requests_per_second(10.0) == 0.5


def test_the_end_costs_as_much_a_token_as_the_beginning():
    run = half_way(tokens=1000, provider="openai", model="gpt-4o-mini")
    report = run.report(seconds=10.0, state="running")
    assert report.usd == pytest.approx(0.00075)  # 5,000 tokens at 0.15 a million
    assert report.projected_usd == pytest.approx(0.003)  # 20,000
    assert half_way(tokens=1000).report(seconds=10.0, state="running").projected_usd is None


def test_what_a_batch_took_isnt_projected():
    run = half_way(tokens=1000, provider="openai", model="gpt-4o-mini")
    run.book(Usage(2_000_000, 0, 0), batch=True)  # at 0.075 a million
    report = run.report(seconds=10.0, state="running")
    assert report.projected_usd == pytest.approx(0.153)  # 20,000 tokens live at 0.15 a million
    assert report.eta_seconds == pytest.approx(30.0)


def test_nothing_is_projected_of_a_run_that_has_ended_or_whose_rows_nobody_knows():
    run = half_way(tokens=100)
    assert run.report(seconds=10.0, state="done").eta_seconds is None
    run.expected_rows = None
    assert run.report(seconds=10.0, state="running").eta_seconds is None
    assert metrics().report(seconds=0.0, state="running").eta_seconds is None
    assert metrics().requests_per_second(1.0) == 0.0


def test_nothing_is_projected_while_nothing_comes_in():
    assert half_way(tokens=100).report(seconds=60.0, state="running").eta_seconds is None


def test_a_runs_memory_does_not_grow_with_its_requests():
    run = metrics()
    for number in range(20_000):
        run.started(number * 7.0, waited=0.1)
        run.limit_moved(number * 7.0, 8 + number % 9, "gradient" if number % 2 else "429")
        run.ended(number * 7.0, seconds=0.1 + number / 100)
    report = run.report(seconds=140_000.0, state="done")
    assert len(report.timeline.sent) <= 600
    assert len(report.limits) <= 200
    assert len(report.to_json(timeline=True)) < 60_000
