"""What is known of a provider's Batch API, without asking it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from llmframe.api.batch_service import batch_service, line_bytes
from llmframe.clients import open_client
from llmframe.clients.base import Client
from llmframe.core.outlay import Outlay
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import Provider


def client_of(
    model: str | None, *, base_url: str | None = None, client: object = None, params: Mapping[str, object] | None = None
) -> Client:
    return open_client(
        model=model,
        base_url=base_url,
        api_key=None,
        client=client,
        params=params or {},
        schema=schema_of(str, into=None, labels="enum", nested="native", confidence=None),
        output_mode="auto",
        sending=False,
    )


@pytest.fixture(autouse=True)
def nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize(("model", "lines"), [("openai/gpt-4o-mini", 50_000), ("anthropic/claude-haiku-4-5", 100_000)])
def test_openai_and_anthropic_surely_have_one(model: str, lines: int):
    service = batch_service(client_of(model, params={"max_tokens": 9}))
    assert service is not None
    assert (service.known, service.limits.lines) == (True, lines)


def test_an_endpoint_of_ones_own_may_have_one():
    with Provider() as provider:
        for client in (client_of("m", base_url="http://localhost:1/v1"), client_of(None, client=provider)):
            service = batch_service(client)
            assert service is not None
            assert (service.known, service.limits.lines, service.limits.bytes) == (False, 50_000, 200_000_000)


@pytest.mark.parametrize("model", ["google/gemini-2.5-pro", "mistral/mistral-small-latest"])
def test_others_have_none_that_is_spoken_and_say_so_when_it_is_needed(model: str):
    assert batch_service(client_of(model)) is None
    with pytest.raises(UsageError, match="has no Batch API"):
        batch_service(client_of(model), needed=True)


@pytest.mark.parametrize(("requests", "size", "batches"), [(0, 0, 0), (50_001, 0, 2), (10, 190_000_001, 2)])
def test_batches_are_counted_by_lines_and_by_the_safe_part_of_the_bytes(requests: int, size: int, batches: int):
    service = batch_service(client_of("openai/gpt-4o-mini"))
    assert service is not None
    assert service.batches(Outlay(requests=requests, characters=0, answer_tokens=1, bytes=size)) == batches


def test_a_line_has_the_bytes_of_its_messages_in_utf_8_and_a_share_of_the_rest():
    empty = line_bytes([], shared=0)
    messages = [{"role": "system", "content": "ab"}, {"role": "user", "content": "é€"}]
    assert line_bytes(messages, shared=1000) == empty + 1000 + 2 + 5  # é has two bytes, € three
