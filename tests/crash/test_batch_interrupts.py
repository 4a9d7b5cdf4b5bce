"""Ctrl-C and SIGTERM to runs by batches: the batch goes on at the provider, and the same call collects it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.forked_child import INTERRUPTED
from tests.crash.processes import Forker, Server, environment
from tests.crash.rows import Work, columns, digests

NEVER = 1_000_000
"""Looks at a batch that never ends."""
MOMENTS = {"while the batch is made": 3, "while it is waited for": 6}
"""A file is uploaded, a batch made of it, the batch looked at: three calls, each an event more when it's replied to."""
TERMINATED = 143
SCRIPT = """
import sys
import polars as pl
import llmframe

sys.stdin.readline()
url, store = sys.argv[1:]
frame = pl.DataFrame({"text": ["a", "b", "ünï"]})
llmframe.map(
    frame, "Judge {text}", schema=["good", "bad"], model="m", base_url=url, api_key="k", cache=store, mode="batch"
)
"""
ROWS = ["Grüße", "日本語 🙂", "plain, “quoted”"]


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("kind", ["pandas", "file"])
def test_after_an_interrupt_the_same_call_collects_the_same_batch(
    kind: str, moment: int, server: Server, forker: Forker, tmp_path: Path
):
    work = Work(columns(20, 15, f"{kind} {moment}"), tmp_path / "work", base_url=server.url)
    job = work.job(kind, mode="batch")
    server.batches(polls=NEVER)
    server.tell("arm", forker.fork(job), moment, signal.SIGINT)
    forker.begin()
    assert forker.ended() == INTERRUPTED
    assert calls(server) >= {"upload", "create"}
    server.batches(polls=1)
    assert forker.do(job) == 0
    events = server.events()
    assert {call for call, _ in events} == {"state", "state-replied", "output", "output-replied", "paid"}
    assert sorted(prompt for call, prompt in events if call == "paid") == sorted(digests(work.prompts))
    assert work.target(kind).exists()


def test_a_script_says_at_ctrl_c_how_to_come_back_and_how_to_cancel(server: Server, tmp_path: Path):
    server.batches(polls=NEVER)
    script = [sys.executable, "-c", SCRIPT, server.url, str(tmp_path / "store.sqlite")]
    pipe = subprocess.PIPE
    with subprocess.Popen(script, stdin=pipe, stderr=pipe, text=True, env=environment()) as running:
        server.tell("arm", running.pid, MOMENTS["while it is waited for"], signal.SIGINT)
        _, said = running.communicate("\n", timeout=300)
    assert running.returncode == -signal.SIGINT  # a shell calls it 130
    told = said.splitlines()[-1]
    assert told.startswith("KeyboardInterrupt: ")
    (job,) = set(re.findall(r"job-\w{10}", told))
    assert f"the batches of {job} go on at the provider" in told
    assert "the same call" in told
    assert f"`llmframe jobs cancel {job}`" in told


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_the_command_says_so_too_and_the_same_command_collects(
    number: signal.Signals, status: int, server: Server, forker: Forker, tmp_path: Path
):
    job = command(server, tmp_path)
    server.batches(polls=NEVER)
    server.tell("arm", forker.fork(job), MOMENTS["while it is waited for"], number)
    forker.begin()
    assert forker.ended() == status
    assert calls(server) >= {"upload", "create", "state"}
    said = " ".join(Path(job["says"]).read_text().split())
    (name,) = set(re.findall(r"job-\w{10}", said))
    assert f"the batches of {name} go on at the provider" in said
    assert f"`llmframe jobs cancel {name}`" in said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out.csv").exists()
    server.batches(polls=1)
    assert forker.do(job) == 0
    assert "create" not in calls(server)
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(ROWS)


def test_text_beyond_ascii_goes_through_a_batch_in_an_ascii_locale(server: Server, tmp_path: Path):
    server.batches(polls=1)
    job = command(server, tmp_path)
    ascii_only = environment() | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    line = [sys.executable, "-c", "from llmframe.cli.main import run; run()", *job["arguments"]]
    ended = subprocess.run(line, env=ascii_only | job["environment"], capture_output=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "create" in calls(server)
    out = (tmp_path / "out.csv").read_text(encoding="utf-8-sig")
    for row in ROWS:
        assert row.replace('"', '""') in out


def command(server: Server, folder: Path) -> dict[str, Any]:
    """A job of `llmframe map` over `ROWS`."""
    source = folder / "in.csv"
    source.write_text("text\n" + "".join(f'"{row}"\n' for row in ROWS), encoding="utf-8")
    prompt, schema = folder / "prompt", folder / "schema.json"
    prompt.write_text("Grüße: {text}?", encoding="utf-8")
    schema.write_text(
        '{"type": "object", "properties": {"größe": {"enum": ["groß"]}, "echo": {"type": "string"}}}', "utf-8"
    )
    options = ["--prompt-file", str(prompt), "--schema", str(schema), "--model", "openai/m"]
    return {
        "kind": "command",
        "says": str(folder / "says"),
        "arguments": ["map", str(source), "-o", str(folder / "out.csv"), *options, "--mode", "batch"],
        "environment": {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
            "LLMFRAME_CACHE": str(folder / "store.sqlite"),
        },
    }


def calls(server: Server) -> set[str]:
    """Calls since the last look."""
    return {call for call, _ in server.events()}
