"""Lines of results, as the service writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmframe.clients.anthropic_results import custom_id_of, read_line, read_results
from llmframe.clients.base import RequestError
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "Topic", "input": {"topic": "Größe"}}],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 5},
}


def line(result: Any) -> bytes:
    return json.dumps({"custom_id": "a-0", "result": result}).encode()


def read(result: Any, secrets: tuple[str, ...] = ()) -> Any:
    found = read_line(line(result), secrets)
    assert found is not None
    assert found.custom_id == "a-0"
    return found.answer


def errored(kind: str, message: str = "no") -> dict[str, Any]:
    inner = {"type": kind, "message": message}
    return {"type": "errored", "error": {"type": "error", "error": inner, "request_id": "req_1"}}


def test_a_reply_is_read_with_its_cached_tokens():
    reply = read({"type": "succeeded", "message": MESSAGE})
    assert isinstance(reply, Reply)
    assert (reply.tool_calls[0].name, json.loads(reply.tool_calls[0].arguments)) == ("Topic", {"topic": "Größe"})
    assert reply.finish_reason == "tool_calls"
    # 10 fresh + 2 read from the cache + 1 written to it, as live
    assert reply.usage == Usage(input_tokens=13, output_tokens=5, cached_tokens=2)


@pytest.mark.parametrize(
    ("word", "kind", "status"),
    [
        ("invalid_request_error", "bad_request", 400),
        ("authentication_error", "auth", 401),
        ("billing_error", "quota", 402),
        ("permission_error", "auth", 403),
        ("not_found_error", "not_found", 404),
        ("request_too_large", "context_length", 413),
        ("rate_limit_error", "rate_limit", 429),
        ("api_error", "server", 500),
        ("timeout_error", "server", 504),
        ("overloaded_error", "server", 529),
        ("something_new", "server", 500),
    ],
)
def test_an_error_has_the_kind_of_its_type(word: str, kind: str, status: int):
    error = read(errored(word))
    assert isinstance(error, RequestError)
    assert (error.kind, error.status) == (kind, status)


def test_an_error_without_its_envelope_is_read_too():
    error = read({"type": "errored", "error": {"type": "invalid_request", "message": "max_tokens: Field required"}})
    assert (error.kind, error.status) == ("bad_request", 400)
    assert "max_tokens" in error.detail


def test_requests_that_were_given_up_have_kinds_of_their_own():
    assert read({"type": "expired"}).kind == "batch_expired"
    assert read({"type": "canceled"}).kind == "cancelled"


@pytest.mark.parametrize("result", [{"type": "paused"}, {}, None, [], "x", {"type": "errored"}])
def test_a_result_of_an_unknown_form_is_the_servers_fault(result: Any):
    assert read(result).kind == "server"


@pytest.mark.parametrize("message", [None, {}, [], {"content": "x"}])
def test_a_message_of_an_unknown_form_is_an_error_of_its_row(message: Any):
    assert isinstance(read({"type": "succeeded", "message": message}), RequestError)


def test_no_error_shows_a_secret():
    assert "sk-ant-0123456789" not in str(read(errored("authentication_error", "bad sk-ant-0123456789")))
    assert "hush" not in str(read(errored("api_error", "it was hush"), ("hush",)))


@pytest.mark.parametrize("text", [b"{", b"[]", b"{}", b'{"custom_id": 7}', b'{"custom_id": ""}', b"<html>", b"\xff"])
def test_what_names_no_request_is_none(text: bytes):
    assert read_line(text) is None
    assert custom_id_of(text) == ""


async def test_blank_lines_and_strangers_are_left_out_and_long_lines_come_alone(tmp_path: Path):
    long = line({"type": "succeeded", "message": {**MESSAGE, "content": [{"type": "text", "text": "x" * 9_000_000}]}})
    short = line({"type": "expired"})
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"\n".join([b"", long, b"  \r", b"{", short, short, b"", b""]))
    assert [len(some) async for some in read_results(path)] == [1, 2]


async def test_a_file_without_results_gives_none(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"\n\n")
    assert [some async for some in read_results(path)] == []
