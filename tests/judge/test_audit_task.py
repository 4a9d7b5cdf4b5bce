"""An audit made ready: what it refuses before anything is sent, and what it would ask."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider

FRAME = pd.DataFrame({"a": ["u", "v", "w"], "b": ["k", "l", "m"]})
RUBRIC = llmframe.Rubric("Is it clear?", range(1, 6))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"where": pd.Series([True] * 3)}, "`where` has no place in an audit"),
        ({"confidence": "logprobs"}, "`confidence` has no place in an audit"),
        ({"prefix": "p_"}, "`prefix` has no place"),
        ({"least": 0}, "`least` is the smallest effect that matters, between 0 and 1, got 0"),
        ({"least": 1.0}, "got 1.0"),
        ({"probes": ["length"]}, "the probe 'length' needs what is right"),
        ({"row": 20}, "did you mean 'rows'"),
        ({"temperature": 0}, "params"),
        ({"model": 3}, "model"),
    ],
    ids=["where", "confidence", "prefix", "least-0", "least-1", "probe", "misspelt", "provider-word", "model"],
)
def test_what_cannot_work_is_told_before_anything_is_sent(said: dict[str, Any], message: str):
    with Provider() as provider:
        with pytest.raises(UsageError, match=message):
            llmframe.audit(FRAME, "a", RUBRIC, client=provider, **said)
        assert provider.requests == 0


def test_rows_that_are_not_there_yet_are_refused_with_a_remedy():
    lazy: Any = pl.from_pandas(FRAME).lazy()
    with pytest.raises(UsageError, match="collect"):
        lazy.llm.audit("a", RUBRIC)
    with pytest.raises(UsageError, match="got a Series"):
        llmframe.audit(pd.Series(["a"]), "a", RUBRIC)


@pytest.mark.parametrize(
    ("column", "judge", "requests"),
    [
        # itself, again, three wordings, padded, injected
        ("a", RUBRIC, 7),
        # itself, again, three wordings, turned, injected
        ("a", ["x", "y"], 7),
        # both orders, again, three wordings, four padded, four injected
        (("a", "b"), "Which is better?", 14),
    ],
    ids=["score", "classify", "pairwise"],
)
def test_the_plan_counts_what_is_then_asked(column: Any, judge: Any, requests: int):
    with Provider() as provider:
        plan = llmframe.audit(FRAME, column, judge, client=provider, plan=True)
        assert (plan.requests, provider.requests) == (3 * requests, 0)
        llmframe.audit(FRAME, column, judge, client=provider)
        assert provider.requests == 3 * requests
        llmframe.audit(FRAME, column, judge, client=provider)
        assert provider.requests == 3 * requests


def test_at_temperature_zero_nothing_is_asked_twice_and_it_is_said():
    with Provider() as provider:
        found = llmframe.audit(FRAME, "a", RUBRIC, client=provider, params={"temperature": 0})
        assert provider.requests == 3 * 6
    assert found["stability"].verdict == "unknown"
    assert found["template"].verdict == "observational"
    assert "nothing is decided" in found["template"].note


def test_a_probe_alone_asks_what_it_needs():
    with Provider() as provider:
        llmframe.audit(FRAME, ("a", "b"), "Which is better?", probes=["position"], client=provider)
        assert provider.requests == 3 * 2


def test_all_questions_share_one_budget():
    with Provider() as provider:
        budget = llmframe.Budget(calls=10)
        with pytest.warns(llmframe.LlmframeWarning):
            found = llmframe.audit(FRAME, "a", RUBRIC, client=provider, budget=budget)
        assert provider.requests == budget.spent_calls == 10
        assert found["injection"].effect.n == 0
        assert found["injection"].verdict == "unknown"
