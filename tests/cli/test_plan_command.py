from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from llmframe.cli.main import app
from llmframe.cli.plan_command import SHOWN_CHARACTERS, plan_values, prompt_lines, visible
from llmframe.report import PlanReport

ASK = ["--prompt", "Is this good? {review}", "--schema", "label: yes|no", "--model", "openai/gpt-4o-mini"]


def llmframe(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


def plan(*contents: str) -> PlanReport:
    return PlanReport(
        model="m",
        rows=len(contents),
        null_rows=0,
        failed_rows=0,
        not_asked=0,
        requests=len(contents),
        cached=0,
        input_tokens=1,
        output_tokens=1,
        characters_per_token=4.0,
        usd=None,
        prompts=tuple([{"role": "user", "content": content}] for content in contents),
        schema={"type": "object"},
    )


@pytest.fixture(autouse=True)
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("id,review\n1,fine\n2,fine\n3,bad\n4,\n")


def test_it_tells_requests_cost_time_and_prompts_without_a_key_or_a_request():
    result = llmframe("in.csv", *ASK, "--requests-per-minute", "1", "--budget", "1")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "llmframe plan · gpt-4o-mini · nothing sent"
    assert "  rows      4 (1 with a null)" in lines
    assert "  requests  2 to send, 0 answered already" in lines
    # 2 requests at 1 a minute
    assert "  time      at least 2.0 min by the given rates" in lines
    assert "  budget    $1.00: enough" in lines
    assert lines[-7:] == [
        "prompt 1 of the first 2",
        "  user:",
        "    Is this good? fine",
        "",
        "prompt 2 of the first 2",
        "  user:",
        "    Is this good? bad",
    ]
    assert result.stderr == ""


def test_json_tells_everything_with_the_prompts_in_full():
    told = json.loads(llmframe("in.csv", *ASK, "--json").stdout)
    assert (told["rows"], told["null_rows"], told["requests"], told["cached"]) == (4, 1, 2, 0)
    assert told["prompts"][0] == [{"role": "user", "content": "Is this good? fine"}]
    assert told["usd_range"][0] < told["usd"] < told["usd_range"][1]
    assert told["seconds"] is None
    assert told["schema"]["properties"]["label"]["enum"] == ["yes", "no"]


def test_batch_mode_tells_the_batches_and_their_price_and_what_asking_live_would_cost():
    live, batch = (json.loads(llmframe("in.csv", *ASK, "--mode", mode, "--json").stdout) for mode in ("live", "batch"))
    assert (live["mode"], batch["mode"]) == ("live", "batch")
    assert batch["usd_batch"] == live["usd_batch"] == pytest.approx(live["usd"] / 2)
    assert batch["saving"] == pytest.approx(live["usd"] / 2)
    assert (batch["batches"], batch["batch_seconds"], batch["batch_api"]) == (1, 86_400.0, True)
    lines = llmframe("in.csv", *ASK, "--mode", "batch").stdout.splitlines()
    assert "  batches   1" in lines
    assert "  time      usually within 24 h, then the provider gives up" in lines


def test_a_job_file_for_map_is_planned_as_it_stands():
    Path("job.toml").write_text(
        'input = "in.csv"\noutput = "out.csv"\nexists = "replace"\nprompt = "{review}"\nmodel = "openai/gpt-4o-mini"\n'
    )
    assert "2 to send" in llmframe("--config", "job.toml").stdout


def test_wrong_use_is_one_line_and_status_2():
    result = llmframe("in.csv", "--prompt", "{reviw}", "--model", "openai/gpt-4o-mini")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: prompt uses column 'reviw', which is absent; did you mean 'review'?")
    assert result.stdout == ""


def test_a_cell_can_not_steer_the_terminal():
    lines = prompt_lines(plan("a\x1b[2Jb\rc\n\tno\u202etab \u200d"))
    assert lines == ["", "prompt 1 of the first 1", "  user:", "    a\\x1b[2Jb\\rc", "    \tno\\u202etab \u200d"]
    assert visible("plain, ünïcode 漢字") == "plain, ünïcode 漢字"


def test_a_long_message_is_cut_and_says_so():
    lines = prompt_lines(plan("x" * (SHOWN_CHARACTERS + 5)))
    assert lines[-2:] == ["    " + "x" * SHOWN_CHARACTERS, "    ... 5 more characters; --json tells them"]


def test_the_values_of_a_plan_are_json():
    told = json.loads(json.dumps(plan_values(plan("x"))))
    assert (told["affordable"], told["usd"], told["schema"]) == (1, None, {"type": "object"})
