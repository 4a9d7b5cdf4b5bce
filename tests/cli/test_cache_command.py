from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from llmframe.cli.cache_command import size_text
from llmframe.cli.main import app
from llmframe.core.outcome import Usage
from llmframe.stores.base import Stored
from llmframe.stores.jobs import JobRecord
from llmframe.stores.sqlite import SqliteStore, default_path

DAY = 86_400


def cache(*arguments: str, **more) -> Result:
    return CliRunner().invoke(app, ["cache", *arguments], **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Ten answers of one model, kept 0 to 9 days ago, half an hour later each."""
    path = tmp_path / "answers.sqlite"
    now = time.time()
    store = SqliteStore(path)
    store.put_many(
        (
            bytes([number]) * 32,
            Stored(
                text=f'"answer {number}"',
                usage=Usage(100, 5, 0),
                model="gpt-4o-mini",
                finish_reason="stop",
                created=now - number * DAY - 1800,
            ),
        )
        for number in range(10)
    )
    store.close()
    return path


def kept(path: Path) -> int:
    return SqliteStore(path).info().entries


def test_info_tells_how_many_answers_of_which_models(path: Path):
    shown = cache("info", "--path", str(path))
    assert shown.exit_code == 0
    assert "answers  10 in " in shown.stdout
    assert shown.stdout.splitlines()[-1].split() == ["gpt-4o-mini", "10", "1,000", "50"]
    told = json.loads(cache("info", "--path", str(path), "--json").stdout)
    assert told["models"] == [{"model": "gpt-4o-mini", "entries": 10, "input_tokens": 1000, "output_tokens": 50}]


def test_info_about_a_file_that_is_not_there_makes_none(tmp_path: Path):
    path = tmp_path / "none.sqlite"
    assert cache("info", "--path", str(path)).stdout == f"no answers are kept yet; they will be in {path}\n"
    assert not path.exists()


def test_the_environment_names_the_file_and_else_it_is_the_usual_one(path: Path, monkeypatch: pytest.MonkeyPatch):
    assert str(default_path()) in cache("info").stdout
    monkeypatch.setenv("LLMFRAME_CACHE", str(path))
    assert "answers  10" in cache("info").stdout
    monkeypatch.setenv("LLMFRAME_CACHE", "false")
    off = cache("info")
    assert (off.exit_code, off.stderr) == (2, "error: LLMFRAME_CACHE is off: nothing is kept; name a file by --path\n")


def test_prune_removes_by_age_and_tells_before_what_it_would(path: Path):
    # kept 0 to 9 days and half an hour ago: 7, 8 and 9 are older than 7 days
    tried = cache("prune", "--path", str(path), "--older-than", "7d", "--dry-run")
    assert tried.stdout.startswith("would remove about 3 of 10 answers")
    assert kept(path) == 10
    done = cache("prune", "--path", str(path), "--older-than", "7d", "--json")
    assert {key: json.loads(done.stdout)[key] for key in ("removed", "entries")} == {"removed": 3, "entries": 7}
    assert kept(path) == 7


def test_prune_by_size_empties_what_cannot_be_that_small(path: Path):
    assert "would remove about 10 of 10" in cache("prune", "--path", str(path), "--max-size", "1B", "--dry-run").stdout
    assert "removed 10 answers; 0 are left" in cache("prune", "--path", str(path), "--max-size", "1B").stdout


def test_prune_without_a_measure_is_wrong_use(path: Path):
    result = cache("prune", "--path", str(path))
    assert (result.exit_code, result.stderr) == (
        2,
        "error: say what to remove: --older-than 30d, --max-size 2GB, or both\n",
    )


def test_export_writes_an_answer_a_line_without_prompts(path: Path, tmp_path: Path):
    lines = [json.loads(line) for line in cache("export", "--path", str(path)).stdout.splitlines()]
    assert len(lines) == 10
    assert set(lines[0]) == {
        "key",
        "reply",
        "model",
        "finish_reason",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "kept",
    }
    assert (lines[3]["key"], lines[3]["reply"], lines[3]["input_tokens"]) == ("03" * 32, '"answer 3"', 100)
    out = tmp_path / "out.jsonl"
    assert cache("export", "--path", str(path), "-o", str(out)).stderr == f"wrote 10 answers to {out}\n"
    assert [json.loads(line) for line in out.read_text().splitlines()] == lines


def test_export_overwrites_nothing(path: Path, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    result = cache("export", "--path", str(path), "-o", str(out))
    assert (result.exit_code, result.stderr) == (2, f"error: File exists: {str(out)!r}\n")
    assert out.read_text() == "mine"


def test_clear_asks_first_and_without_anybody_to_ask_wants_a_yes(path: Path):
    refused = cache("clear", "--path", str(path))
    assert refused.exit_code == 2
    assert "--yes" in refused.stderr
    assert kept(path) == 10
    assert cache("clear", "--path", str(path), "--yes").stderr == "removed 10 answers\n"
    assert kept(path) == 0


def test_batch_jobs_that_may_still_bring_answers_are_told_and_outlive_a_clearing(path: Path):
    assert json.loads(cache("info", "--path", str(path), "--json").stdout)["jobs"] == 0
    ledger = SqliteStore(path).open_ledger()
    ledger.open_job(JobRecord(id="job-a", created=1.0, provider="openai", identity="", model="m", question="q"))
    assert "jobs     1 batch jobs that may still bring answers" in cache("info", "--path", str(path)).stdout
    assert cache("clear", "--path", str(path), "--yes").stderr.splitlines() == [
        "removed 10 answers",
        "kept the track of 1 batch jobs that may still bring answers",
    ]
    assert json.loads(cache("info", "--path", str(path), "--json").stdout)["jobs"] == 1


@pytest.mark.parametrize("command", [["prune", "--older-than", "1d"], ["export"], ["clear", "--yes"]])
def test_a_store_that_is_not_there_is_told_and_not_made(tmp_path: Path, command: list[str]):
    path = tmp_path / "typo.sqlite"
    result = cache(*command, "--path", str(path))
    assert result.exit_code == 2
    assert result.stderr == f"error: no answers are kept in {str(path)!r}: there is no such file\n"
    assert not path.exists()


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("mine, and long enough to be read as something else" * 10)
    result = cache("clear", "--path", str(path), "--yes")
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("error: ")
    assert path.read_text().startswith("mine")


def test_sizes_are_told_in_units():
    assert [size_text(size) for size in (0, 999, 1000, 1_500_000, 2_000_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2,000.0 GB",
    ]
