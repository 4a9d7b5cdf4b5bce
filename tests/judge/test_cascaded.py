"""A cascade that can't work is refused before anything is asked; one that can is a few asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

from llmframe.errors import UsageError
from llmframe.judge.cascaded import judged_by
from llmframe.judge.task import Ask, Task
from llmframe.judge.tiers import Cascade

FRAME = pd.DataFrame({"t": ["x"] * 100, "gold": ["a", "b"] * 50, "flag": [True, False] * 50})
OPTIONS = {"confidence": "logprobs"}
HAND = Cascade(["m/cheap", "strong"], threshold=0.9)


class Two(BaseModel):
    kind: Literal["a", "b"]
    name: str


class Both(BaseModel):
    kind: Literal["a", "b"]
    sure: bool


def build(schema: Any = Literal["a", "b"], verdict: str = "label") -> Any:
    into = {"into": verdict} if verdict else {}

    def task(_options: Mapping[str, object]) -> Task:
        return Task(asks=(Ask(template="{t}", schema=schema, options={**into, "system": "S"}),), verdict=verdict)

    return task


def cascade(said: Any = HAND, **more: Any) -> Task:
    built = more.pop("build", build())
    given = {"frame": FRAME, "options": OPTIONS, "cascade": said, **more}
    return judged_by(built, **given)


def test_without_a_cascade_one_model_or_a_panel_is_asked():
    assert len(judged_by(build(), frame=FRAME, options={}).asks) == 1
    assert len(judged_by(build(), frame=FRAME, options={}, models=["a", "b", "c"]).asks) == 3


def test_each_tier_is_asked_the_rows_that_the_one_before_it_left():
    asks = cascade().asks
    assert [(ask.prefix, ask.rows) for ask in asks] == [
        ("llm_cascade0_", ""),
        ("llm_cascade1_", "llm_cascade0_goes_on"),
    ]
    assert [ask.options["model"] for ask in asks] == ["m/cheap", "strong"]
    assert [ask.options.get("confidence", "as said") for ask in asks] == ["as said", None]
    assert [ask.after is None for ask in asks] == [False, True]


def test_only_the_last_tiers_failure_raises():
    asks = cascade(options={**OPTIONS, "on_error": "raise"}).asks
    assert [ask.options.get("on_error", "as said") for ask in asks] == ["column", "as said"]


def test_names_and_types_of_the_columns_are_told():
    found = cascade()
    assert found.columns == ("label", "confidence", "confidence_source", "tier", "error")
    assert dict(found.types)["tier"].labels == ("m/cheap", "strong")
    plain = cascade(options={**OPTIONS, "labels": "string"})
    assert dict(plain.types)["tier"].kind == "string"


def test_the_field_that_decides_is_said_or_the_only_one():
    assert cascade(build=build(Both, ""), said=Cascade(["a", "b"], threshold=0.9, field="sure")).verdict == "sure"
    assert cascade(build=build(Two, "")).verdict == "kind"
    with pytest.raises(UsageError, match=r"several fields could decide .* of \['kind', 'sure'\]"):
        cascade(build=build(Both, ""))
    with pytest.raises(UsageError, match=r"`field='x'` is no field of the answer; fields: \['kind', 'sure'\]"):
        cascade(build=build(Both, ""), said=Cascade(["a", "b"], threshold=0.9, field="x"))


def test_gold_is_checked_against_the_labels():
    auto = Cascade(["a", "b"])
    assert len(cascade(auto, gold="gold").asks) == 2
    assert len(cascade(auto, gold="flag", build=build(bool)).asks) == 2
    with pytest.raises(UsageError, match="100 of 100 known answers in 'flag' are none of 'a', 'b'"):
        cascade(auto, gold="flag")
    with pytest.raises(UsageError, match="are none of False, True"):
        cascade(auto, gold="gold", build=build(bool))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"models": ["a", "b"]}, "`models` is for a panel of judges, `cascade` for one model after the other"),
        ({"vote": "majority"}, "`vote` is for a panel of judges"),
        ({"options": {**OPTIONS, "model": "x"}}, "`model` and `cascade` are both said; leave one out"),
        ({"options": {**OPTIONS, "into": "x"}}, "`into` has no place for a cascade's columns"),
        ({"options": {}}, 'so it takes a confidence: `confidence="logprobs"`, or "votes"'),
        ({"said": Cascade(["a", "b"])}, "null where unknown, or say a threshold by hand"),
        ({"said": ["a"]}, "a cascade has at least 2 tiers, got 1"),
        (
            {"said": ["a", "b"], "gold": "gold", "frame": pl.LazyFrame({"t": ["x"], "gold": ["a"]})},
            r"`\.collect\(\)` first, or say one by hand",
        ),
    ],
    ids=["models", "vote", "model", "into", "confidence", "gold", "one", "lazy"],
)
def test_what_can_t_work_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        cascade(**said)
