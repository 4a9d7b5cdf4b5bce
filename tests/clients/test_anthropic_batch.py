"""What is particular to Anthropic's batches; what holds for every provider is in the contract's file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import anthropic
import instructor
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from llmframe.clients import open_client
from llmframe.clients.anthropic_batch import LIMITS, AnthropicBatches
from llmframe.clients.base import Dialect
from llmframe.clients.batch import BatchState, UndecidedError
from llmframe.clients.instructor import InstructorClient
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import AnthropicProvider


class Topic(BaseModel):
    topic: Literal["bug", "praise"]


TOPIC = schema_of(Topic)
QUESTION: list[dict[str, object]] = [{"role": "user", "content": "Bug or praise?"}]


@pytest.fixture
def provider() -> Iterator[AnthropicProvider]:
    with AnthropicProvider() as made:
        yield made


@pytest.fixture
async def batches(provider: AnthropicProvider, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AnthropicBatches]:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    made = AnthropicBatches(opened(api_key=provider.api_key))
    await made.start()
    yield made
    await made.close()


def opened(**options: Any) -> InstructorClient:
    plain: dict[str, Any] = {"base_url": None, "client": None, "params": {}, "output_mode": "auto", "schema": TOPIC}
    client = open_client(**{**plain, "model": "anthropic/claude-test", "api_key": "sk-x", **options})
    assert isinstance(client, InstructorClient)
    return client


async def make(batches: AnthropicBatches, folder: Path, intent: str) -> BatchState:
    lines = folder / f"{intent}.jsonl"
    lines.write_bytes(batches.line(f"{intent}-0-x", QUESTION, batches.dialects[0]))
    return await batches.create(lines, intent=intent)


def test_limits_are_those_of_the_service():
    # 100,000 requests, 256 MB; who packs leaves room below
    assert (LIMITS.lines, LIMITS.bytes, LIMITS.inputs) == (100_000, 256_000_000, None)


async def test_a_line_is_a_request_of_the_sdks_own_type(batches: AnthropicBatches):
    line = batches.line("a-0-0123456789abcdef", [{"role": "system", "content": "Brief."}, *QUESTION], Dialect("tools"))
    assert json.loads(line) == {
        "custom_id": "a-0-0123456789abcdef",
        "params": {
            "model": "claude-test",
            "max_tokens": 4096,
            "system": [{"type": "text", "text": "Brief."}],
            "messages": QUESTION,
            "tools": [
                {
                    "name": "Topic",
                    "description": "Correctly extracted `Topic` with all the required parameters with correct types",
                    "input_schema": Topic.model_json_schema(),
                }
            ],
            "tool_choice": {"type": "tool", "name": "Topic", "disable_parallel_tool_use": True},
        },
    }
    from anthropic.types.messages.batch_create_params import Request

    TypeAdapter(Request).validate_json(line)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
blocks = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), min_size=1, max_size=2)
talks = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": texts | blocks}),
    min_size=1,
    max_size=4,
)
system_params = st.sampled_from([None, "Be kind.", [{"type": "text", "text": "Be kind."}]])


@given(talk=talks, system=system_params, mode=st.sampled_from(["tools", "json"]), thinks=st.booleans())
async def test_a_line_holds_whatever_instructor_makes_of_the_same_request(
    talk: Any, system: Any, mode: Literal["tools", "json"], *, thinks: bool
):
    params: dict[str, Any] = {"extra_query": {"beta": "1"}}
    if system is not None:
        params["system"] = system
    if thinks:
        params["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    client = opened(params=params)
    batches = AnthropicBatches(client)
    await batches.start()
    dialect = Dialect(mode)
    wanted = client.request(talk, dialect)
    assert wanted.pop("extra_query") == {"beta": "1"}, "a part of the address"
    assert json.loads(batches.line("a", talk, dialect))["params"] == wanted
    await batches.close()


async def test_query_and_headers_of_the_user_go_with_every_call(provider: AnthropicProvider, tmp_path: Path):
    sdk = anthropic.AsyncAnthropic(base_url=provider.url, api_key="sk-wrong", max_retries=4)
    params = {"max_tokens": 9, "extra_headers": {"x-api-key": provider.api_key}, "extra_query": {"limit": "7"}}
    client = opened(model="m", api_key=None, client=instructor.from_anthropic(sdk), params=params)
    batches = AnthropicBatches(client)
    await batches.start()
    made = await make(batches, tmp_path, "a")
    assert (await batches.state(made.id)).phase == "ended"
    await batches.close()
    assert not sdk.is_closed(), "the user's own client stays open"
    await sdk.close()


async def test_embeddings_are_refused_with_another_provider_to_ask(batches: AnthropicBatches):
    with pytest.raises(UsageError, match=r"'claude-test' of 'anthropic' can't embed.*openai"):
        batches.embedding_line("a", ["text"])


def test_only_anthropics_client_has_message_batches():
    with pytest.raises(UsageError, match="'google' has no Message Batches"):
        AnthropicBatches(opened(model="google/gemini-test"))


async def test_a_cloud_without_message_batches_is_told_before_anything_is_sent():
    cloud = anthropic.AsyncAnthropicVertex(region="r", project_id="p", access_token="t")
    client = opened(client=instructor.from_anthropic(cloud), model="m", api_key=None, params={"max_tokens": 9})
    with pytest.raises(UsageError, match="client AsyncAnthropicVertex has no Message Batches"):
        await AnthropicBatches(client).start()
    await client.close()


@pytest.mark.parametrize("word", ["in_progress", "canceling", "paused", None])
def test_any_state_but_ended_still_runs_and_says_nothing_of_what_is_done(word: str | None):
    from llmframe.clients.anthropic_batch import _state

    counts = {"processing": 3, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    state = _state(
        {"id": "b", "processing_status": word, "request_counts": counts, "created_at": "2026-01-01T00:00:00Z"}
    )
    assert (state.phase, state.status) == ("running", str(word))
    assert (state.total, state.done, state.failed) == (3, None, None), "all count as processing until the end"
    assert state.created == 1_767_225_600.0, "2026-01-01 is 20,454 days after 1970"


def test_an_ended_state_counts_what_gave_no_answer_as_failed():
    from llmframe.clients.anthropic_batch import _state

    counts = {"processing": 0, "succeeded": 4, "errored": 1, "canceled": 2, "expired": 3}
    state = _state({"id": "b", "processing_status": "ended", "request_counts": counts, "results_url": "https://x/r"})
    assert (state.phase, state.total, state.done, state.failed, state.output) == ("ended", 10, 4, 6, "https://x/r")
    assert (state.created, state.expires) == (None, None)


async def test_results_come_from_the_clients_own_address(
    provider: AnthropicProvider, batches: AnthropicBatches, tmp_path: Path
):
    made = await make(batches, tmp_path, "a")
    provider._desk.base_url = "http://127.0.0.1:9"  # as behind a gateway: the service tells its own address
    state = await batches.state(made.id)
    assert (state.output or "").startswith("http://127.0.0.1:9/")
    assert [len(some) async for some in batches.results(state, tmp_path)] == [1]


async def test_a_search_goes_through_all_pages_since(
    provider: AnthropicProvider, batches: AnthropicBatches, tmp_path: Path
):
    mine = await make(batches, tmp_path, "mine")
    others = [await make(batches, tmp_path, f"o-{number}") for number in range(100)]
    known = [other.id for other in others]
    provider.finish()
    provider.calls.clear()
    found = await batches.find("mine", since=time.time(), known=known)
    assert found is not None
    assert found.id == mine.id
    assert provider.calls == {"list": 2, "results": 1}, "100 on a page; known ones aren't looked into"


async def test_a_search_ends_at_what_is_older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = [1_000_000.0]
    with AnthropicProvider(clock=lambda: now[0]) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        batches = AnthropicBatches(opened(api_key=provider.api_key))
        await batches.start()
        for moment in (0, 3, 3599, 3601):
            now[0] = 1_000_000.0 + moment
            await make(batches, tmp_path, f"at-{moment}")
        provider.finish()
        # An hour before 1,003,600.5 is 1,000,000.5: the first batch is older, and nobody looks into it.
        assert await batches.find("at-0", since=1_003_600.5, known=[]) is None
        assert provider.calls["results"] == 3
        assert await batches.find("at-3", since=1_003_600.5, known=[]) is not None
        await batches.close()


async def test_others_that_run_leave_a_search_undecided_until_they_end(
    provider: AnthropicProvider, batches: AnthropicBatches, tmp_path: Path
):
    provider.batch_seconds = math.inf
    first = await make(batches, tmp_path, "other")
    second = await make(batches, tmp_path, "another")
    with pytest.raises(UndecidedError, match=f"batch {second.id} and 1 more of this account.* still runs"):
        await batches.find("mine", since=time.time(), known=[])
    with pytest.raises(UndecidedError, match=f"batch {first.id} of this account"):
        await batches.find("mine", since=time.time(), known=[second.id])
    provider.finish(first.id)
    with pytest.raises(UndecidedError):
        await batches.find("mine", since=time.time(), known=[])
    provider.finish()
    assert await batches.find("mine", since=time.time(), known=[]) is None


async def test_an_ended_batch_is_found_though_others_run(
    provider: AnthropicProvider, batches: AnthropicBatches, tmp_path: Path
):
    mine = await make(batches, tmp_path, "mine")
    await batches.state(mine.id)
    provider.batch_seconds = math.inf
    await make(batches, tmp_path, "other")
    found = await batches.find("mine", since=time.time(), known=[])
    assert found is not None
    assert found.id == mine.id


async def test_batches_whose_results_are_gone_are_others(
    provider: AnthropicProvider, batches: AnthropicBatches, tmp_path: Path
):
    mine = await make(batches, tmp_path, "mine")
    await batches.state(mine.id)
    provider.archive(mine.id)
    assert await batches.find("mine", since=time.time(), known=[]) is None
