"""Environment variables as options: what is read, what is refused, what is somebody else's."""

from __future__ import annotations

import pytest

from llmframe.environment import READERS, from_environment
from llmframe.errors import UsageError
from llmframe.options import SENDING_OPTIONS, SendOptions, resolve_options


def test_an_empty_environment_says_nothing():
    assert from_environment() == {}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("base_url", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("api_key", "sk-1", "sk-1"),
        ("params", '{"seed": 3}', {"seed": 3}),
        ("max_concurrency", "4", 4),
        ("requests_per_minute", "0.5", 0.5),
        ("tokens_per_minute", "9e4", 90_000.0),
        ("priority", "low", "low"),
        ("timeout", "2.5", 2.5),
        ("max_attempts", "2", 2),
        ("reask", "0", 0),
        ("hedge", "True", True),
        ("hedge", "0", False),
        ("budget", '{"seconds": 600}', {"seconds": 600}),
        ("budget", "1.5", 1.5),
        ("budget", "3", 3),
        ("prices", '{"m": {"input": 1, "output": 2}}', {"m": {"input": 1, "output": 2}}),
        ("cache", "false", False),
        ("cache", "1", True),
        ("cache", "refresh", "refresh"),
        ("cache", "/data/answers.sqlite", "/data/answers.sqlite"),
        ("output_mode", "json", "json"),
    ],
)
def test_the_environment_is_read_as_its_options(name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(f"LLMFRAME_{name.upper()}", text)
    assert getattr(resolve_options({}), name) == value


@pytest.mark.parametrize(
    ("name", "text", "example"),
    [
        ("timeout", "soon", "30"),
        ("params", "{", '{"temperature": 0}'),
        ("params", "null", '{"temperature": 0}'),
        ("params", "[1]", '{"temperature": 0}'),
        ("hedge", "refresh", "true"),
        ("budget", "true", '{"usd": 1, "seconds": 600}'),
        ("budget", '"5"', '{"usd": 1, "seconds": 600}'),
        ("budget", "5 dollars", '{"usd": 1, "seconds": 600}'),
        ("prices", "0.15", '{"my-model": {"input": 0.15, "output": 0.6}}'),
        ("max_concurrency", "4.5", "8"),
    ],
)
def test_an_environment_that_can_not_be_read_is_refused_with_an_example_and_without_its_value(
    name: str, text: str, example: str, monkeypatch: pytest.MonkeyPatch
):
    variable = f"LLMFRAME_{name.upper()}"
    monkeypatch.setenv(variable, text)
    with pytest.raises(UsageError) as caught:
        resolve_options({})
    told = f"environment variable {variable} can't be read as `{name}`; give it in the form {variable}={example}"
    assert str(caught.value) == told
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("LLMFRAME_MODLE", "LLMFRAME_MODEL"),
        ("LLMFRAME_PARAM", "LLMFRAME_PARAMS"),
        ("LLMFRAME_model", "LLMFRAME_MODEL"),
    ],
)
def test_a_misspelt_environment_variable_names_the_near_one(variable: str, near: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, "secret")
    with pytest.raises(UsageError, match=f"{variable} is no option; did you mean .*{near}") as caught:
        resolve_options({})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("variable", ["LLMFRAME_LOCAL_THREADS", "LLMFRAME_HOME", "MODLE", "LLMFRAME_"])
def test_an_environment_variable_of_something_else_is_left_alone(variable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, "x")
    assert resolve_options({}) == SendOptions()


def test_what_is_read_is_held_to_the_same_rules(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_BUDGET", '{"dollars": 3}')
    told = "environment variable LLMFRAME_BUDGET: `budget` has no limit 'dollars'"
    with pytest.raises(UsageError, match=told):
        resolve_options({"priority": "low"})
    assert resolve_options({"budget": {"seconds": 5}}).budget == {"seconds": 5}


def test_a_wrong_option_of_the_call_is_not_laid_at_the_environments_door(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_PRIORITY", "low")
    with pytest.raises(UsageError, match=r"^`priority` must be one of"):
        resolve_options({"priority": "urgent"})
    with pytest.raises(UsageError, match=r"^`timeout` must be"):
        resolve_options({"timeout": 0})


def test_every_option_but_the_client_can_be_said():
    assert (*READERS, "client") == (*(name for name in SENDING_OPTIONS if name != "client"), "client")


@pytest.mark.parametrize("name", READERS)
def test_the_example_of_an_option_can_be_read(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(f"LLMFRAME_{name.upper()}", READERS[name][1])
    assert getattr(resolve_options({}), name) != getattr(SendOptions(), name) or name in ("max_attempts", "reask")


def test_an_empty_environment_variable_says_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_TIMEOUT", "")
    assert resolve_options({}).timeout == 60
