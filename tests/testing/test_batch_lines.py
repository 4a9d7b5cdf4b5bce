from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing.answers import Response
from llmframe.testing.batch_lines import (
    CHAT,
    EMBEDDINGS,
    Caps,
    Reading,
    answered_line,
    digest,
    prompts_of,
    read_lines,
    unanswered_line,
)

CAPS = Caps(lines=3, bytes=1_000, inputs=4)
LINE = {
    "custom_id": "a",
    "method": "POST",
    "url": CHAT,
    "body": {"model": "m", "messages": [{"role": "user", "content": "12345678"}]},
}


def read(*lines: dict | str, end: str = "\n", endpoint: str = CHAT) -> Reading:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end
    return read_lines(text.encode(), endpoint=endpoint, caps=CAPS)


def problems(*lines: dict | str) -> list[tuple]:
    reading = read(*lines)
    assert reading.lines == []
    return [(one.code, one.line, one.param) for one in reading.problems]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n \n"])
def test_lines_are_read_whatever_ends_the_last_one(end: str):
    reading = read(LINE, LINE | {"custom_id": "b"}, end=end)
    assert [line.custom_id for line in reading.lines] == ["a", "b"]
    assert (reading.model, reading.problems) == ("m", [])
    assert reading.tokens == 2 * (8 // 4 + 4)


def test_the_tokens_of_embedding_lines_are_those_of_their_texts():
    line = LINE | {"url": EMBEDDINGS, "body": {"model": "e", "input": ["12345", "1"]}}
    assert read(line, endpoint=EMBEDDINGS).tokens == 2 + 1


@pytest.mark.parametrize(
    ("line", "code", "param"),
    [
        ("{", "invalid_json_line", None),
        ("[1]", "invalid_json_line", None),
        ("", "invalid_json_line", None),
        (LINE, "duplicate_custom_id", "custom_id"),
        (LINE | {"custom_id": 7}, "missing_required_parameter", "custom_id"),
        (LINE | {"custom_id": "b", "method": "GET"}, "invalid_method", "method"),
        (LINE | {"custom_id": "b", "url": EMBEDDINGS}, "mismatched_endpoint", "url"),
        (LINE | {"custom_id": "b", "body": {"model": "other"}}, "mismatched_model", "body.model"),
        (LINE | {"custom_id": "b", "body": {}}, "missing_required_parameter", "body.model"),
    ],
)
def test_one_wrong_line_refuses_the_batch_and_is_named(line, code: str, param: str | None):
    assert problems(LINE, line, LINE | {"custom_id": "c"}) == [(code, 2, param)]


def test_every_wrong_line_is_named():
    assert [line for _, line, _ in problems("{", LINE, "}")] == [1, 3]


@pytest.mark.parametrize("empty", ["", "\n", " \r\n\n"])
def test_an_empty_file_is_refused(empty: str):
    (problem,) = read_lines(empty.encode(), endpoint=CHAT, caps=CAPS).problems
    assert (problem.code, problem.line) == ("empty_file", None)


def test_more_lines_bytes_or_inputs_than_a_batch_may_hold_are_refused():
    lines = [LINE | {"custom_id": str(i)} for i in range(4)]
    assert problems(*lines) == [("too_many_tasks", None, None)]
    assert len(read(*lines[:3]).lines) == 3
    assert problems(LINE | {"custom_id": "a" * 1_000}) == [("file_too_large", None, None)]
    line = LINE | {"url": EMBEDDINGS, "body": {"model": "e", "input": ["a"] * 5}}
    assert [one.code for one in read(line, endpoint=EMBEDDINGS).problems] == ["too_many_inputs"]


@given(st.text(), st.text())
def test_a_result_line_is_one_line_of_json_whatever_is_in_it(custom_id: str, text: str):
    line = answered_line(3, custom_id, Response(status=418, body=json.dumps({"text": text}).encode()))
    assert b"\n" not in line
    assert json.loads(line) == {
        "id": "batch_req_3",
        "custom_id": custom_id,
        "response": {"status_code": 418, "request_id": "req_3", "body": {"text": text}},
        "error": None,
    }
    late = json.loads(unanswered_line(3, custom_id, "batch_expired", text))
    assert (late["custom_id"], late["response"], late["error"]) == (
        custom_id,
        None,
        {"code": "batch_expired", "message": text},
    )


def test_a_body_that_is_no_json_stands_there_as_text():
    line = json.loads(answered_line(0, "a", Response(body=b'{"cut": "he')))
    assert line["response"]["body"] == '{"cut": "he'


def test_a_line_pays_for_its_last_user_message_or_for_each_text():
    messages = [{"role": "user", "content": "first"}, {"role": "user", "content": "last"}, {"role": "assistant"}]
    assert list(prompts_of({"messages": messages})) == ["last"]
    assert list(prompts_of({"input": ["a", "b"]})) == ["a", "b"]
    assert digest("a") == "ca978112ca1bbdca"  # the beginning of SHA-256 of b"a"
