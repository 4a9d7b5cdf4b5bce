"""Packs that stand open for the texts of other calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.core.plan import Planned
from llmframe.engine.embedding_packs import Pack, gathered, pack_of, splittable, tokens_of_text, too_large
from llmframe.engine.packing import Bounds
from llmframe.engine.sending import Job
from llmframe.engine.sharing import Shared
from llmframe.testing import run_in_fake_time


def text(content: str) -> Job:
    messages: list[dict[str, object]] = [{"role": "user", "content": content}]
    return Job(Planned(0, content.encode(), messages), messages, len(content))


def test_a_pack_sends_its_texts_and_then_its_guests():
    pack = pack_of([text("a"), text("bb")], sent=2)
    results: Any = object()
    pack.guests = [(results, [text("ccc")])]
    pack.load()
    assert [message["content"] for message in pack.messages] == ["a", "bb", "ccc"]
    assert (pack.characters, pack.sent) == (6, 2)
    assert tokens_of_text(text("abcdef")) == 3


def test_only_calls_with_the_same_question_meet_and_the_first_one_sends():
    async def main() -> list[Pack]:
        shared = Shared(asyncio.get_running_loop().time)
        packs = [pack_of([text(content)]) for content in "abcd"]
        results: list[Any] = [object() for _ in packs]
        for pack, owner, question in zip(packs, results, ["q", "q", "other", "q"], strict=True):
            gathered(pack, owner, question, shared=shared, bounds=Bounds(inputs=2), wait=1.0)
        return packs

    first, second, other, late = run_in_fake_time(main())
    assert first.gathering is second.gathering
    assert other.gathering is not first.gathering
    assert late.gathering is not first.gathering  # which was full
    assert [pack.host for pack in (first, second, other, late)] == [True, False, True, True]


@pytest.mark.parametrize(
    ("kind", "status", "code", "may"),
    [
        ("bad_request", 400, None, True),
        ("context_length", 400, "context_length_exceeded", True),
        ("content_filter", 400, None, True),
        ("server", 500, None, False),
        ("rate_limit", 429, None, False),
        ("auth", 401, None, False),
        ("internal", None, None, False),
        ("batch_expired", None, None, False),
    ],
)
def test_a_refusal_of_what_a_request_holds_may_be_about_some_of_its_texts(
    kind: Any, status: Any, code: Any, *, may: bool
):
    assert splittable(RequestError(kind, "no", status=status, code=code)) is may


def test_some_refusals_are_surely_about_how_much_it_is():
    assert too_large(RequestError("bad_request", "no", status=413))
    assert too_large(RequestError("bad_request", "no", status=400, code="max_tokens_per_request"))
    assert not too_large(RequestError("bad_request", "no", status=400, code="invalid"))
