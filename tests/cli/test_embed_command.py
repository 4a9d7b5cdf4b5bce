"""`llmframe embed` as it is called from a shell."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from llmframe.cli.asked import OF_THE_COMMAND
from llmframe.cli.embed_command import embed_command
from llmframe.cli.job import EMBED_OPTIONS
from llmframe.cli.main import app
from llmframe.frames.files.arrow_sink import READS_NULL_VECTORS
from llmframe.testing import Provider, Status

MODEL = ["--model", "openai/text-embedding-3-small"]
TEXT = ["--column", "text", *MODEL]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        yield provider


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"n": range(5), "text": ["one", "two", "one", "three", "two"]})
    pq.write_table(table, "in.parquet")


def llmframe(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["embed", *arguments])


def test_every_row_comes_back_with_its_vector(provider: Provider):
    result = llmframe("in.parquet", "-o", "out.parquet", *TEXT, "--dimensions", "4", "--into", "vector")
    assert result.exit_code == 0, result.output
    rows = pl.read_parquet("out.parquet")
    assert rows.columns == ["n", "text", "vector", "error"]
    assert rows.schema["vector"] == (pl.Array(pl.Float32, 4) if READS_NULL_VECTORS else pl.List(pl.Float32))
    assert rows["vector"].to_list()[0] == rows["vector"].to_list()[2]
    assert result.stdout == ""
    assert "answered  5 (2 shared)" in result.stderr
    assert provider.bodies[0]["input"] == ["one", "two", "three"]


def test_a_template_and_all_that_travels_with_the_texts(provider: Provider):
    options = ["--template", "{n}: {text}", *MODEL, "--param", "user=me", "--batch-size", "2", "--json", "--quiet"]
    result = llmframe("in.parquet", "-o", "out.jsonl", "--dimensions", "3", *options)
    told = json.loads(result.stdout)
    assert (told["rows"], told["requests"], told["output"], told["exit_code"]) == (5, 3, "out.jsonl", 0)
    first = min(provider.bodies, key=lambda body: body["input"])  # they are sent side by side
    assert first == {
        "model": "text-embedding-3-small",
        "input": ["0: one", "1: two"],
        "user": "me",
        "dimensions": 3,
        "encoding_format": "base64",
    }
    assert [len(json.loads(line)["embedding"]) for line in Path("out.jsonl").read_text().splitlines()] == [3] * 5


def test_the_same_by_batches_costs_half(provider: Provider):
    result = llmframe("in.parquet", "-o", "out.parquet", *TEXT, "--dimensions", "4", "--mode", "batch", "--json", "-q")
    told = json.loads(result.stdout)
    assert (told["batches"], told["batch_requests"], told["requests"], told["exit_code"]) == (1, 3, 0, 0)
    assert told["usd"] == told["usd_batch"] == pytest.approx(told["saved_usd"])
    assert provider.requests == 0


def test_rows_that_fail_are_status_3_and_what_is_kept_is_not_asked_again(provider: Provider):
    provider.when("three", Status(400, "invalid"))
    call = ["in.parquet", "-o", "out.parquet", *TEXT, "--exists", "replace", "--json", "-q"]
    assert llmframe(*call).exit_code == 3
    provider.reset()
    again = llmframe(*call)
    assert again.exit_code == 0
    assert json.loads(again.stdout)["requests"] == 1
    assert provider.bodies[0]["input"] == ["three"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "out.parquet", *TEXT], "no input was named"),
        (["in.parquet", *TEXT], "no output was named"),
        (["in.parquet", "-o", "out.parquet", *MODEL], "no texts were named: say --column"),
        (["in.parquet", "-o", "out.parquet", *TEXT, "--template", "{text}"], "--column and --template were both given"),
        (["in.parquet", "-o", "out.parquet", "--column", "text"], "--model openai/text-embedding-3-small"),
        (["in.parquet", "-o", "out.parquet", "--column", "txet", *MODEL], "did you mean 'text'"),
        (["in.parquet", "-o", "out.parquet", "--column", "text", "--model", "anthropic/x"], "can't embed here"),
        (["in.parquet", "-o", "in.parquet", *TEXT], "would overwrite the input"),
        (["in.parquet", "-o", "out.parquet", *TEXT, "--mode", "batch", "--cache", "off"], "cache=False"),
    ],
)
def test_wrong_use_is_status_2_and_sends_nothing(arguments: list[str], told: str, provider: Provider):
    result = llmframe(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert told in result.stderr
    assert provider.requests == 0
    assert not Path("out.parquet").exists()


def test_the_environments_model_chats_and_is_not_taken(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_MODEL", "openai/gpt-4o-mini")
    assert "no model that embeds was named" in llmframe("in.parquet", "-o", "out.parquet", "--column", "text").stderr


def test_a_job_file_says_it_and_the_line_goes_before_it(provider: Provider):
    Path("job.toml").write_text(
        'input = "in.parquet"\noutput = "out.csv"\ncolumn = "text"\nmodel = "openai/text-embedding-3-small"\n'
        "dimensions = 4\nbatch_size = 2\nwait = 0.0\n[params]\nuser = 'me'\n"
    )
    assert llmframe("--config", "job.toml", "--template", "Say {text}", "--quiet").exit_code == 0
    assert sorted(body["input"] for body in provider.bodies) == [["Say one", "Say two"], ["Say three"]]
    assert {(body["dimensions"], body["user"]) for body in provider.bodies} == {(4, "me")}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('prompt = "{text}"', "there is no option 'prompt'"),
        ('dimensions = "4"', "'dimensions' is a text; it has to be a whole number"),
        ('column = "text"\ntemplate = "{text}"', "column and template were both given"),
    ],
)
def test_a_job_file_of_another_command_is_refused(line: str, told: str, provider: Provider):
    Path("job.toml").write_text(line)
    result = llmframe("in.parquet", "-o", "out.parquet", *MODEL, "--config", "job.toml")
    assert (result.exit_code, provider.requests) == (2, 0)
    assert told in result.stderr


def test_a_job_file_may_say_what_the_line_may():
    assert set(inspect.signature(embed_command).parameters) - OF_THE_COMMAND == set(EMBED_OPTIONS)


def test_the_help_page_fits_80_columns():
    result = CliRunner().invoke(app, ["embed", "--help"], env={"COLUMNS": "80"})
    page = re.sub(r"\x1b\[[\d;]*m", "", result.stdout)
    assert max(map(len, page.splitlines())) <= 80
    for name in EMBED_OPTIONS:
        switch = {"input": "IN", "types": "--type", "params": "--param"}.get(name, f"--{name.replace('_', '-')}")
        assert f" {switch} " in page
