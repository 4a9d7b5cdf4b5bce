"""Every wrong use of the options that choose a client is told before anything is sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anthropic
import instructor
import openai
import pytest

from llmframe.clients import open_client
from llmframe.clients.instructor import InstructorClient
from llmframe.clients.openai import OpenAIClient
from llmframe.core.schema import schema_of
from llmframe.errors import MissingExtraError, UsageError
from llmframe.testing import Provider

TOPIC = schema_of(bool)


def opened(**options: Any) -> Any:
    plain: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "client": None, "params": {}}
    return open_client(**{**plain, "schema": TOPIC, "output_mode": "auto", **options})


def test_no_model_shows_three_lines_to_copy():
    with pytest.raises(UsageError) as caught:
        opened()
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert all("model=" in line for line in lines[1:])
    assert "base_url=" in lines[2]
    assert "local/" in lines[3]


def test_an_unknown_provider_is_named_with_the_nearest():
    with pytest.raises(UsageError, match=r"did you mean 'anthropic'\? give") as caught:
        opened(model="antropic/claude-x", api_key="k")
    assert "groq" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("gpt-4o-mini", "OPENAI_API_KEY"),
        ("openrouter/meta/llama", "OPENROUTER_API_KEY"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY"),
        ("google/gemini-x", "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable(model: str, variable: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENROUTER_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=variable):
        opened(model=model)


@pytest.mark.parametrize("key", ["sk-SECRET\n", " sk-SECRET ", "clé-SECRET"])
@pytest.mark.parametrize(
    "where", [{"model": "openai/m"}, {"model": "anthropic/m"}, {"model": "m", "base_url": "http://localhost:1"}]
)
def test_a_bad_key_is_refused_whoever_it_is_for(key: str, where: dict[str, str]):
    with pytest.raises(UsageError) as caught:
        opened(**where, api_key=key)
    assert "SECRET" not in str(caught.value)


def test_a_missing_package_says_its_install_line():
    with pytest.raises(MissingExtraError, match="pip install groq"):
        opened(model="groq/llama", api_key="k")


@pytest.mark.parametrize(
    ("client", "advice"),
    [
        (openai.OpenAI(api_key="k"), "AsyncOpenAI"),
        (openai.AzureOpenAI(api_key="k", azure_endpoint="http://x", api_version="v"), "AsyncAzureOpenAI"),
        (instructor.from_openai(openai.OpenAI(api_key="k")), "AsyncInstructor"),
        (anthropic.AsyncAnthropic(api_key="k"), "instructor.from_anthropic"),
        (SimpleNamespace(), "SimpleNamespace"),
        ("gpt-4o-mini", "'str'"),
    ],
)
def test_a_client_that_cant_be_used_is_told_what_can(client: object, advice: str):
    with pytest.raises(UsageError, match=advice):
        opened(client=client, model="m")


def test_a_client_and_an_address_are_one_too_many():
    with pytest.raises(UsageError, match="base_url and client"):
        opened(client=openai.AsyncOpenAI(api_key="k"), base_url="http://x", model="m")


def test_a_client_needs_a_model_and_a_key_that_can_be_sent():
    with pytest.raises(UsageError, match="without a model"):
        opened(client=openai.AsyncOpenAI(api_key="k"))
    with pytest.raises(UsageError, match="the client's api_key has white space") as caught:
        opened(client=openai.AsyncOpenAI(api_key="sk-SECRET\n"), model="m")
    assert "SECRET" not in str(caught.value)


def test_an_unknown_output_mode_is_named_with_the_known_ones():
    with pytest.raises(UsageError, match=r"did you mean 'json'\? known: "):
        opened(model="m", base_url="http://localhost:1", output_mode="jsn")


def test_the_providers_prefix_falls_away_and_its_address_and_prices_are_known():
    client = opened(model="openai/gpt-4o-mini", api_key="sk-a")
    assert isinstance(client, OpenAIClient)
    assert (client.model, client.identity, client.provider) == ("gpt-4o-mini", "https://api.openai.com/v1", "openai")
    client = opened(model="openrouter/meta/llama-3", api_key="sk-a")
    assert (client.model, client.identity) == ("meta/llama-3", "https://openrouter.ai/api/v1")
    assert opened(model="ollama/llama3").identity == "http://localhost:11434/v1"


@pytest.mark.parametrize("url", ["http://localhost:8000", "http://localhost:8000/v1/", "http://LOCALHOST:8000/v1"])
def test_with_an_address_the_name_is_sent_as_it_is_and_this_machine_asks_no_key(url: str):
    client = opened(model="openai/meta-llama/Llama-3", base_url=url)
    assert (client.model, client.identity, client.provider) == (
        "openai/meta-llama/Llama-3",
        "http://localhost:8000/v1",
        None,
    )


def test_another_machine_asks_for_a_key():
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        opened(model="m", base_url="https://gateway.example/v1")


def test_the_environments_address_serves_openai_and_names_without_a_known_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert opened(model="openai/gpt-x").model == "gpt-x"
    assert opened(model="meta-llama/Llama-3").model == "meta-llama/Llama-3"
    assert opened(model="gpt-x").identity == "http://localhost:8000/v1"
    assert isinstance(opened(model="anthropic/claude-x", api_key="k"), InstructorClient)


def test_azure_and_databricks_take_their_address_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("AZURE_OPENAI_ENDPOINT", "DATABRICKS_BASE_URL", "DATABRICKS_HOST", "DATABRICKS_WORKSPACE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        opened(model="azure_openai/d", api_key="k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    assert opened(model="azure_openai/d", api_key="k").provider == "azure"
    monkeypatch.setenv("DATABRICKS_HOST", "https://mine.cloud.databricks.com")
    client = opened(model="databricks/m", api_key="k")
    assert client.identity == "https://mine.cloud.databricks.com/serving-endpoints"


def test_a_simulated_provider_has_a_model_without_a_name():
    with Provider() as provider:
        client = opened(client=provider)
        assert (client.model, client.identity, client.provider) == ("simulated", provider.identity, None)
        assert opened(client=provider, model="gpt-4o").model == "gpt-4o"


async def test_instructor_around_openai_is_unwrapped_with_what_the_user_set_on_it():
    with Provider() as provider:
        sdk = openai.AsyncOpenAI(base_url=provider.base_url, api_key="k")
        wrapped = instructor.from_openai(sdk, model="mine", temperature=0.1, max_tokens=9)
        client = opened(client=wrapped, params={"temperature": 0.7})
        assert isinstance(client, OpenAIClient)
        await client.start()
        await client.send([{"role": "user", "content": "q"}], client.dialects[0])
        await client.close()
        await sdk.close()
    body = provider.bodies[0]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("mine", 0.7, 9)


def test_accounts_are_told_apart_and_hold_no_key():
    first, second = (opened(model="openai/m", api_key=key) for key in ("sk-one", "sk-two"))
    assert first.account != second.account
    assert "sk-one" not in repr(vars(first)["account"])


def test_no_client_shows_its_key_when_it_is_printed():
    for model in ("openai/m", "anthropic/m"):
        client = opened(model=model, api_key="sk-SECRET")
        assert "SECRET" not in f"{client!r} {client}"
        kept = vars(client)
        assert "SECRET" not in repr(kept["origin" if "origin" in kept else "_origin"])


@pytest.mark.parametrize("kind", ["token", "provider"])
def test_a_token_of_azures_directory_takes_the_place_of_a_key(kind: str):
    async def renewed() -> str:
        return "ad.SECRET"

    given: dict[str, Any] = {"azure_ad_token": "ad.SECRET"} if kind == "token" else {"azure_ad_token_provider": renewed}
    sdk = openai.AsyncAzureOpenAI(azure_endpoint="http://x", api_version="2024-10-21", **given)
    found = opened(client=sdk, model="d")
    assert (found.account == opened(model="d", base_url="http://x", api_key="ad.SECRET").account) is (kind == "token")
    assert "SECRET" not in repr(found)


def test_streaming_is_refused_where_instructor_asks_and_says_where_it_works(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    told = "'stream' can't be set for 'anthropic'; it works with OpenAI-compatible endpoints"
    with pytest.raises(UsageError, match=told):
        opened(model="anthropic/claude-test", params={"stream": True, "max_tokens": 9})
    assert not opened(model="anthropic/claude-test", params={"stream": False, "max_tokens": 9}).streams


def test_the_cap_that_anthropic_wants_is_asked_for_before_anything_is_sent():
    sdk = anthropic.AsyncAnthropic(api_key="k")
    with pytest.raises(UsageError, match=r'params=\{"max_tokens": 1024\}'):
        opened(client=instructor.from_anthropic(sdk), model="m")
    assert opened(client=instructor.from_anthropic(sdk, max_tokens=9), model="m").model == "m"
    assert opened(client=instructor.from_anthropic(sdk), model="m", params={"max_tokens": 9}).model == "m"


@pytest.mark.parametrize(
    ("model", "identity"),
    [
        ("openai/gpt-4o-mini", "https://api.openai.com/v1"),
        ("gpt-4o-mini", "https://api.openai.com/v1"),
        ("openrouter/meta/llama", "https://openrouter.ai/api/v1"),
        ("groq/llama", "groq"),
        ("anthropic/claude-x", "anthropic"),
    ],
)
def test_a_client_that_sends_nothing_needs_neither_key_nor_package(
    model: str, identity: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    found = opened(model=model, sending=False)
    assert found.identity == identity
    assert (found.identity, found.model, found.provider) == _facts(opened_with_packages(model, monkeypatch))


def test_an_address_of_ones_own_needs_no_key_when_nothing_is_sent():
    assert opened(model="m", base_url="https://example.org/v1", sending=False).identity == "https://example.org/v1"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "antropic/claude-x"},
        {"model": "openai/m", "params": {"n": 2}},
        {"model": "openai/m", "api_key": "k\n"},
        {"model": "openai/m", "output_mode": "tool"},
        {"model": "m", "base_url": "nowhere"},
        {"model": "azure_openai/m"},
    ],
)
def test_what_can_not_work_is_refused_when_nothing_is_sent_too(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(UsageError):
        opened(**options, sending=False)


def opened_with_packages(model: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("llmframe.clients.endpoints._is_installed", lambda _: True)
    return opened(model=model, api_key="k")


def _facts(client: Any) -> tuple[str, str, str | None]:
    return client.identity, client.model, client.provider


def forms(**options: Any) -> list[str]:
    with Provider() as provider:
        return [f"{each.form}{'!' * each.ends_run}" for each in opened(client=provider, **options).dialects]


def test_log_probabilities_are_asked_for_in_text_alone_and_what_ends_the_run_stands_last():
    assert forms() == ["json_schema", "tools", "json"]
    assert forms(logprobs="asked") == ["json_schema+20", "json+20", "json_schema!", "json!"]
    assert forms(logprobs="tried") == ["json_schema+20", "json+20", "json_schema", "tools", "json"]
    assert forms(logprobs="asked", output_mode="json", params={"top_logprobs": 3}) == ["json+3", "json!"]
    assert forms(logprobs="asked", schema=schema_of(None)) == ["text+20", "text!"]


def test_calls_have_no_log_probabilities():
    assert forms(logprobs="tried", output_mode="tools") == ["tools"]
    with pytest.raises(UsageError, match=r"output_mode \"tools\" has no log-probabilities: leave it out"):
        forms(logprobs="asked", output_mode="tools")


def test_a_provider_that_tells_no_log_probabilities_is_named_with_the_way_round():
    claude: dict[str, Any] = {"model": "anthropic/claude-x", "api_key": "k", "params": {"max_tokens": 9}}
    with pytest.raises(UsageError, match=r"'anthropic' tells no log-probabilities.*votes.*samples=5"):
        opened(**claude, logprobs="asked")
    wrapped = instructor.from_anthropic(anthropic.AsyncAnthropic(api_key="k"))
    with pytest.raises(UsageError, match="'anthropic' tells no log-probabilities"):
        opened(client=wrapped, model="claude-x", params={"max_tokens": 9}, logprobs="asked")
    assert [each.form for each in opened(**claude, logprobs="tried").dialects] == ["tools", "json"]
