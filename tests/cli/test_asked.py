from __future__ import annotations

from pathlib import Path

import pytest

from llmframe.cli.asked import asked
from llmframe.errors import UsageError

LINE = {"input": "in.csv", "output": "out.csv", "prompt": "Topic of {text}?", "model": "openai/gpt-4o-mini"}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(text: str) -> Path:
    path = Path("job.toml")
    path.write_text(text)
    return path


def test_what_is_not_said_is_not_passed_on():
    call = asked({**LINE, "timeout": None, "meta": None, "as_json": True, "quiet": False}, writes=True)
    assert (call.source, call.target, call.prompt, call.schema) == ("in.csv", "out.csv", "Topic of {text}?", None)
    assert call.options == {"model": "openai/gpt-4o-mini"}


def test_texts_become_values_under_the_names_of_map_file():
    said = {
        "params": ["temperature=0"],
        "types": ["id=int64"],
        "budget": "usd=2",
        "cache": "off",
        "batch_rows": 500,
        "output_format": "csv",
        "meta": False,
    }
    options = asked({**LINE, **said}, writes=True).options
    assert options == {
        "model": "openai/gpt-4o-mini",
        "params": {"temperature": 0},
        "types": {"id": "int64"},
        "budget": {"usd": 2.0},
        "cache": False,
        "rows": 500,
        "target_format": "csv",
        "meta": False,
    }


def test_a_schema_is_read_from_its_text():
    schema = asked({**LINE, "schema": "label: a|b"}, writes=True).schema
    assert getattr(schema, "model_fields", {}).keys() == {"label"}


def test_prompts_and_systems_come_from_files_without_the_last_line_end():
    Path("p.txt").write_text("Topic of\n{text}?\n")
    Path("s.txt").write_text("Be brief.")
    files = {"prompt": None, "prompt_file": Path("p.txt"), "system_file": Path("s.txt")}
    call = asked({**LINE, **files}, writes=True)
    assert call.prompt == "Topic of\n{text}?"
    assert call.options["system"] == "Be brief."


def test_the_line_goes_before_the_job_file_and_params_are_merged():
    config = job(
        'input = "in.csv"\noutput = "out.csv"\nprompt = "from the file {x}"\nmodel = "openai/a"\ntimeout = 5\n'
        "[params]\ntemperature = 1\nseed = 2\n"
    )
    call = asked({"config": config, "model": "openai/b", "params": ["temperature=0"]}, writes=True)
    assert call.prompt == "from the file {x}"
    assert call.options == {"model": "openai/b", "timeout": 5, "params": {"temperature": 0, "seed": 2}}


def test_a_prompt_of_the_line_sets_aside_the_jobs_prompt_file():
    Path("p.txt").write_text("from a file {x}")
    config = job('input = "in.csv"\nprompt_file = "p.txt"\nmodel = "openai/a"\n')
    assert asked({"config": config}, writes=False).prompt == "from a file {x}"
    assert asked({"config": config, "prompt": "said {x}"}, writes=False).prompt == "said {x}"


def test_the_environment_may_name_the_model(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match="--model openai/gpt-4o-mini"):
        asked({**LINE, "model": None}, writes=True)
    monkeypatch.setenv("LLMFRAME_MODEL", "openai/gpt-4o-mini")
    assert asked({**LINE, "model": None}, writes=True).options == {}


def test_a_plan_needs_no_output_and_passes_nothing_about_one_on():
    config = job('input = "in.csv"\noutput = "o.csv"\nexists = "replace"\nprompt = "{x}"\nmodel = "openai/a"\n')
    call = asked({"config": config}, writes=False)
    assert (call.target, call.options) == (None, {"model": "openai/a"})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"input": None}, "no input was named"),
        ({"output": None}, "no output was named: say -o"),
        ({"prompt": None}, "say --prompt 'Topic of {title}\\?' or --prompt-file"),
        ({"prompt_file": Path("p.txt")}, "--prompt and --prompt-file were both given"),
        ({"system": "a", "system_file": Path("p.txt")}, "--system and --system-file were both given"),
        ({"prompt": None, "prompt_file": Path("nowhere.txt")}, "--prompt-file 'nowhere.txt' can't be read: No such"),
        ({"roots": ["."]}, "--root is about a job file's paths"),
        ({"params": ["x"]}, "--param must be name=value"),
    ],
)
def test_what_is_missing_or_said_twice_is_told(changed: dict[str, object], told: str):
    with pytest.raises(UsageError, match=told):
        asked({**LINE, **changed}, writes=True)


def test_a_prompt_file_that_is_no_text_is_told_without_its_bytes():
    Path("p.txt").write_bytes(b"\xff\xfe{x}")
    with pytest.raises(UsageError, match=r"--prompt-file 'p\.txt' isn't UTF-8 text"):
        asked({**LINE, "prompt": None, "prompt_file": Path("p.txt")}, writes=True)
