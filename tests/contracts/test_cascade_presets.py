"""Every preset takes `cascade=`: its columns are its own, with the tier before the error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider
from tests.contracts.kinds import Kind

GIVEN: dict[str, Any] = {"confidence": "logprobs", "cache": False, "progress": False}


@contextmanager
def tiers(cheap: Any, strong: Any) -> Iterator[tuple[llmframe.Cascade, Provider, Provider]]:
    with Provider(probabilities=cheap) as first, Provider(probabilities=strong) as second:
        models = {"cheap": {"model": "s", "client": first}, "strong": {"model": "l", "client": second}}
        yield llmframe.Cascade(models, threshold=0.8), first, second


def doubtful(text: str) -> float:
    return 0.6 if "doubtful" in text else 0.9


def test_classify(library: Kind):
    frame = library.make({"text": ["clear", "doubtful"]})
    with tiers(lambda text: {"a": doubtful(text)}, {"b": 0.9}) as (cascade, cheap, strong):
        out = library.to_dict(llmframe.classify(frame, "text", ["a", "b"], cascade=cascade, **GIVEN))
        assert (cheap.requests, strong.requests) == (2, 1)
    assert list(out) == ["text", "label", "confidence", "confidence_source", "tier", "error"]
    assert (out["label"], out["tier"]) == (["a", "b"], ["cheap", "strong"])


def test_score_has_an_expected_level_where_the_first_model_answered(library: Kind):
    frame = library.make({"text": ["clear", "doubtful"]})
    rubric = llmframe.Rubric("How clear?", {1: "not", 2: "well"})
    with tiers(lambda text: {"2": doubtful(text)}, {"1": 0.9}) as (cascade, cheap, strong):
        out = library.to_dict(llmframe.score(frame, "text", rubric, cascade=cascade, **GIVEN))
        assert (cheap.requests, strong.requests) == (2, 1)
    assert list(out) == ["text", "level", "score", "score_sd", "confidence", "confidence_source", "tier", "error"]
    assert out["level"] == [2, 1]
    assert out["score"] == pytest.approx([1.9, 1.0])
    assert out["score_sd"] == pytest.approx([0.3, None])


def test_filter_keeps_the_rows_that_are_true_in_the_end(library: Kind):
    frame = library.make({"text": ["clear", "doubtful", "also doubtful"]})

    def strong(text: str) -> Mapping[bool, float]:
        return {"also" in text: 0.9}

    with tiers(lambda text: {True: doubtful(text)}, strong) as (cascade, *_):
        out = library.to_dict(llmframe.filter(frame, "{text} is true", cascade=cascade, **GIVEN))
    assert out["text"] == ["clear", "also doubtful"]
    assert out["tier"] == ["cheap", "strong"]
    assert list(out) == ["text", "confidence", "confidence_source", "tier"]


def test_pairwise_asks_both_orders_of_each_tier(library: Kind):
    frame = library.make({"old": ["clear", "doubtful"], "new": ["x", "y"]})

    def cheap(text: str) -> Mapping[str, float]:
        old = "clear" if "clear" in text else "doubtful"
        return {"A" if text.index(old) < text.index("Text B") else "B": doubtful(text)}

    with tiers(cheap, {"tie": 0.9}) as (cascade, one, two):
        out = library.to_dict(llmframe.pairwise(frame, "old", "new", "Which?", cascade=cascade, **GIVEN))
        assert (one.requests, two.requests) == (4, 2)
    assert list(out)[2:] == ["winner", "consistent", "confidence", "confidence_source", "tier", "error"]
    assert (out["winner"], out["tier"]) == (["old", "tie"], ["cheap", "strong"])


class Found(BaseModel):
    kind: Literal["a", "b"]
    sure: Literal["yes", "no"]


def test_extract_takes_all_fields_of_the_model_that_answers(library: Kind):
    frame = library.make({"text": ["clear", "doubtful"]})
    with tiers(lambda text: {"a": doubtful(text), "yes": 0.9}, {"b": 0.9, "no": 0.9}) as (cascade, *_):
        with pytest.raises(UsageError, match=r"several fields could decide .* of \['kind', 'sure'\]"):
            llmframe.extract(frame, "text", Found, cascade=cascade, **GIVEN)
        by_kind = llmframe.Cascade(cascade.models, threshold=0.8, field="kind")
        out = library.to_dict(llmframe.extract(frame, "text", Found, cascade=by_kind, **GIVEN))
    assert (out["kind"], out["sure"]) == (["a", "b"], ["yes", "no"])
    assert out["kind_confidence"] == pytest.approx([0.9, None])
    assert out["tier"] == ["cheap", "strong"]


async def test_the_async_twins_take_it(library: Kind):
    frame = library.make({"text": ["clear", "doubtful"]})
    with tiers(lambda text: {"a": doubtful(text)}, {"b": 0.9}) as (cascade, cheap, strong):
        out = await llmframe.aclassify(frame, "text", ["a", "b"], cascade=cascade, **GIVEN)
        assert (cheap.requests, strong.requests) == (2, 1)
    assert library.to_dict(out)["tier"] == ["cheap", "strong"]


def test_a_list_of_models_and_gold_are_enough(library: Kind):
    texts = [f"row-{at}" for at in range(120)]
    with Provider(probabilities={"a": 0.9}) as provider:
        frame = library.make({"text": texts, "gold": ["a"] * 100 + [None] * 20})
        out = llmframe.classify(
            frame, "text", ["a", "b"], cascade=["acme/small", "acme/large"], gold="gold", client=provider, **GIVEN
        )
        assert provider.requests == 120
    assert set(library.to_dict(out)["tier"]) == {"acme/small"}
    # no error among 100: the upper bound of 90 % is 1 - 0.1 ** (1 / 100)
    assert llmframe.last_cascade().tiers[0].certificate.bound == pytest.approx(1 - 0.1 ** (1 / 100))
