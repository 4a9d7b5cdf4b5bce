"""Routes and answers of the simulated Anthropic, over plain HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from llmframe.testing import AnthropicProvider, BadBody, Cut, Delay, Html, Status
from llmframe.testing.anthropic_desk import BATCHES

REQUEST = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def provider() -> Iterator[AnthropicProvider]:
    with AnthropicProvider() as made:
        yield made


def call(provider: AnthropicProvider, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, str]:
    """Status, text and request id of one answer."""
    connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=60)
    sent = {"x-api-key": provider.api_key, "anthropic-version": "2023-06-01", **headers}
    try:
        connection.request(method, path, body if isinstance(body, str | None) else json.dumps(body), sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers["request-id"]
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/messages"), ("PUT", BATCHES), ("POST", f"{BATCHES}/b"), ("GET", f"{BATCHES}/b/cancel"), ("GET", "/")],
)
def test_there_is_no_other_route(provider: AnthropicProvider, method: str, path: str):
    status, text, request_id = call(provider, method, path)
    assert status == 404
    assert json.loads(text)["request_id"] == request_id
    assert json.loads(text)["error"]["type"] == "not_found_error"
    assert provider.calls.total() == 0


def test_a_version_is_wanted_and_a_token_is_a_key_too(provider: AnthropicProvider):
    assert call(provider, "GET", BATCHES, **{"anthropic-version": "x"})[0] == 200
    token = {"x-api-key": "", "Authorization": f"Bearer {provider.api_key}"}
    assert call(provider, "GET", BATCHES, **token)[0] == 200
    connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=60)
    connection.request("GET", BATCHES, headers={"x-api-key": provider.api_key})
    answer = connection.getresponse()
    assert (answer.status, b"anthropic-version" in answer.read()) == (400, True)
    connection.close()


@pytest.mark.parametrize("body", ["{", {}, {**REQUEST, "max_tokens": 0}])
def test_a_wrong_request_is_refused_live(provider: AnthropicProvider, body: Any):
    status, text, _ = call(provider, "POST", "/v1/messages", body)
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")


def test_a_function_of_the_test_that_fails_is_told(provider: AnthropicProvider):
    provider._desk.traits.answer = lambda _prompt, _params: 1 / 0
    status, text, _ = call(provider, "POST", "/v1/messages", REQUEST)
    assert (status, "ZeroDivisionError" in text) == (400, True)


@pytest.mark.parametrize(("step", "status"), [(Status(503), 503), (Html(), 200), (Html(502), 502), (Delay(1), 500)])
def test_a_step_stands_in_place_of_an_answer(provider: AnthropicProvider, step: Any, status: int):
    provider.fail("list", step)
    provider.when("hi", step)
    assert call(provider, "GET", BATCHES)[0] == status
    assert call(provider, "POST", "/v1/messages", REQUEST)[0] == status


def test_a_broken_answer_was_worked_for(provider: AnthropicProvider):
    create = {"requests": [{"custom_id": "a", "params": REQUEST}]}
    provider.fail("create", BadBody(), Cut(), after=True)
    connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=60)
    headers = {"x-api-key": provider.api_key, "anthropic-version": "2023-06-01"}
    connection.request("POST", BATCHES, json.dumps(create), headers)
    with pytest.raises(ValueError, match=r"JSON|utf|codec|delimiter|Unterminated"):
        json.loads(connection.getresponse().read())
    connection.request("POST", BATCHES, json.dumps(create), headers)
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()
    assert len(provider.batches) == 2


def test_batches_end_by_the_clock():
    now = [1000.0]
    with AnthropicProvider(batch_seconds=60, clock=lambda: now[0]) as provider:
        _, text, _ = call(provider, "POST", BATCHES, {"requests": [{"custom_id": "a", "params": REQUEST}]})
        path = f"{BATCHES}/{json.loads(text)['id']}"
        states: list[str] = []
        for moment in (1059.0, 1060.0):
            now[0] = moment
            states.append(json.loads(call(provider, "GET", path)[1])["processing_status"])
        assert states == ["in_progress", "ended"]
