"""What an answer to a pack is to its rows: vectors, tokens, dollars."""

from __future__ import annotations

import pytest

from llmframe.core.outcome import Usage
from llmframe.stores.base import MemoryStore
from tests.engine.embedding_doubles import Server, embed, embedded


def test_tokens_and_dollars_of_a_request_are_shared_out_by_characters():
    part = embed(["a", "bbb", "cccc"], Server(), prices={"m": {"input": 1e6, "output": 0.0}})  # a dollar a token
    told = [(outcome.usage, outcome.usd, outcome.attempts) for outcome in part.outcomes if outcome]
    assert told == [(Usage(1, 0, 0), 1.0, 1), (Usage(3, 0, 0), 3.0, 1), (Usage(4, 0, 0), 4.0, 1)]
    assert part.run.metrics.usd == pytest.approx(8.0)


def test_a_server_that_counts_no_tokens_leaves_them_unknown():
    def behave(texts: list[str], before: int):
        reply = embedded(texts)
        return type(reply)(text=None, vectors=reply.vectors)

    part = embed(["a", "b"], Server(behave=behave))
    assert [outcome.usage for outcome in part.outcomes if outcome] == [Usage(), Usage()]
    assert part.run.metrics.unknown_usage == 1


def test_the_text_of_a_kept_vector_is_not_held_beside_the_vector():
    store = MemoryStore()
    part = embed(["a"], Server(), store=store)
    (outcome,) = part.outcomes
    assert outcome is not None
    assert outcome.result.text == ""  # type: ignore[union-attr]
    assert len(store) == 1
