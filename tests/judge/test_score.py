"""A score that can't be had is refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider

FRAME = pd.DataFrame({"t": ["u"], "gold": ["v"], "level": [1]})
CLEAR = llmframe.Rubric("Clear?", [1, 2])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"column": "tt"}, "column 'tt' is absent"),
        ({"rubric": "Clear?"}, "`rubric` is a llmframe.Rubric, got 'str'"),
        (
            {"rubric": llmframe.Rubric("Right?", [0, 1], reference="golt")},
            "column 'golt' is absent; did you mean 'gold'",
        ),
        ({}, "already has a column 'level'"),
        ({"prefix": "p_", "schema": int}, "`schema` is decided by the preset; leave it out, or ask by `llmframe.map`"),
        ({"prefix": "p_", "examples": [("t", 1)]}, "`examples` is decided by the preset"),
        ({"prefix": "p_", "distribution": True}, "`distribution=True` tells the labels' probabilities"),
        ({"prefix": "p_", "vote": "majority"}, "`vote` is for a panel"),
        ({"prefix": 1}, "`prefix` must be text, got 1"),
        ({"prefix": "p_", "modle": "m"}, "modle.*did you mean 'model'"),
    ],
)
def test_a_score_that_cannot_be_had_is_told(said: dict[str, Any], message: str):
    given = {"column": "t", "rubric": CLEAR, **said}
    with Provider() as provider:
        with pytest.raises(UsageError, match=f"(?s){message}"):
            llmframe.score(FRAME, given.pop("column"), given.pop("rubric"), client=provider, **given)
        assert provider.requests == 0
