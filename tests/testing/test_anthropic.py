"""The simulated Anthropic as its users have it: through the SDK, through instructor, through `map`."""

from __future__ import annotations

import asyncio
import json
import math
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Literal

import anthropic
import instructor
import pandas as pd
import pytest
from anthropic.types import Message
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from pydantic import BaseModel

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import AnthropicProvider, Refusal, Reset, Status, Text, run_in_fake_time


class Label(BaseModel):
    echo: str
    label: Literal["pos", "neg"]


@pytest.fixture
def provider() -> Iterator[AnthropicProvider]:
    with AnthropicProvider() as made:
        yield made


@pytest.fixture
def sdk(provider: AnthropicProvider) -> Iterator[anthropic.Anthropic]:
    # Strict: what the double says must be of the SDK's own types.
    made = anthropic.Anthropic(
        base_url=provider.url, api_key=provider.api_key, max_retries=0, _strict_response_validation=True
    )
    yield made
    made.close()


def request(custom_id: str, prompt: str = "row-1 fine", **params: Any) -> Any:
    asked = {"model": "claude-test", "max_tokens": 64, "messages": [{"role": "user", "content": prompt}]}
    return {"custom_id": custom_id, "params": {**asked, **params}}


def test_a_batchs_life_is_of_the_sdks_types(provider: AnthropicProvider, sdk: anthropic.Anthropic):
    provider.batch_seconds = math.inf
    made = sdk.messages.batches.create(requests=[request("a"), request("b")])
    assert isinstance(made, MessageBatch)
    assert (made.processing_status, made.request_counts.processing) == ("in_progress", 2)
    assert (made.expires_at - made.created_at).total_seconds() == 86_400
    assert (made.results_url, made.ended_at, made.archived_at, made.cancel_initiated_at) == (None,) * 4
    provider.finish(made.id)
    state = sdk.messages.batches.retrieve(made.id)
    assert (state.processing_status, state.request_counts.succeeded, state.request_counts.processing) == ("ended", 2, 0)
    assert state.ended_at is not None
    results = list(sdk.messages.batches.results(made.id))
    assert all(isinstance(result, MessageBatchIndividualResponse) for result in results)
    assert [result.custom_id for result in results] == ["a", "b"]
    assert sdk.messages.batches.delete(made.id).id == made.id
    with pytest.raises(anthropic.NotFoundError):
        sdk.messages.batches.retrieve(made.id)


def test_every_outcome_of_a_request_is_of_the_sdks_types(provider: AnthropicProvider, sdk: anthropic.Anthropic):
    provider.when("row-2", Status(529))
    provider.when("row-3", Refusal("No."))
    provider.expires("row-4")
    prompts = [f"row-{number} fine" for number in range(1, 5)]
    made = sdk.messages.batches.create(
        requests=[*(request(f"r-{at}", prompt) for at, prompt in enumerate(prompts, 1)), request("r-5", max_tokens=0)]
    )
    state = sdk.messages.batches.retrieve(made.id)
    found = {result.custom_id: result.result for result in sdk.messages.batches.results(made.id)}
    for result in found.values():
        type(result).model_validate(result.model_dump())
    assert {name: result.type for name, result in found.items()} == {
        "r-1": "succeeded",
        "r-2": "errored",
        "r-3": "succeeded",
        "r-4": "expired",
        "r-5": "errored",
    }
    assert (found["r-2"].error.error.type, found["r-5"].error.error.type) == (
        "overloaded_error",
        "invalid_request_error",
    )  # type: ignore[union-attr]
    assert found["r-3"].message.stop_reason == "refusal"  # type: ignore[union-attr]
    counts = state.request_counts
    assert (counts.succeeded, counts.errored, counts.expired, counts.canceled) == (2, 2, 1, 0)


def test_a_cancelled_batch_keeps_what_was_done(sdk: anthropic.Anthropic, provider: AnthropicProvider):
    provider.batch_seconds = math.inf
    provider._desk.traits.done_before_cancel = 1
    made = sdk.messages.batches.create(requests=[request("a"), request("b")])
    assert sdk.messages.batches.cancel(made.id).processing_status == "canceling"
    assert sdk.messages.batches.retrieve(made.id).processing_status == "ended"
    assert [result.result.type for result in sdk.messages.batches.results(made.id)] == ["succeeded", "canceled"]


def test_the_list_is_paged_as_the_sdk_reads_it(sdk: anthropic.Anthropic):
    ids = [sdk.messages.batches.create(requests=[request("a")]).id for _ in range(5)]
    assert [batch.id for batch in sdk.messages.batches.list(limit=2)] == ids[::-1], "the latest first, over all pages"
    page = sdk.messages.batches.list(limit=2, after_id=ids[3])
    assert ([batch.id for batch in page.data], page.has_more, page.first_id, page.last_id) == (
        [ids[2], ids[1]],
        True,
        ids[2],
        ids[1],
    )
    back = sdk.messages.batches.list(limit=2, before_id=ids[1])
    assert ([batch.id for batch in back.data], back.has_more) == ([ids[3], ids[2]], True)


def test_the_same_question_has_the_same_answer_live_and_in_a_batch(sdk: anthropic.Anthropic):
    tool: Any = {"name": "Label", "input_schema": Label.model_json_schema()}
    asked = request("a", tools=[tool], tool_choice={"type": "tool", "name": "Label"})
    live = sdk.messages.create(**asked["params"])
    assert isinstance(live, Message)
    made = sdk.messages.batches.create(requests=[asked])
    sdk.messages.batches.retrieve(made.id)
    (result,) = sdk.messages.batches.results(made.id)
    message = result.result.message  # type: ignore[union-attr]
    assert (message.content[0].input, message.stop_reason) == (live.content[0].input, live.stop_reason)  # type: ignore[union-attr]
    assert Label.model_validate(live.content[0].input).echo == "row-1"  # type: ignore[union-attr]
    assert (live.usage.service_tier, message.usage.service_tier) == ("standard", "batch")


def test_an_answer_may_be_given_by_a_function(sdk: anthropic.Anthropic, provider: AnthropicProvider):
    says: dict[str, object] = {"text": "hello", "value": {"x": 1}, "step": Text("cut", finish_reason="length")}
    provider._desk.traits.answer = lambda prompt, _params: says.get(prompt)

    def ask(prompt: str) -> Message:
        return sdk.messages.create(**request("a", prompt)["params"])

    assert ask("text").content[0].text == "hello"  # type: ignore[union-attr]
    assert ask("value").content[0].text == '{"x": 1}'  # type: ignore[union-attr]
    assert ask("step").stop_reason == "max_tokens"
    assert ask("other").content[0].text.startswith("answer ")  # type: ignore[union-attr]


def test_a_fault_comes_once_and_may_lose_the_answer_alone(sdk: anthropic.Anthropic, provider: AnthropicProvider):
    provider.fail("create", Status(429, retry_after=3), Reset())
    provider.fail("create", Reset(), after=True)
    with pytest.raises(anthropic.RateLimitError) as caught:
        sdk.messages.batches.create(requests=[request("a")])
    assert caught.value.response.headers["retry-after"] == "3"
    assert caught.value.type == "rate_limit_error"
    for made in (0, 1):
        with pytest.raises(anthropic.APIConnectionError):
            sdk.messages.batches.create(requests=[request("a")])
        assert len(provider.batches) == made
    sdk.messages.batches.create(requests=[request("a")])
    assert (len(provider.batches), provider.calls["create"]) == (2, 4)


def test_another_key_or_none_at_all_is_refused(provider: AnthropicProvider):
    for headers in ({"x-api-key": "sk-other"}, {}):
        asked = urllib.request.Request(f"{provider.url}/v1/messages/batches", headers=headers)  # noqa: S310 - loopback
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(asked)  # noqa: S310 - loopback
        assert caught.value.code == 401
        caught.value.close()


@pytest.mark.parametrize("way", ["environment", "client"])
def test_map_asks_it_through_instructor(provider: AnthropicProvider, monkeypatch: pytest.MonkeyPatch, way: str):
    options: dict[str, Any] = {"model": "anthropic/claude-test", "api_key": provider.api_key}
    if way == "environment":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    else:
        mine = anthropic.AsyncAnthropic(base_url=provider.url, api_key=provider.api_key)
        options = {"model": "claude-test", "client": instructor.from_anthropic(mine), "params": {"max_tokens": 64}}
    frame = pd.DataFrame({"text": ["row-1", "row-2", "row-1"]})
    out = llmframe.map(frame, "Label: {text}", schema=Label, cache=False, **options)
    assert out["echo"].tolist() == ["row-1", "row-2", "row-1"]
    assert out["error"].isna().all()
    assert provider.calls == {"message": 2}, "one request a distinct prompt"


def test_it_serves_in_simulated_time():
    async def main() -> str:
        async with AnthropicProvider().serving() as provider:
            with pytest.raises(UsageError, match="serves already"):
                async with provider.serving():
                    pass
            reader, writer = await asyncio.open_connection("127.0.0.1", int(provider.url.rpartition(":")[2]))
            writer.write(b"GET /v1/elsewhere HTTP/1.1\r\n\r\n")
            head = (await reader.readline()).decode()
            writer.close()
            return head

    assert run_in_fake_time(main()).startswith("HTTP/1.1 404")


def test_it_shows_neither_key_nor_prompt(sdk: anthropic.Anthropic, provider: AnthropicProvider):
    sdk.messages.create(**request("a", "a secret prompt")["params"])
    assert repr(provider) == f"<AnthropicProvider {provider.url}: 1 requests, 0 batches>"
    assert json.dumps(provider.bodies).count("a secret prompt") == 1
    assert repr(AnthropicProvider()) == "<AnthropicProvider not started: 0 requests, 0 batches>"
