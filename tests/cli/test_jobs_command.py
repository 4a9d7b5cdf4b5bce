from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import llmframe
from llmframe.cli.main import app
from llmframe.testing import Provider, Status


def jobs(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["jobs", *arguments], env={"COLUMNS": "80"})


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        provider.batches.hold()
        yield provider
        provider.batches.finish()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


@pytest.fixture
def place(provider: Provider, store: Path) -> tuple[str, ...]:
    return ("--cache", str(store), "--base-url", provider.base_url)


@pytest.fixture
def job_id(provider: Provider, store: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job of three requests that its process has left."""
    monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
    frame = pd.DataFrame({"t": ["a", "b", "c", "a"]})
    job = frame.llm.submit(
        "J {t}", bool, model="m", base_url=provider.base_url, api_key=provider.api_key, mode="batch", cache=store
    )
    llmframe.cancel()
    assert job.wait(30)
    return job.id


def test_the_whole_life_of_a_job(provider: Provider, place: tuple[str, ...], job_id: str):
    waited = jobs("wait", job_id, "--timeout", "0s", *place)
    assert waited.exit_code == 5
    assert "status    running" in waited.stdout
    early = jobs("collect", job_id, *place)
    assert early.exit_code == 5
    provider.batches.finish()
    assert jobs("wait", job_id, *place).exit_code == 0
    collected = jobs("collect", job_id, *place)
    assert collected.exit_code == 0, collected.output
    assert "requests  3 of 3 done" in collected.stdout
    assert provider.batches.created == 1
    told = [json.loads(line) for line in jobs("answers", job_id, *place[:2]).stdout.splitlines()]
    assert [row["error"] for row in told] == [None, None, None]
    assert all(json.loads(row["response"])["response"] in (True, False) for row in told)


def test_some_requests_that_failed_are_a_status_of_their_own(provider: Provider, place: tuple[str, ...], job_id: str):
    provider.when("J c", Status(400, "context_length_exceeded", "too long"))
    provider.batches.finish()
    jobs("wait", job_id, *place)
    collected = jobs("collect", job_id, *place)
    assert collected.exit_code == 3
    assert "3 of 3 done, 1 failed" in collected.stdout


def test_the_list_fits_a_terminal_and_asks_nobody(provider: Provider, store: Path, job_id: str):
    calls = sum(provider.batches.calls.values())
    result = jobs("list", "--cache", str(store))
    assert result.exit_code == 0, result.output
    head, line = result.stdout.splitlines()
    assert head.split() == ["job", "status", "requests", "began", "model"]
    assert line.split()[:6] == [job_id, "running", "0", "of", "3", "done"]
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert sum(provider.batches.calls.values()) == calls


def test_show_asks_the_provider_unless_told_not_to(provider: Provider, place: tuple[str, ...], job_id: str):
    before = provider.batches.calls["state"]
    offline = jobs("show", job_id, "--offline", *place)
    assert offline.exit_code == 0, offline.output
    assert provider.batches.calls["state"] == before
    result = jobs("show", job_id, *place)
    assert provider.batches.calls["state"] == before + 1
    assert f"job       {job_id}" in result.stdout
    assert f"model     m at {provider.base_url}" in result.stdout
    assert next(iter(provider.batches.statuses)) in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_one_object_with_the_batches(provider: Provider, place: tuple[str, ...], job_id: str):
    told = json.loads(jobs("show", job_id, "--json", *place).stdout)
    assert (told["id"], told["status"], told["requests"], told["model"]) == (job_id, "running", 3, "m")
    (batch,) = told["batches"]
    assert (batch["id"], batch["requests"]) == (next(iter(provider.batches.statuses)), 3)
    (listed,) = json.loads(jobs("list", "--json", *place[:2]).stdout)["jobs"]
    assert listed == {name: value for name, value in told.items() if name != "batches"}


def test_cancel_asks_the_provider_once(provider: Provider, place: tuple[str, ...], job_id: str):
    result = jobs("cancel", job_id, *place)
    assert (result.exit_code, provider.batches.calls["cancel"]) == (0, 1)
    assert "asked to stop" in result.stderr
    provider.batches.finish("cancelled")
    jobs("wait", job_id, *place)
    again = jobs("cancel", job_id, *place)
    assert (again.exit_code, again.stderr) == (0, "nothing is left to stop\n")


def test_retry_tells_what_to_do_where_it_needs_the_rows(provider: Provider, place: tuple[str, ...], job_id: str):
    assert jobs("retry", job_id, *place).stderr == "nothing is to be retried\n"
    provider.when("J c", Status(400, "context_length_exceeded", "too long"))
    provider.batches.finish()
    jobs("wait", job_id, *place)
    jobs("collect", job_id, *place)
    result = jobs("retry", job_id, *place)
    assert result.exit_code == 2
    assert "can't be sent again without its rows" in result.stderr


def test_an_unknown_id_is_told_with_the_nearest(store: Path, job_id: str):
    near = job_id[:-1] + ("0" if job_id[-1] != "0" else "1")
    result = jobs("show", near, "--cache", str(store))
    assert result.exit_code == 2
    assert f"did you mean '{job_id}'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_where_there_is_no_store_there_are_no_jobs(tmp_path: Path):
    path = str(tmp_path / "none.sqlite")
    assert jobs("list", "--cache", path).stdout.replace("\n", "") == f"no batch jobs in {path}"
    assert json.loads(jobs("list", "--cache", path, "--json").stdout) == {"path": path, "jobs": []}
    result = jobs("wait", "job-1", "--cache", path)
    assert result.exit_code == 2
    assert "--cache" in result.stderr
    assert not Path(path).exists()


def test_what_the_provider_refuses_is_one_line(provider: Provider, place: tuple[str, ...], job_id: str):
    provider.batches.fault("state", Status(401, "invalid_api_key", "wrong"), times=None)
    result = jobs("show", job_id, *place)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: the provider of {job_id} said no: auth")
    assert provider.api_key not in result.output


def test_a_time_that_is_none_is_refused(place: tuple[str, ...], job_id: str):
    result = jobs("wait", job_id, "--timeout", "soon", *place)
    assert result.exit_code == 2
    assert "--timeout" in result.stderr


@pytest.mark.parametrize("command", ["list", "show", "wait", "collect", "cancel", "retry", "answers"])
def test_help_fits_a_terminal(command: str):
    shown = jobs(command, "--help").stdout
    assert "--cache" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_ctrl_c_ends_the_waiting_and_says_how_to_come_back(provider: Provider, place: tuple[str, ...], job_id: str):
    def press(call: str, name: str) -> None:
        if call == "state":
            provider.batches.log = None
            os.kill(os.getpid(), signal.SIGINT)

    provider.batches.log = press
    result = jobs("wait", job_id, *place)
    assert result.exit_code == 130
    assert f"`llmframe jobs wait {job_id}` waits again" in result.stderr
    assert provider.batches.running == 1
