"""The function form: any prompt and any schema."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pandas as pd
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.cascade import cascade
from llmframe.testing import Provider

Label = Literal["a", "b"]
GIVEN: dict[str, Any] = {"confidence": "logprobs", "cache": False, "progress": False, "threshold": 0.8}
FRAME = pd.DataFrame({"t": ["x", "y"]})


class Two(BaseModel):
    label: Label
    name: str


def test_a_single_value_is_called_response_or_what_into_says():
    with Provider(probabilities={"a": 0.9}) as provider:
        plain = cascade(FRAME, "{t}?", Label, ["m", "n"], client=provider, **GIVEN)
        named = cascade(FRAME, "{t}?", Label, ["m", "n"], client=provider, into="kind", prefix="p_", **GIVEN)
    assert list(plain.columns) == ["t", "response", "confidence", "confidence_source", "tier", "error"]
    assert list(named.columns) == ["t", "p_kind", "p_confidence", "p_confidence_source", "p_tier", "p_error"]


def test_a_model_with_one_label_is_decided_by_it():
    with Provider(probabilities={"a": 0.9}) as provider:
        out = FRAME.llm.cascade("{t}?", Two, ["m", "n"], client=provider, **GIVEN)
    assert set(out["tier"]) == {"m"}
    assert list(out.columns)[1:3] == ["label", "name"]


def test_system_and_examples_go_to_every_tier():
    with Provider(probabilities={"a": 0.7}) as provider:
        cascade(
            FRAME, "{t}?", Label, ["m", "n"], client=provider, system="Be brief.", examples=[({"t": "q"}, "b")], **GIVEN
        )
        assert [len(body["messages"]) for body in provider.bodies] == [4] * 4


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"confidence": None}, "so it takes a confidence"),
        ({"model": "x"}, "`model` and `cascade` are both said"),
        ({"treshold": 1}, "`cascade` has no argument 'treshold'; did you mean 'threshold'"),
        ({"into": "x", "schema": Two}, "`into` would make one struct of several fields"),
    ],
    ids=["confidence", "model", "typo", "struct"],
)
def test_what_can_t_work_is_refused_before_anything_is_sent(said: dict[str, Any], message: str):
    schema = said.pop("schema", Label)
    with Provider() as provider:
        with pytest.raises(UsageError, match=message):
            cascade(FRAME, "{t}?", schema, ["m", "n"], client=provider, **{**GIVEN, **said})
        assert provider.requests == 0


def test_a_cascade_says_its_target_in_its_class_too():
    with Provider(probabilities={"a": 0.9}) as provider:
        said = llmframe.Cascade(["m", "n"], threshold=0.8)
        out = FRAME.llm.classify("t", ["a", "b"], cascade=said, client=provider, confidence="logprobs", cache=False)
    assert set(out["tier"]) == {"m"}


def test_map_its_twin_and_its_plan_take_a_cascade_too():
    said = {"cascade": ["m", "n"], **GIVEN}
    with Provider(probabilities={"a": 0.9}) as provider:
        plan = FRAME.llm.plan("{t}?", Label, client=provider, **said)
        assert (plan.least, plan.requests) == (2, 4)
        mapped = FRAME.llm.map("{t}?", Label, client=provider, into="kind", **said)
        twin = asyncio.run(FRAME.llm.amap("{t}?", Label, client=provider, into="kind", **said))
        with pytest.raises(UsageError, match="`cascade` has no argument 'gld'; did you mean 'gold'"):
            FRAME.llm.map("{t}?", Label, client=provider, gld="x", **said)
    assert mapped.equals(twin)
    assert list(mapped.columns) == ["t", "kind", "confidence", "confidence_source", "tier", "error"]
