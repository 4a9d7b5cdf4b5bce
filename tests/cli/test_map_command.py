from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from llmframe.cli.main import app
from llmframe.testing import Provider, Status

COMMAND = [sys.executable, "-c", "from llmframe.cli.main import run; run()"]
ASK = ["--prompt", "Is this good? {review}", "--schema", "label: yes|no", "--model", "openai/gpt-4o-mini"]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        yield provider


@pytest.fixture(autouse=True)
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_reviews(5)


def write_reviews(count: int) -> None:
    Path("in.csv").write_text("id,review\n" + "".join(f"{row},review number {row}\n" for row in range(count)))


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="") as file:
        return list(csv.DictReader(file))


def llmframe(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["map", *arguments])


def test_every_row_comes_back_with_its_answer(provider: Provider):
    result = llmframe("in.csv", "-o", "out.csv", *ASK)
    assert result.exit_code == 0, result.output
    rows = rows_of("out.csv")
    assert [row["id"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert {row["label"] for row in rows} <= {"yes", "no"}
    assert result.stdout == ""
    assert "answered  5" in result.stderr
    assert "output    out.csv" in result.stderr
    assert provider.requests == 5


def test_json_alone_stands_on_stdout_and_quiet_says_nothing_else(provider: Provider):
    result = llmframe("in.csv", "-o", "out.csv", *ASK, "--json", "--quiet")
    told = json.loads(result.stdout)
    assert result.stderr == ""
    assert (told["rows"], told["answered"], told["requests"], told["failed"]) == (5, 5, 5, {})
    assert (told["output"], told["exit_code"], told["state"]) == ("out.csv", 0, "done")
    assert told["tokens"]["output"] > 0
    assert told["usd"] > 0
    again = json.loads(llmframe("in.csv", "-o", "again.csv", *ASK, "--json", "-q").stdout)
    assert (again["requests"], again["cached"], again["usd"]) == (0, 5, 0)
    assert provider.requests == 5


def test_failed_rows_are_status_3_and_a_warning(provider: Provider):
    provider.when(lambda prompt: "number 3" in prompt, Status(400, message="no"))
    result = llmframe("in.csv", "-o", "out.csv", *ASK, "--json", "--quiet")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["failed"] == {"bad_request": 1}
    assert result.stderr == "warning: 1 of 5 rows failed: 1 bad_request\n"
    assert [row["id"] for row in rows_of("out.csv") if row["error"]] == ["3"]


def test_a_budget_that_is_reached_is_status_4_and_the_next_run_goes_on(provider: Provider):
    limited = ["--budget", "calls=2", "--max-concurrency", "1", "--json", "--quiet", "--exists", "replace"]
    first = llmframe("in.csv", "-o", "out.csv", *ASK, *limited)
    assert first.exit_code == 4
    told = json.loads(first.stdout)
    assert (told["answered"], told["failed"]) == (2, {"budget": 3})
    assert (told["budget"], told["budget_spent"]) == ({"calls": 2}, {"calls": 2})
    assert llmframe("in.csv", "-o", "out.csv", *ASK, *limited).exit_code == 4
    assert llmframe("in.csv", "-o", "out.csv", *ASK, *limited).exit_code == 0
    assert provider.requests == 5


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.csv", "-o", "out.csv", *ASK], "nowhere.csv"),
        (["in.csv", "-o", "out.csv", "--prompt", "{reviw}", "--model", "openai/x"], "did you mean 'review'"),
        (["in.csv", "-o", "out.csv", "--prompt", "{review}"], "no model was named"),
        (["in.csv", "-o", "out.csv", *ASK, "--budget", "five"], "--budget"),
        (["in.csv", "-o", "out.csv", *ASK, "--base-url", "nowhere"], "base_url must be an absolute URL"),
    ],
)
def test_wrong_use_is_one_line_and_status_2_and_sends_nothing(arguments: list[str], told: str, provider: Provider):
    result = llmframe(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert told in result.stderr
    assert "Traceback" not in result.output
    assert provider.requests == 0
    assert not Path("out.csv").exists()


def test_an_output_that_is_there_is_not_overwritten(provider: Provider):
    Path("out.csv").write_text("mine")
    result = llmframe("in.csv", "-o", "out.csv", *ASK, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["exit_code"] == 2
    assert Path("out.csv").read_text() == "mine"
    assert provider.requests == 0


def test_columns_that_are_there_are_told_with_options_of_the_line_which_work(provider: Provider):
    Path("old.csv").write_text("id,review,label\n1,good,old\n")
    for verb in ("map", "plan"):
        told = CliRunner().invoke(app, [verb, "old.csv", *(["-o", "out.csv"] if verb == "map" else []), *ASK])
        assert told.exit_code == 2
        assert "already has a column 'label'; either keep both:\n    --prefix llm_\n" in told.stderr
        assert "or replace what is there:\n    --overwrite\n" in told.stderr
    assert provider.requests == 0
    assert llmframe("old.csv", "-o", "both.csv", *ASK, "--prefix", "llm_").exit_code == 0
    assert list(rows_of("both.csv")[0]) == ["id", "review", "label", "llm_label", "llm_error"]
    assert llmframe("old.csv", "-o", "one.csv", *ASK, "--overwrite").exit_code == 0
    (row,) = rows_of("one.csv")
    assert list(row) == ["id", "review", "label", "error"]
    assert row["label"] in {"yes", "no"}


def test_a_key_can_not_be_said_on_the_line():
    result = llmframe("in.csv", "-o", "out.csv", *ASK, "--api-key", "sk-secret")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert "sk-secret" not in result.output


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_what_was_answered_kept(number: signal.Signals, status: int):
    """The 8th request sends the signal and is never answered; in a pipe nothing but the report is written."""
    write_reviews(200)
    child: list[int] = []
    started = threading.Event()

    def answer(prompt: str, request: object) -> object:
        if provider.requests == 8:
            started.wait(30)
            os.kill(child[0], number)
        return None

    with Provider(answer=answer) as provider:
        environment = {**os.environ, "OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": provider.api_key}
        ended = subprocess.Popen(
            [*COMMAND, "map", "in.csv", "-o", "out.csv", *ASK, "--max-concurrency", "1", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        child.append(ended.pid)
        started.set()
        out, err = ended.communicate(timeout=300)
        assert ended.returncode == status, err
        told = json.loads(out)
        assert (told["state"], told["exit_code"]) == ("interrupted", status)
        assert told["answered"] >= 7
        assert "Traceback" not in err
        assert "the output isn't written yet" in err
        assert "\r" not in err
        assert "\x1b" not in err
        assert not Path("out.csv").exists()


def test_on_a_terminal_a_bar_and_the_report_fit_80_columns(provider: Provider):
    shown = in_a_terminal([*COMMAND, "map", "in.csv", "-o", "out.csv", *ASK], columns=80)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", shown))
    assert max(map(len, lines)) <= 80
    bar = [line for line in lines if line.startswith("llm: ")]
    assert re.search(r"\b5(/5|row)", bar[-1])
    assert "  output    out.csv" in lines


def in_a_terminal(command: list[str], *, columns: int) -> str:
    """What a command with a terminal for stdin, stdout and stderr writes."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    running = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env={**environment, "TERM": "xterm"})
    os.close(its)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux tells the end so
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    assert running.wait(timeout=300) == 0, written
    return written.decode()
