"""What is drawn of a run; its looks are for eyes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.series import LimitMove, Series
from llmframe.report.run_picture import BARS, draw, steps

RUN = Series(
    width=1.0,
    seconds=3.5,
    sent=(4, 4, 0, 2),
    answered=(0, 3, 2, 2),
    tokens=(0, 300, 200, 200),
    rate_limited=(0, 1, 0, 0),
    faults=(0, 0, 2, 0),
    in_flight=(4, 5, 4, 2),
    limit=(8, 8, 6, 6),
)
MOVES = (LimitMove(0.0, 8, "start"), LimitMove(2.0, 6, "429"))


def series(seconds: float) -> Series:
    """Two buckets of a run in which nothing went wrong."""
    return Series(
        width=seconds / 2,
        seconds=seconds,
        sent=(1, 0),
        answered=(0, 1),
        tokens=(0, 0),
        rate_limited=(0, 0),
        faults=(0, 0),
        in_flight=(1, 1),
        limit=(0, 0),
    )


def panels(figure: Any) -> dict[str, Any]:
    return {axes.get_ylabel(): axes for axes in figure.axes}


def words(axes: Any) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def test_a_run_has_panels_for_answers_tokens_requests_and_faults():
    figure = draw(RUN, limits=MOVES, title="a run")
    assert list(panels(figure)) == ["answers/s", "tokens/s", "requests", "faults"]
    assert figure.get_suptitle() == "a run"
    assert words(panels(figure)["requests"]) == ["in flight", "limit", "429 cut"]
    assert words(panels(figure)["faults"]) == ["429s", "other faults"]
    assert figure.axes[-1].get_xlabel() == "time (s)"


def test_rates_are_a_second_and_the_last_step_ends_with_the_run():
    figure = draw(RUN, limits=(), title="")
    values, edges, _ = figure.axes[0].patches[0].get_data()
    assert list(edges) == [0.0, 1.0, 2.0, 3.0, 3.5]
    assert list(values) == [0.0, 3.0, 2.0, 4.0]  # 2 answers in half a second


def test_without_tokens_limit_and_faults_nothing_is_drawn_of_them():
    quiet = series(2.0)
    figure = draw(quiet, limits=(), title="")
    assert list(panels(figure)) == ["answers/s", "requests", ""]
    assert words(panels(figure)["requests"]) == ["in flight"]
    assert figure.axes[-1].texts[0].get_text() == "no 429s, no other faults"


def test_a_run_without_requests_says_so():
    figure = draw(Series(), limits=(), title="a run")
    assert figure.axes == []
    assert [text.get_text() for text in figure.texts] == ["a run", "no request was sent"]


@pytest.mark.parametrize(("seconds", "unit"), [(119.0, "s"), (121.0, "min"), (7199.0, "min"), (7201.0, "h")])
def test_the_time_axis_has_the_unit_that_fits(seconds: float, unit: str):
    long = series(seconds)
    assert draw(long, limits=(), title="").axes[-1].get_xlabel() == f"time ({unit})"


def test_the_time_before_the_first_request_is_not_drawn():
    late = Series(width=1.0, seconds=5.0, sent=(0, 0, 0, 2, 0), answered=(0, 0, 0, 1, 1))
    cut = steps(late)
    assert cut.edges == (3.0, 4.0, 5.0)
    assert cut.sums(late.answered) == [1, 1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=600), st.integers(0, 50), st.floats(0.01, 1.0))
def test_steps_lose_nothing_and_stay_few(counts: list[int], before: int, last: float):
    counts = [0] * before + [1, *counts]
    series = Series(width=0.5, seconds=0.5 * (len(counts) - 1 + last), sent=tuple(counts))
    cut = steps(series)
    assert sum(cut.sums(counts)) == sum(counts)
    assert max(cut.highest(counts)) == max(counts)
    assert len(cut.edges) - 1 <= BARS
    assert list(cut.edges) == sorted(set(cut.edges))


def test_a_picture_is_written_without_a_display_and_without_pyplot():
    code = """
import sys
from llmframe.report import RunReport, Series
report = RunReport(model="m", timeline=Series(
    width=1.0, seconds=2.0, sent=(1, 1), answered=(0, 2), tokens=(0, 9), rate_limited=(0, 0), faults=(0, 0),
    in_flight=(1, 1), limit=(8, 8)))
assert "matplotlib" not in sys.modules
report.plot().savefig(sys.stdout.buffer, format="png")
assert "matplotlib.pyplot" not in sys.modules
"""
    warnings = ("-W", "error", "-W", "ignore::DeprecationWarning")  # matplotlib's own
    done = subprocess.run([sys.executable, *warnings, "-c", code], capture_output=True, env={}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"\x89PNG")
