"""The two questions about a pair."""

from __future__ import annotations

from typing import Any

from llmframe.core.schema import schema_of
from llmframe.core.template import Template
from llmframe.judge.pair_asks import ORDERS, pair_asks


def test_the_orders_differ_in_their_texts_places_alone():
    first, second = pair_asks(("x", "y"), "Which is {short}er?", ties=True, distribution=False)
    assert first.template == Template("Text A:\n{x}\n\nText B:\n{y}", syntax="braces", fenced=True)
    assert second.template == Template("Text A:\n{y}\n\nText B:\n{x}", syntax="braces", fenced=True)
    assert (first.prefix, second.prefix) == ORDERS
    assert first.options == second.options
    assert first.schema == second.schema


def test_a_tie_is_offered_where_it_may_be_said():
    def told(*, ties: bool) -> tuple[bool, tuple[object, ...]]:
        ask: Any = pair_asks(("x", "y"), "Which is {short}er?", ties=ties, distribution=True)[0]
        assert ask.options["system"].literal
        assert ask.options["distribution"] is True
        return "`tie`" in ask.options["system"].text, schema_of(ask.schema).fields[0].allowed

    assert told(ties=True) == (True, ("A", "B", "tie"))
    assert told(ties=False) == (False, ("A", "B"))
