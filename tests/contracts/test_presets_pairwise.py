"""`pairwise`: which of two columns is better, asked in both orders, on every kind of frame alike."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import llmframe
from llmframe.errors import LlmframeWarning
from llmframe.testing import Provider, Status, Text
from tests.contracts.kinds import Kind

CRITERION = "Which is shorter?"
SHORT, LONG = "row-1", "row-1 and more"


def texts(prompt: str) -> list[str]:
    """Text A and text B of a prompt."""
    return re.findall(r"^`{3,}\n(.*?)\n`{3,}$", prompt, re.DOTALL | re.MULTILINE)


def shorter(prompt: str, request: object) -> object:
    """Says which text is shorter; takes the first where one begins with `odd`."""
    del request
    first, second = texts(prompt)
    if "odd" in prompt:
        return {"response": "A"}
    return {"response": "tie" if len(first) == len(second) else "A" if len(first) < len(second) else "B"}


@pytest.fixture
def judge(provider: Provider) -> Any:
    with Provider(answer=shorter) as judge:
        yield judge


ROWS = {"a": [SHORT, LONG, "same", "odd", None, SHORT], "b": [LONG, SHORT, "also", "odd 2", "x", LONG]}


def test_a_side_wins_where_both_orders_say_so(any_kind: Kind, judge: Provider):
    frame = any_kind.make(ROWS)
    plan = llmframe.pairwise(frame, "a", "b", CRITERION, client=judge, plan=True)
    with pytest.warns(LlmframeWarning, match="1 null"):
        made = llmframe.pairwise(frame, "a", "b", CRITERION, client=judge)
    assert type(made) is type(frame)
    columns = any_kind.to_dict(made)
    assert list(columns) == ["a", "b", "winner", "consistent", "error"]
    assert columns["winner"] == ["a", "b", "tie", "tie", None, "a"]
    assert columns["consistent"] == [True, True, True, False, None, True]
    assert columns["error"] == [*[None] * 4, "null: missing value in 'a'", None]
    # rows 0, 1 and 5 are one pair, asked in both orders; so are rows 2 and 3
    assert judge.requests == plan.requests == 6


def test_a_lazy_query_gives_the_same(judge: Provider):
    query = pl.LazyFrame(ROWS).llm.pairwise("a", "b", CRITERION, client=judge)
    assert query.collect_schema()["winner"] == pl.Enum(["a", "b", "tie"])
    assert judge.requests == 0
    assert query.head(2).collect()["winner"].to_list() == ["a", "b"]
    assert judge.requests == 2
    with pytest.warns(LlmframeWarning):
        assert query.collect().equals(llmframe.pairwise(pl.DataFrame(ROWS), "a", "b", CRITERION, client=judge))


@pytest.mark.parametrize("cache", [True, False, "refresh"])
def test_equal_texts_are_paid_once(library: Kind, judge: Provider, cache: Any):
    frame = library.make({"a": ["same", "same"], "b": ["same", "same"]})
    made = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, client=judge, cache=cache))
    assert made["winner"] == ["tie", "tie"]
    assert judge.requests == 1


def test_the_orders_prompts_are_alike_but_for_the_places(library: Kind, judge: Provider):
    llmframe.pairwise(library.make({"a": ["u ```"], "b": ["v"]}), "a", "b", CRITERION, client=judge)
    first, second = (body["messages"] for body in judge.bodies)
    assert first[0] == second[0]
    assert first[1]["content"] == "Text A:\n````\nu ```\n````\n\nText B:\n````\nv\n````"
    assert second[1]["content"] == "Text A:\n````\nv\n````\n\nText B:\n````\nu ```\n````"


def test_without_ties_a_disagreement_is_one_still(library: Kind, judge: Provider):
    frame = library.make({"a": ["odd", SHORT], "b": ["odd 2", LONG]})
    made = llmframe.pairwise(frame, "a", "b", CRITERION, ties=False, keep_orders=True, client=judge)
    told = library.to_dict(made)
    assert list(told)[2:] == ["winner", "consistent", "first_winner", "second_winner", "error"]
    assert (told["winner"], told["consistent"]) == (["tie", "a"], [False, True])
    assert (told["first_winner"], told["second_winner"]) == (["a", "a"], ["b", "a"])
    assert judge.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["response"]["enum"] == ["A", "B"]


def test_a_failure_in_one_order_leaves_no_winner(library: Kind, judge: Provider):
    judge.when(lambda prompt: texts(prompt)[0] == LONG, Status(400))
    frame = library.make({"a": [SHORT, "x"], "b": [LONG, "row-2"]})
    with pytest.warns(LlmframeWarning, match="1 of 2 rows failed"):
        told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, client=judge))
    assert (told["winner"], told["consistent"]) == ([None, "a"], [None, True])
    assert told["error"][0].startswith("bad_request: in the order (b, a): ")


def favour(prompt: str) -> Mapping[str, float]:
    """The first place is liked; the shorter text a little more."""
    first, second = texts(prompt)
    if len(first) < len(second):
        return {"A": 0.75, "B": 0.125, "tie": 0.125}
    return {"A": 0.375, "B": 0.5, "tie": 0.125}


def test_a_confidence_is_the_mean_of_both_orders(any_kind: Kind):
    # a is A with 0.75, then B with 0.5: 0.625; b is B with 0.125, then A with 0.375: 0.25; the tie 0.125
    with Provider(probabilities=favour) as judge:
        frame = any_kind.make({"a": [SHORT, LONG], "b": [LONG, SHORT]})
        options: dict[str, Any] = {"confidence": "logprobs", "distribution": True, "client": judge}
        told = any_kind.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, **options))
        assert list(told)[2:] == [
            *("winner", "consistent", "confidence", "confidence_source", "distribution", "error"),
        ]
        assert (told["winner"], told["consistent"]) == (["a", "b"], [True, True])
        assert told["confidence"] == pytest.approx([0.625, 0.625], abs=1e-4)
        assert told["confidence_source"] == ["logprobs", "logprobs"]
        assert told["distribution"][0] == pytest.approx({"a": 0.625, "b": 0.25, "tie": 0.125}, abs=1e-4)
        assert judge.requests == 2


def test_a_disagreement_has_the_ties_probability(library: Kind):
    # A whatever the order: a has 0.7 and 0.2, b the same, the tie 0.1
    with Provider(probabilities={"A": 0.7, "B": 0.2, "tie": 0.1}) as judge:
        frame = library.make({"a": ["u"], "b": ["v"]})
        told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, confidence="logprobs", client=judge))
        assert (told["winner"], told["consistent"]) == (["tie"], [False])
        assert told["confidence"] == pytest.approx([0.1], abs=1e-4)


def test_stated_confidences_are_averaged(library: Kind, provider: Provider):
    provider.always(Text(json.dumps({"response": "tie", "confidence": 0.75})))
    frame = library.make({"a": ["u"], "b": ["v"]})
    told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, confidence="stated", client=provider))
    assert (told["winner"], told["confidence"], told["confidence_source"]) == (["tie"], [0.75], ["stated"])


def test_votes_are_taken_in_each_order(library: Kind):
    with Provider(probabilities=favour) as judge:
        frame = library.make({"a": [SHORT], "b": [LONG]})
        options: dict[str, Any] = {"confidence": "votes", "client": judge}
        plan = llmframe.pairwise(frame, "a", "b", CRITERION, plan=True, **options)
        told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, **options))
        # a model that doesn't vary: three equal votes of five settle each order
        assert (plan.least, plan.requests, judge.requests) == (6, 10, 6)
        assert (told["winner"], told["confidence"], told["confidence_source"]) == (["a"], [1.0], ["votes"])


def test_judges_have_columns_of_their_own(library: Kind, judge: Provider):
    frame = library.make({"a": [SHORT, "odd"], "b": [LONG, "odd 2"]})
    options: dict[str, Any] = {"models": {"x": "m-1", "y": "m-2"}, "client": judge}
    plan = llmframe.pairwise(frame, "a", "b", CRITERION, plan=True, **options)
    told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, **options))
    assert judge.requests == plan.requests == 8
    assert [name for name in told if "pairwise" in name] == []
    assert told["x_winner"] == told["y_winner"] == told["winner"] == ["a", "tie"]
    assert told["x_consistent"] == [True, False]


def test_what_it_took_is_told_for_either_order(library: Kind, judge: Provider):
    frame = library.make({"a": [SHORT], "b": [LONG]})
    told = library.to_dict(llmframe.pairwise(frame, "a", "b", CRITERION, meta=True, client=judge))
    assert list(told)[-3:] == ["error", "first_llm_meta", "second_llm_meta"]
    assert [told[name][0]["attempts"] for name in list(told)[-2:]] == [1, 1]


async def test_it_is_there_for_async_code(library: Kind, judge: Provider):
    frame = library.make({"a": [SHORT], "b": [LONG]})
    made = await llmframe.apairwise(frame, "a", "b", CRITERION, client=judge)
    assert library.to_dict(made)["winner"] == ["a"]
    assert library.to_dict(await frame.llm.apairwise("a", "b", CRITERION, client=judge)) == library.to_dict(made)
