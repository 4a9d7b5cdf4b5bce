"""Packs that stand open for the texts of other calls."""

from __future__ import annotations

import asyncio
from typing import Any

from llmframe.core.plan import Planned
from llmframe.engine.embedding_packs import Pack, gathered, pack_of, tokens_of_text
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
