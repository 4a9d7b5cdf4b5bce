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
