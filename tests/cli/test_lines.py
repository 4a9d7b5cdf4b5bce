from __future__ import annotations

from llmframe.cli.lines import ProgressLines, progress_line
from llmframe.engine.progress import Progress


def progress(done: int, *, rows: int | None = 1000, **more) -> Progress:
    return Progress(**{"rows": rows, "done": done, "cached": 0, "failed": 0, "in_flight": 0, "usd": None, **more})


def written(steps: list[tuple[float, int]], *, rows: int | None = 1000) -> list[str]:
    now, lines = [0.0], []
    show = ProgressLines(lines.append, clock=lambda: now[0])
    for seconds, done in steps:
        now[0] = seconds
        show(progress(done, rows=rows))
    return lines


def test_a_line_tells_rows_failures_money_pace_and_the_time_that_is_left():
    full = progress(12_000, rows=100_000, failed=3, usd=0.42, rate=120.0, eta_seconds=733.0)
    # 733 s / 60 = 12.2 min
    assert progress_line(full) == "12,000 of 100,000 rows · 3 failed · $0.42 · 120/s · 12.2 min left"


def test_what_is_zero_or_unknown_is_left_out():
    assert progress_line(progress(0)) == "0 of 1,000 rows"
    assert progress_line(progress(5, rows=None, cached=2)) == "5 rows · 2 cached"
    assert progress_line(progress(5, rate=0.25)) == "5 of 1,000 rows · 0.2/s"


def test_a_line_comes_after_half_a_minute_however_little_was_done():
    assert written([(1, 1), (29, 2), (30, 2), (59, 3), (60, 3)]) == ["2 of 1,000 rows", "3 of 1,000 rows"]


def test_a_twentieth_of_the_rows_brings_one_sooner():
    assert written([(6, 49), (7, 50), (13, 99), (14, 100)]) == ["50 of 1,000 rows", "100 of 1,000 rows"]


def test_a_short_run_writes_none():
    assert written([(0.1 * step, 50 * step) for step in range(1, 21)]) == []


def test_without_a_number_of_rows_only_time_brings_a_line():
    assert written([(10, 5000), (31, 9000)], rows=None) == ["9,000 rows"]
