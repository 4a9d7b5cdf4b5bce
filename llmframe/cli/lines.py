"""Progress in plain lines, for logs and pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llmframe.engine.progress import Progress
from llmframe.report.wording import dollars, duration

STEP_SECONDS: Final = 30.0
"""A line comes after so many seconds."""

STEP_SHARE: Final = 0.05
"""A line comes sooner when so much more of the rows is done,"""

LEAST_SECONDS: Final = 5.0
"""but not so soon after the last one: a short run would be told in twenty lines."""


class ProgressLines:
    """Writes `12,000 of 100,000 rows · 3 failed · $0.42 · 120/s · 12.0 min left` now and then.

    Parameters
    ----------
    write
        Gets each line, without its end.
    clock
        Seconds that only grow, such as `time.monotonic`.
    """

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float]) -> None:
        self._write, self._clock = write, clock
        self._at = clock()
        self._done = 0
        self._waiting = ""

    def __call__(self, progress: Progress) -> None:
        """Write a line where it's time."""
        passed = self._clock() - self._at
        if not self._is_time(progress, passed):
            return
        self._at += passed
        self._done, self._waiting = progress.done, progress.waiting
        self._write(progress_line(progress))

    def _is_time(self, progress: Progress, passed: float) -> bool:
        if passed >= STEP_SECONDS or (progress.waiting and not self._waiting):  # how to come back is told at once
            return True
        more = progress.done - self._done
        return passed >= LEAST_SECONDS and bool(progress.rows) and more >= STEP_SHARE * (progress.rows or 0)


def progress_line(progress: Progress) -> str:
    """Where a run stands, in one line; what is zero or unknown is left out."""
    rows = f"{progress.done:,} rows" if progress.rows is None else f"{progress.done:,} of {progress.rows:,} rows"
    told = [
        rows,
        progress.waiting,
        f"{progress.cached:,} cached" if progress.cached else "",
        f"{progress.failed:,} failed" if progress.failed else "",
        dollars(progress.usd) if progress.usd else "",
        f"{progress.rate:,.0f}/s" if progress.rate >= 1 else f"{progress.rate:.1g}/s" if progress.rate else "",
        f"{duration(progress.eta_seconds)} left" if progress.eta_seconds is not None else "",
    ]
    return " · ".join(part for part in told if part)
