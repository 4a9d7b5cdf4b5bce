"""The benchmarks run, and call a figure what it is; how fast anything was isn't looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import figures

    yield figures
    sys.modules.pop("figures", None)


def test_a_run_writes_its_figures_and_nothing_of_the_machine_that_would_name_it(tmp_path):
    said = ["--quick", "--only", "memory", "--scale", "0.00001", "--rounds", "1", "--results", tmp_path]
    ended = subprocess.run(
        [sys.executable, FOLDER / "run.py", *said], check=True, capture_output=True, text=True, timeout=600
    )
    text = (tmp_path / "quick.json").read_text(encoding="utf-8")
    record = json.loads(text)
    names = [figure["name"] for figure in record["figures"]]
    assert names == [f"memory {side}{first}" for side in ("polars", "pandas", "file") for first in ("", " first")]
    assert set(record) == {"machine", "rounds", "scale", "cores_of_others", "figures", "curves"}
    for figure in record["figures"]:
        assert figure["note"] == ""
        assert len(figure["rounds"]) == 1
        assert figure["verdict"] in {"met", "missed"}
        assert figure["what"] in ended.stdout
    assert str(Path.home()) not in text
    assert "127.0.0.1" not in text


def test_a_scenario_that_does_not_exist_is_refused_with_those_that_do():
    ended = subprocess.run(
        [sys.executable, FOLDER / "run.py", "--only", "speed"], check=False, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 2
    assert "no scenario speed; there are overhead" in ended.stderr


def test_a_figure_is_the_median_of_its_rounds_and_a_count_the_worst(figures):
    median = figures.Figure(name="a", what="", rounds=[1.0, 5.0, 2.0], target=2.0)
    worst = figures.Figure(name="b", what="", rounds=[0, 1, 0], target=0, of="worst")
    assert (median.measured, median.verdict) == (2.0, "met")
    assert (worst.measured, worst.verdict) == (1, "missed")


def test_a_figure_without_rounds_is_not_measured(figures):
    assert figures.Figure(name="a", what="", rounds=[], target=2.0).verdict == "not measured"


@pytest.mark.parametrize(
    ("old", "new", "bound", "word"),
    [
        ([1.0, 1.1, 1.2], [1.5, 1.6, 1.7], "at most", "worse"),
        ([1.0, 1.1, 1.2], [1.5, 1.6, 1.7], "at least", "better"),
        ([1.0, 1.1, 1.2], [0.7, 0.8, 0.9], "at most", "better"),
        ([1.0, 1.1, 1.8], [1.2, 1.3, 1.4], "at most", ""),  # quartiles 1.05–1.45 and 1.25–1.35 meet
        ([1.00, 1.00, 1.00], [1.02, 1.02, 1.02], "at most", ""),  # 2 % is below the least change
    ],
)
def test_a_figure_changes_when_the_middle_halves_of_its_rounds_do_not_meet(figures, old, new, bound, word):
    was, now = (
        figures.Figure(name="a", what="", rounds=rounds, target=1.0, bound=bound).as_json() for rounds in (old, new)
    )
    assert figures.change(was, now) == word
