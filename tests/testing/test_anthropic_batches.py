"""The shelf of batches: what the service refuses, and what it tells when."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types.messages import DeletedMessageBatch, MessageBatch

from llmframe.testing.anthropic_batches import MAX_REQUESTS, Batch, Shelf
from llmframe.testing.anthropic_messages import Trouble

PARAMS = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
MADE = 1_767_225_600.0
"""2026-01-01."""


def request(custom_id: object = "a", **changes: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "params": {**PARAMS, **changes}}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(lambda: MADE)


def create(shelf: Shelf, *requests: Any) -> Batch | Trouble:
    return shelf.create(json.dumps({"requests": list(requests)}).encode())


def made(shelf: Shelf) -> Batch:
    batch = create(shelf, request())
    assert isinstance(batch, Batch)
    return batch


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([], "at least 1 item"),
        ([{"params": PARAMS}], "requests.0.custom_id: Field required"),
        ([request("a b")], "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
        ([request("x" * 65)], "requests.0.custom_id: String should match"),
        ([request("")], "requests.0.custom_id: String should match"),
        ([request(), request()], "requests.1.custom_id: Duplicate custom_id: a"),
        ([{"custom_id": "a"}], "requests.0.params.Input should be an object"),
        (
            [{"custom_id": "a", "params": {"model": "m", "messages": []}}],
            "requests.0.params.max_tokens: Field required",
        ),
    ],
)
def test_one_wrong_request_refuses_the_batch(shelf: Shelf, requests: list[Any], told: str):
    wrong = create(shelf, *requests)
    assert isinstance(wrong, Trouble)
    assert (wrong.status, wrong.type) == (400, "invalid_request_error")
    assert told in wrong.message
    assert not shelf.batches


def test_too_many_requests_and_too_long_bodies_are_refused(shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    body = b'{"requests":[' + b",".join([b"{}"] * (MAX_REQUESTS + 1)) + b"]}"
    wrong = shelf.create(body)
    assert isinstance(wrong, Trouble)
    assert "at most 100000 items" in wrong.message
    monkeypatch.setattr("llmframe.testing.anthropic_batches.MAX_BYTES", 100)
    wrong = create(shelf, request())
    assert isinstance(wrong, Trouble)
    assert (wrong.status, wrong.type) == (413, "request_too_large")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"requests": {}}', b'{"requests": [1]}'])
def test_what_is_no_batch_is_refused(shelf: Shelf, body: bytes):
    wrong = shelf.create(body)
    assert isinstance(wrong, Trouble)
    assert wrong.status == 400


def test_results_are_there_from_the_end_until_they_are_archived(shelf: Shelf):
    batch = made(shelf)
    early = shelf.results(batch.id)
    assert isinstance(early, Trouble)
    assert early.status == 404
    shelf.end(batch, {"a": {"type": "expired"}})
    assert shelf.results(batch.id) == [b'{"custom_id": "a", "result": {"type": "expired"}}\n']
    told = MessageBatch.model_validate(batch.object("http://x"))
    assert (told.results_url, told.request_counts.expired) == (f"http://x/v1/messages/batches/{batch.id}/results", 1)
    shelf.archive(batch)
    assert isinstance(shelf.results(batch.id), Trouble)
    told = MessageBatch.model_validate(batch.object("http://x"))
    assert told.archived_at is not None
    assert (told.results_url, told.archived_at.timestamp()) == (None, MADE)


def test_only_what_has_ended_is_deleted_and_only_what_runs_is_cancelled(shelf: Shelf):
    batch = made(shelf)
    assert isinstance(shelf.delete(batch.id), Trouble)
    assert shelf.cancel(batch.id) is batch
    assert batch.status == "canceling"
    shelf.end(batch, {})
    again = shelf.cancel(batch.id)
    assert isinstance(again, Trouble)
    assert again.status == 400
    deleted = shelf.delete(batch.id)
    assert not isinstance(deleted, Trouble)
    DeletedMessageBatch.model_validate(deleted)
    assert isinstance(shelf.get(batch.id), Trouble)


@pytest.mark.parametrize(
    "query",
    [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"after_id": "none"}, {"after_id": "a", "before_id": "b"}],
)
def test_a_page_that_cant_be_is_refused(shelf: Shelf, query: dict[str, str]):
    assert isinstance(shelf.page(query, ""), Trouble)


def test_an_empty_list_is_a_page_too(shelf: Shelf):
    assert shelf.page({}, "") == {"data": [], "has_more": False, "first_id": None, "last_id": None}


def test_no_two_shelves_give_the_same_id(shelf: Shelf):
    assert made(shelf).id != made(Shelf(lambda: MADE)).id
