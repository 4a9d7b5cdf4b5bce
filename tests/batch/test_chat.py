"""Chat requests as lines, and their answers read by today's schema."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from llmframe.batch.chat import ChatDrafts, ChatReading
from llmframe.batch.drafts import Invalid
from llmframe.clients.base import Dialect
from llmframe.clients.batch import Vectors
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall
from llmframe.core.request import Components, text_digest
from llmframe.core.schema import schema_of
from llmframe.stores.jobs import LineRecord
from tests.batch.doubles import DOWN, Bench, key, planned
from tests.engine.doubles import say

LABEL = schema_of(Literal["pos", "neg"])
MADE_OF = Components("model", "params", "schema")


def drafts(*, max_tokens: int | None = None, invalid: Invalid | None = None) -> ChatDrafts:
    return ChatDrafts(Bench(), LABEL, max_tokens=max_tokens, invalid={} if invalid is None else invalid)


def read(answer: Any, invalid: Invalid | None = None, digest: bytes = b"8 bytes!") -> Any:
    kept = {} if invalid is None else invalid
    reading = ChatReading(LABEL, components=MADE_OF, clock=lambda: 7.0, invalid=kept)
    ((outcome, entry),) = reading.read([LineRecord(0, 0, key(1), digest)], answer)
    return outcome, entry


def test_each_request_is_a_line_with_its_digest():
    requests = planned(1, 2)
    found = list(drafts().add(requests))
    assert [draft.keys for draft in found] == [[key(1)], [key(2)]]
    assert [draft.digests for draft in found] == [[text_digest(each.messages)] for each in requests]
    assert found[0].render("id-1") == b"id-1 json_schema ['1']\n"
    assert list(drafts().flush()) == []


def test_a_line_keeps_the_form_that_was_asked_for_when_it_was_made():
    made = drafts()
    (draft,) = made.add(planned(1))
    made.dialect = Dialect("tools")
    assert b"json_schema" in draft.render("id")
    assert b"tools" in next(made.add(planned(1))).render("id")


def test_the_function_is_named_in_the_mode_that_has_one():
    made = drafts()
    assert made.tool is None
    made.dialect = Dialect("tools")
    assert made.tool == LABEL.name


def test_the_schema_counts_as_tokens_and_an_answer_is_no_longer_than_it_may_be():
    (draft,) = drafts(max_tokens=5).add(planned(1))
    assert draft.tokens >= len(LABEL.canonical) // 4
    assert draft.output == 5


def test_an_invalid_reply_is_shown_with_the_problem_and_the_digest_stays():
    invalid: Invalid = {key(1): (say("odd"), "not one of them")}
    requests = planned(1)
    (draft,) = drafts(invalid=invalid).add(requests)
    assert draft.render("id") == b"id json_schema ['1', 'odd', 'not one of them']\n"
    assert draft.digests == [text_digest(requests[0].messages)]


def test_a_refused_line_is_all_there_is():
    assert not drafts().refused([key(1)], DOWN)


def test_a_valid_answer_is_kept_with_what_it_was_asked_by():
    reply = Reply(text='{"response":"pos"}', usage=Usage(3, 2, 1), model="m-1", finish_reason="stop")
    outcome, entry = read(reply)
    assert (outcome.state, outcome.usage) == ("kept", Usage(3, 2, 1))
    assert (entry.created, entry.model, entry.finish_reason, entry.usage) == (7.0, "m-1", "stop", Usage(3, 2, 1))
    assert (entry.components, entry.prompt_digest) == (MADE_OF, b"8 bytes!")


INVALID: dict[str, tuple[Reply, str, bool]] = {
    "not a label": (say('{"response":"odd"}'), "invalid", True),
    "no JSON": (say("well"), "invalid", True),
    "refused": (Reply(text=None, refusal="no", usage=Usage(3, 2, 0)), "refusal", False),
    "cut": (say('{"response":', finish_reason="length"), "truncated", False),
    "filtered": (say("", finish_reason="content_filter"), "content_filter", False),
    "empty": (say(""), "empty", False),
    "another function": (Reply(text=None, tool_calls=(ToolCall("Other", "{}"),)), "tool_call", False),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_no_answer_costs_what_it_took_and_only_what_may_heal_is_shown_again(name: str):
    reply, kind, again = INVALID[name]
    invalid: Invalid = {}
    outcome, entry = read(reply, invalid)
    assert (outcome.state, outcome.kind, outcome.usage, entry) == ("failed", kind, reply.usage, None)
    assert (key(1) in invalid) == again


def test_an_answer_that_heals_is_shown_no_more():
    invalid: Invalid = {key(1): (say("odd"), "no")}
    read(say('{"response":"pos"}'), invalid)
    assert not invalid


def test_vectors_are_no_answer():
    outcome, entry = read(Vectors(values=(b"\0\0\0\0",)))
    assert (outcome.state, outcome.kind, entry) == ("failed", "invalid", None)
