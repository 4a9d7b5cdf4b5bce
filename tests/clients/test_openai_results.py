"""Result files of batches: what each line is, and how they are read."""

from __future__ import annotations

import base64
import json
import logging
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.clients.batch import LineResult, Vectors
from llmframe.clients.openai_results import CHUNK_BYTES, CHUNK_LINES, Kind, read_line, read_results
from llmframe.core.reply import Reply

KEY = "sk-SECRET-0123456789"
CHAT = {
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3},
    "model": "m",
}


def answered(body: object, status: object = 200, **more: object) -> dict[str, Any]:
    return {"custom_id": "a", "response": {"status_code": status, "body": body}, "error": None, **more}


def read(entry: object, kind: Kind = "chat") -> Any:
    result = read_line(json.dumps(entry).encode(), kind, (KEY,))
    assert result is not None
    assert result.custom_id == "a"
    return result.answer


def test_an_answer_is_a_reply_as_live():
    reply = read(answered(CHAT))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.usage.input_tokens, reply.model) == ("hi", "stop", 3, "m")
    assert read(answered(json.dumps(CHAT))) == reply
    assert read({"custom_id": "a", "response": {"body": CHAT}}) == reply


def failed(error: object, **more: object) -> dict[str, Any]:
    return {"custom_id": "a", "response": None, "error": error, **more}


TOO_LONG = answered({"error": {"message": "long", "code": "context_length_exceeded"}}, 400)
BESIDE = answered(None, 400, error={"message": "no", "type": "BadRequestError", "code": 400})


@pytest.mark.parametrize(
    ("entry", "kind", "status", "code"),
    [
        (TOO_LONG, "context_length", 400, "context_length_exceeded"),
        (answered({"error": {"message": "slow"}}, "429"), "rate_limit", 429, None),
        (BESIDE, "bad_request", 400, None),
        (answered({"error": {"message": "gone", "code": 502}}), "server", 502, None),
        (failed({"code": "batch_expired", "message": "Too late."}), "batch_expired", None, "batch_expired"),
        (failed({"code": "batch_cancelled"}), "cancelled", None, "batch_cancelled"),
        (failed({"code": "server_error", "message": "Oh."}), "server", None, None),
        (failed({"code": "insufficient_quota", "message": "No."}), "quota", None, "insufficient_quota"),
        (failed("something broke"), "server", None, None),
        (failed(None), "server", 200, None),
        (answered("<html>"), "server", 200, None),
        (answered([1]), "server", 200, None),
    ],
)
def test_a_failure_has_the_kind_that_it_has_live(entry: object, kind: str, status: int | None, code: str | None):
    error = read(entry)
    assert isinstance(error, RequestError)
    assert (error.kind, error.status, error.code) == (kind, status, code)
    assert error.detail


def test_no_key_gets_through():
    for entry in (
        answered({"error": {"message": f"key {KEY}"}}, 401),
        {"custom_id": "a", "error": {"code": "batch_expired", "message": KEY}},
        {"custom_id": "a", "error": {"code": "x", "message": KEY}},
    ):
        assert KEY not in str(read(entry))


def test_vectors_come_as_text_or_numbers_in_the_order_of_their_places():
    one, two = struct.pack("<2f", 1.0, 2.0), struct.pack("<2f", 3.0, 4.0)
    data = [{"index": 1, "embedding": [3.0, 4.0]}, {"index": 0, "embedding": base64.b64encode(one).decode()}]
    vectors = read(answered({"data": data, "usage": {"prompt_tokens": 5}, "model": "e"}), "embeddings")
    assert isinstance(vectors, Vectors)
    assert (vectors.values, vectors.usage.input_tokens, vectors.model) == ((one, two), 5, "e")
    gap = read(answered({"data": [data[0]]}), "embeddings")
    assert isinstance(gap, Vectors)
    assert gap.values == (b"", two)
    assert read(answered({"data": None}), "embeddings").kind == "server"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["custom_id", "response", "error", "body", "status_code", "choices", "message", "code", "data"]), x
)))  # fmt: skip
def test_whatever_a_line_holds_it_is_a_result_or_none(value: object):
    line = json.dumps({"custom_id": "a", **value} if isinstance(value, dict) else value).encode()
    for kind in ("chat", "embeddings"):
        result = read_line(line, kind)
        assert result is None or isinstance(result, LineResult)


async def chunks(path: Path) -> list[list[str]]:
    return [[result.custom_id for result in some] async for some in read_results(path, kind="chat")]


async def test_lines_that_name_no_request_are_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "output.jsonl"
    good = json.dumps(answered(CHAT)).encode()
    path.write_bytes(b"\n".join([good, b"", b"  ", b"{secret", b"[]", b'{"custom_id": 3}', b"\xff\xfe", good]))
    with caplog.at_level(logging.DEBUG, "llmframe"):
        assert await chunks(path) == [["a", "a"]]
    assert [record.getMessage() for record in caplog.records] == ["4 lines of output.jsonl are no results: skipped"]
    path.write_bytes(b"")
    assert await chunks(path) == []


async def test_a_chunk_is_bounded_in_lines_and_in_bytes(tmp_path: Path):
    path = tmp_path / "output.jsonl"
    small = json.dumps(answered(CHAT)).encode() + b"\n"
    path.write_bytes(small * (2 * CHUNK_LINES + 1))
    assert [len(chunk) for chunk in await chunks(path)] == [CHUNK_LINES, CHUNK_LINES, 1]
    long = json.dumps(answered(CHAT, pad="x" * (CHUNK_BYTES // 2))).encode() + b"\n"
    path.write_bytes(long * 5)
    assert [len(chunk) for chunk in await chunks(path)] == [2, 2, 1]
