from __future__ import annotations

from typing import Any

import anthropic
import instructor
import pytest

import llmframe
from llmframe.api.batch_access import Access
from llmframe.errors import UsageError
from llmframe.stores.jobs import JobRecord


def record(identity: str, **more: Any) -> JobRecord:
    said: dict[str, Any] = {"id": "job-1", "created": 0.0, "provider": "openai", "model": "m", "question": "q"}
    return JobRecord(identity=identity, **(said | more))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    return "sk-secret"


@pytest.mark.parametrize(
    "identity", ["https://api.openai.com/v1", "https://openrouter.ai/api/v1", "http://127.0.0.1:8000/v1"]
)
def test_a_provider_that_models_are_named_after_and_this_machine_are_found_by_themselves(
    identity: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    found = Access().batches(record(identity))
    assert (found.identity, found.model) == (identity, "m")


def test_a_key_goes_to_no_address_that_only_the_ledger_names(key: str):
    with pytest.raises(UsageError, match=r"are at 'https://evil\.example/v1'; say how") as raised:
        Access().batches(record("https://evil.example/v1"))
    assert key not in str(raised.value)


def test_an_address_that_is_said_is_compared_with_the_jobs():
    said = Access(base_url="https://mine.example/v1", api_key="k")
    assert said.batches(record("https://mine.example/v1")).identity == "https://mine.example/v1"
    with pytest.raises(UsageError, match=r"which isn't 'https://mine\.example/v1'"):
        said.batches(record("https://api.openai.com/v1"))


def test_what_use_and_the_environment_say_counts(monkeypatch: pytest.MonkeyPatch):
    with llmframe.use(base_url="https://mine.example/v1", api_key="k"):
        assert Access().batches(record("https://mine.example/v1")).model == "m"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://env.example/v1")
    assert Access().batches(record("https://env.example/v1")).model == "m"


def test_a_job_of_embeddings_gets_batches_that_read_vectors():
    assert Access().batches(record("https://api.openai.com/v1", kind="embeddings")).model == "m"


def test_a_client_of_anthropics_own_is_taken_without_a_cap_on_replies():
    client = instructor.from_anthropic(anthropic.AsyncAnthropic(api_key="k"))
    found = Access(client=client).batches(record("anthropic", provider="anthropic", model="claude-haiku-4-5"))
    assert (found.name, found.model) == ("anthropic", "claude-haiku-4-5")
