"""Job files: read whole, or refused with the line to change."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmframe.cli.job import OPTIONS, load_job
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError

WHOLE = """
input = "reviews/*.parquet"
output = "scored"
prompt_file = "topic.txt"
schema = "schema.json"
model = "openai/gpt-4o-mini"
base_url = "http://localhost:8000/v1"
cache = "answers.sqlite"
requests_per_minute = 500
timeout = 30.5
max_attempts = 3
meta = true
output_mode = "json"

[params]
temperature = 0
max_tokens = 100
prompt_cache_key = "nightly"

[types]
token = "string"

[budget]
usd = 5
calls = 1000

[prices."my-model"]
input = 0.15
output = 0.6
"""


@pytest.fixture
def write(tmp_path):
    """Writes a job file, and the files that it may name."""
    folder = tmp_path / "job"
    (folder / "reviews").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / "topic.txt").write_text("Topic of {title}?")
    (folder / "schema.json").write_text('{"properties": {"topic": {"type": "string"}}}')
    (folder / "shapes_j.py").write_text("from typing import Literal\nTopic = Literal['a', 'b']\n")
    (folder / "prices.toml").write_text('["my-model"]\ninput = 1\noutput = 2\n')

    def written(text: str) -> Path:
        path = folder / "nightly.toml"
        path.write_text(text)
        return path

    return written


def test_every_option_is_read_and_paths_start_at_the_file(write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = write(WHOLE)
    job = load_job(path)
    folder = str(path.resolve().parent)
    values = dict(job.values)
    assert [field.name for field in schema_of(values.pop("schema")).fields] == ["topic"]
    assert values == {
        "input": f"{folder}/reviews/*.parquet",
        "output": f"{folder}/scored",
        "prompt_file": f"{folder}/topic.txt",
        "model": "openai/gpt-4o-mini",
        "base_url": "http://localhost:8000/v1",
        "cache": f"{folder}/answers.sqlite",
        "requests_per_minute": 500,
        "timeout": 30.5,
        "max_attempts": 3,
        "meta": True,
        "output_mode": "json",
        "params": {"temperature": 0, "max_tokens": 100, "prompt_cache_key": "nightly"},
        "types": {"token": "string"},
        "budget": {"usd": 5, "calls": 1000},
        "prices": {"my-model": {"input": 0.15, "output": 0.6}},
    }


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('schema = "label: positive|negative, confidence: float"', ["label", "confidence"]),
        ('schema = "shapes_j:Topic"', ["response"]),
        ('schema = "shapes_j.py:Topic"', ["response"]),
        ("schema = '''\n  a: int,\n  b: str\n'''", ["a", "b"]),
    ],
)
def test_a_schema_is_found_beside_the_file(line, names, write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [field.name for field in schema_of(load_job(write(line)).values["schema"]).fields] == names


@pytest.mark.parametrize(
    ("line", "value"),
    [("cache = false", False), ('cache = "off"', False), ('cache = "refresh"', "refresh"), ("budget = 2.5", 2.5)],
)
def test_a_value_may_have_several_forms(line, value, write):
    [found] = load_job(write(line)).values.values()
    assert found == value


def test_prices_may_stand_in_a_file_of_their_own(write):
    assert load_job(write('prices = "prices.toml"')).values["prices"] == {"my-model": {"input": 1, "output": 2}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("modle = 'm'", "line 1: there is no option 'modle'; did you mean 'model'?"),
        ("\nmodel = 5", "line 2: 'model' is 5; it has to be a text"),
        ("meta = 'yes'", "'meta' is a text; it has to be true or false"),
        ("timeout = true", "'timeout' is true; it has to be a number"),
        ("reask = 1.5", "'reask' is 1.5; it has to be a whole number"),
        ("input = ['a', 'b']", "'input' is a list"),
        ("prompt = 2024-01-01", "'prompt' is a date or time"),
        ("\n\n[params]\n[types]\na = 1", "line 4: 'types' is a table; it has to be a table of texts"),
        ("budget = 'much'", "'budget' is a text; it has to be dollars"),
        ("params = 1", "{ temperature = 0 }"),
        ("cache = 'refesh'", "did you mean 'refresh'?"),
        ("[prices.m]\ninptu = 1", "rates: input, output, cached"),
        ("schema = 'stars: flot'", "did you mean 'float'?"),
        ("schema = 'shcema.json'", "did you mean 'schema.json'?"),
        ("schema = '../schema.json'", "--root DIR"),
        ("schema = '/etc/x.py:Name'", "--root DIR"),
        ("model = 'local/../weights.gguf'", "--root DIR"),
        ("cache = '../answers.sqlite'", "--root DIR"),
        ("prices = '/etc/prices.toml'", "--root DIR"),
        ("prompt_file = '../../secret.txt'", "give it on the command line"),
        ("output = 's3://bucket/out'", "--root s3://bucket"),
        ("base_url = 'https://evil.example/v1'", "allow it by --root https://evil.example"),
        ("base_url = 'http://localhost/v1?api-key=abc'", "the address holds a key"),
        ("a = ", "isn't TOML: Invalid value (at"),
        ("a = 1\na = 2", "isn't TOML"),
    ],
)
def test_an_error_names_the_line_and_the_remedy(text, told, write):
    with pytest.raises(UsageError) as refusal:
        load_job(write(text))
    assert told in str(refusal.value)
    assert "nightly.toml" in str(refusal.value)


SECRET = "sk-proj-0123456789abcdef"


@pytest.mark.parametrize(
    "text",
    [
        f"api_key = '{SECRET}'",
        f"API-KEY = '{SECRET}'",
        f"openai_api_key = '{SECRET}'",
        f"password = '{SECRET}'",
        f"[params.extra_headers]\nAuthorization = '{SECRET}'",
        f"[params]\nextra_headers = {{ x-api-key = '{SECRET}' }}",
        f"[params]\nuser = '{SECRET}'",
        f"[params]\nstop = ['{SECRET}']",
        f"model = '{SECRET}'",
        f"base_url = 'http://user:{SECRET}@localhost/v1'",
        f"base_url = 'http://localhost/v1?key=1&api_key={SECRET}'",
    ],
)
def test_a_key_is_refused_and_not_quoted(text, write):
    with pytest.raises(UsageError) as refusal:
        load_job(write(text))
    assert "checked into git" in str(refusal.value)
    assert SECRET not in str(refusal.value)


def test_the_prompt_is_in_no_repr(write):
    assert "Classify" not in repr(load_job(write("prompt = 'Classify {text}'")))


def test_what_the_line_says_itself_is_not_looked_at(write):
    text = "base_url = 'https://other.example/v1'\nschema = 'gone_j:Name'\noutput = '/elsewhere'\nmeta = true"
    job = load_job(write(text), said={"base_url", "schema", "output", "meta"})
    assert job.values == {"meta": True}


def test_roots_are_folders_and_addresses(write, tmp_path):
    text = "input = 's3://bucket/in/a.parquet'\noutput = '../elsewhere/out.csv'\nbase_url = 'https://llm.example/v1'"
    job = load_job(write(text), root=[tmp_path / "elsewhere", "s3://bucket/in", "https://llm.example"])
    assert job.values["output"] == str((tmp_path / "elsewhere" / "out.csv").resolve())
    assert load_job(write("output = '../elsewhere/o'"), root=tmp_path / "elsewhere").values


@pytest.mark.parametrize(("name", "told"), [("nigthly.toml", "did you mean 'nightly.toml'"), ("", "can't be read")])
def test_a_file_that_is_not_there_is_told(name, told, write):
    path = write("")
    with pytest.raises(UsageError, match=told):
        load_job(path.parent / name)


def test_other_encodings_are_told(write):
    path = write("")
    path.write_bytes(b"prompt = '\xe9'")
    with pytest.raises(UsageError, match="UTF-8"):
        load_job(path)


def test_a_link_to_the_job_file_does_not_move_its_folder(write, tmp_path):
    """Where the user named it is where its paths start."""
    (tmp_path / "elsewhere" / "linked.toml").symlink_to(write("output = 'out.csv'"))
    job = load_job(tmp_path / "elsewhere" / "linked.toml")
    assert job.values["output"] == str((tmp_path / "elsewhere" / "out.csv").resolve())


def test_every_option_has_its_type():
    assert {name: wanted for name, (_, wanted) in OPTIONS.items() if not wanted} == {}


leading = st.sampled_from(["input", "output", "prompt_file", "system_file", "cache", "prices", "schema", "model"])
places = st.sampled_from(
    ["..", "/", "out", "a", "*", "s3://b", "file://", "~", ".json", ".py:X", "local", "x.gguf", "|"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(leading, st.lists(places | st.text(max_size=3), max_size=5).map("/".join))
def test_no_text_leads_a_job_out_of_its_folder(write, tmp_path, name, text):
    quoted = "".join(f"\\U{ord(char):08x}" for char in text)
    with suppress(UsageError):
        value = load_job(write(f'{name} = "{quoted}"')).values[name]
        if isinstance(value, str) and name != "model" and value != "refresh":
            assert Path(os.path.realpath(value)).is_relative_to((tmp_path / "job").resolve())
        if name == "model" and value.lower().endswith(".gguf") and value.startswith("local/"):
            assert Path(value.removeprefix("local/")).is_relative_to((tmp_path / "job").resolve())
