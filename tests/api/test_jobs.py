from __future__ import annotations

from typing import Any

from llmframe.api.jobs import job_lines
from llmframe.engine.progress import Progress


def lines(*, ended: bool = False, **more: Any) -> dict[str, str]:
    said: dict[str, Any] = {"rows": 1000, "done": 400, "cached": 0, "failed": 0, "in_flight": 0, "usd": None}
    return dict(job_lines(Progress(**(said | more)), seconds=90.0, ended=ended))


def test_only_what_there_is_has_a_line():
    assert lines() == {"rows": "400 of 1,000 done", "time": "1.5 min"}


def test_every_number_has_its_line():
    told = lines(cached=30, failed=2, in_flight=8, usd=0.25, eta_seconds=12.0, waiting="1 batch: 3 of 5 requests done")
    assert told == {
        "rows": "400 of 1,000 done (30 cached)",
        "failed": "2",
        "in flight": "8",
        "cost": "$0.25",
        "time": "1.5 min; about 12.0 s left",
        "batch": "1 batch: 3 of 5 requests done",
    }


def test_at_the_end_nothing_is_waited_for():
    assert lines(ended=True, eta_seconds=12.0, waiting="1 batch")["time"] == "1.5 min"
    assert "batch" not in lines(ended=True, waiting="1 batch")


def test_rows_that_nobody_has_counted_are_left_out():
    assert lines(rows=None)["rows"] == "400 done"
