"""Pieces come together as the answer that they were cut from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.chat import read_chat
from llmframe.clients.pieces import Pieces
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall
from llmframe.core.tokens import Token


def event(chunk: object) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def of(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return event({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def call(index: int | None, name: str | None = None, arguments: object = "", id_: str | None = None) -> bytes:
    return of({"tool_calls": [{"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}]})


USAGE = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
DONE = b"data: [DONE]\n\n"


def put_together(*events: bytes) -> Reply:
    pieces = Pieces()
    pieces.feed(b"".join(events))
    assert pieces.end()
    return read_chat(pieces.completion())


def test_texts_grow_and_the_last_usage_counts():
    early = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}})
    reply = put_together(of({"role": "assistant", "content": ""}), of({"content": "Gr"}), early, of({"content": "üße"}),
                         of({}, "stop"), USAGE, DONE)  # fmt: skip
    assert reply == Reply(text="Grüße", finish_reason="stop", usage=Usage(7, 2), model="m-1")


@given(st.data())
def test_where_the_bytes_are_cut_decides_nothing(data: st.DataObject):
    stream = b": ping\r\n\r\n" + of({"content": "日本"}) + of({"content": " ü\n"}) + of({}, "length") + USAGE + DONE
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = Pieces()
    for start, end in zip([0, *places], [*places, len(stream)], strict=True):
        pieces.feed(stream[start:end])
    assert pieces.end()
    assert pieces.done
    assert pieces.count == 4
    assert read_chat(pieces.completion()) == Reply(
        text="日本 ü\n", finish_reason="length", usage=Usage(7, 2), model="m-1"
    )


def test_calls_grow_by_their_index():
    reply = put_together(
        call(0, "Topic", "", "call_1"),
        call(1, "Topic", "", "call_2"),
        call(1, None, '{"b"'),
        call(0, None, '{"a"'),
        call(0, None, ": 1}"),
        call(1, None, ": 2}"),
        of({}, "tool_calls"),
    )
    assert reply.tool_calls == (ToolCall("Topic", '{"a": 1}'), ToolCall("Topic", '{"b": 2}'))
    assert reply.text is None


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_share_an_index_are_told_apart_by_their_id(index: int | None):
    reply = put_together(call(index, "A", "{}", "call_1"), call(index, "B", {"x": 1}, "call_2"), of({}, "tool_calls"))
    assert reply.tool_calls == (ToolCall("A", "{}"), ToolCall("B", '{"x": 1}'))


def test_a_name_that_is_told_with_every_piece_is_told_once():
    reply = put_together(call(0, "Topic", '{"a"', "c"), call(0, "Topic", ": 1}", "c"), of({}, "stop"))
    assert reply.tool_calls == (ToolCall("Topic", '{"a": 1}'),)


def test_the_old_form_of_a_call_is_read():
    reply = put_together(of({"function_call": {"name": "Topic", "arguments": "{"}}),
                         of({"function_call": {"arguments": "}"}}), of({}, "function_call"))  # fmt: skip
    assert reply.tool_calls == (ToolCall("Topic", "{}"),)


def test_refusals_parts_and_whole_messages_are_read():
    assert put_together(of({"refusal": "I "}), of({"refusal": "can't"}), of({}, "stop")).refusal == "I can't"
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    assert put_together(of({"content": thought}), of({"content": "ok"}), of({}, "stop")).text == "ok"
    whole = event({"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]})
    assert put_together(whole).text == "all"


def test_thoughts_other_choices_and_unknown_lines_are_left_out():
    other = event({"choices": [{"index": 1, "delta": {"content": "no"}}]})
    lines, thought = b"id: 7\nretry: 10\n\n", of({"reasoning_content": "hm"})
    reply = put_together(lines, thought, other, of({"content": "yes"}, "stop"))
    assert reply.text == "yes"


@pytest.mark.parametrize(
    "junk", [{}, {"choices": None}, {"choices": [None]}, {"choices": [{"delta": {"content": None}}]}]
)
def test_a_piece_with_nothing_in_it_is_news_all_the_same(junk: dict[str, Any]):
    pieces = Pieces()
    assert pieces.feed(event(junk))
    assert not pieces.finished


def test_comments_and_blank_lines_are_no_news():
    pieces = Pieces()
    assert not pieces.feed(b": ping\n\n\n:\n\n   \n")
    assert not pieces.feed(b'data: {"choices"')


def test_events_may_lack_the_blank_line_between_them_or_spread_over_lines():
    tight = b"".join(each.rstrip() + b"\n" for each in (of({"content": "a"}), of({"content": "b"}, "stop"), DONE))
    assert put_together(tight).text == "ab"
    spread = b'data: {"choices": [{"delta":\ndata: {"content": "a"}}]}\n\n'
    assert put_together(spread).text == "a"


@pytest.mark.parametrize("body", [b"data: {broken\n\n", b"data: [1]\n\n", b"data: 7\n\n"])
def test_what_isnt_a_json_object_is_an_error(body: bytes):
    with pytest.raises(ValueError, match=r"."):
        Pieces().feed(body)


def test_a_piece_that_is_left_half_is_told_from_an_end():
    pieces = Pieces()
    pieces.feed(of({"content": "a"}, "stop") + b'data: {"choi')
    assert not pieces.end()
    whole = Pieces()
    whole.feed(of({"content": "a"}, "stop").rstrip())
    assert whole.end()
    assert whole.finished


@pytest.mark.parametrize(
    "body",
    [
        event({"error": {"message": "no", "code": 500}}),
        b"event: error\n" + event({"message": "no", "code": 500}),
        event({"choices": [{"error": {"message": "no", "code": 500}}]}),
    ],
)
def test_an_error_among_the_pieces_stands_in_the_answers_place(body: bytes):
    pieces = Pieces()
    pieces.feed(of({"content": "half"}) + body)
    assert pieces.completion() == {"error": {"message": "no", "code": 500}}


def test_log_probabilities_grow_with_the_text():
    def piece(text: str) -> bytes:
        told = {"content": [{"token": text, "bytes": None, "logprob": -1.0, "top_logprobs": []}], "refusal": None}
        choice = {"index": 0, "delta": {"content": text}, "logprobs": told, "finish_reason": None}
        return event({"model": "m-1", "choices": [choice]})

    reply = put_together(piece("po"), of({"content": None}), piece("s"), of({}, "stop"), DONE)
    assert (reply.text, reply.tokens) == ("pos", (Token(b"po", -1.0), Token(b"s", -1.0)))
    assert put_together(of({"content": "pos"}), of({}, "stop"), DONE).tokens is None
