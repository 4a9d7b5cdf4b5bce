from __future__ import annotations

import json

from llmframe.cli.summary import closing_lines, fitted, summary
from llmframe.report import RunReport


def test_a_scheduler_gets_counts_money_time_and_the_status():
    report = RunReport(
        model="m",
        rows=10,
        answered=7,
        failed={"timeout": 3},
        cached=2,
        changes={"text": 8, "kept": 2},
        requests=9,
        input_tokens=100,
        output_tokens=20,
        usd=0.25,
        batches=1,
        batch_requests=4,
        batch_rows=5,
        usd_batch=0.05,
        saved_usd=0.1 / 3,
        budget={"usd": 1.0},
        budget_spent={"usd": 0.25},
        seconds=4.5,
        output="out.csv",
    )
    told = json.loads(json.dumps(summary(report, status=3)))
    assert told == {
        "state": "done",
        "model": "m",
        "rows": 10,
        "answered": 7,
        "not_asked": 0,
        "failed": {"timeout": 3},
        "cached": 2,
        "shared": 0,
        "requests": 9,
        "retries": 0,
        "reasks": 0,
        "changes": {"text": 8, "kept": 2},
        "tokens": {"input": 100, "output": 20, "cached": 0},
        "unknown_usage": 0,
        "usd": 0.25,
        "batches": 1,
        "batch_requests": 4,
        "batch_rows": 5,
        "usd_batch": 0.05,
        "saved_usd": 0.033333333,
        "budget": {"usd": 1.0},
        "budget_spent": {"usd": 0.25},
        "seconds": 4.5,
        "notes": [],
        "output": "out.csv",
        "exit_code": 3,
    }


def test_a_run_that_never_began_has_no_numbers_rather_than_zeros():
    told = summary(None, status=130)
    assert (told["state"], told["rows"], told["usd"], told["exit_code"]) == ("interrupted", None, None, 130)


def test_people_are_told_how_to_go_on():
    assert closing_lines(0, written=True) == []
    again = ["the same command with --exists replace asks only for what is missing"]
    assert closing_lines(3, written=True) == closing_lines(4, written=True) == again
    for status in (130, 143):
        assert closing_lines(status, written=False) == [
            "the output isn't written yet: finished parts are kept",
            "the same command goes on where this one stopped",
        ]
    assert closing_lines(4, written=False) == []  # a note of the report says it


def test_a_report_is_folded_under_its_texts_on_a_terminal_and_nowhere_else():
    report = "llmframe run\n  rows      10\n  in flight up to 112 (limit 8 -> 114: slow start)"
    assert fitted(report, None) == report
    assert fitted(report, 40).splitlines() == [
        "llmframe run",
        "  rows      10",
        "  in flight up to 112 (limit 8 -> 114:",
        "            slow start)",
    ]
