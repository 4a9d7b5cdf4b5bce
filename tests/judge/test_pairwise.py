"""A comparison that can't work is refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider

FRAME = pd.DataFrame({"a": ["u"], "b": ["v"], "tie": ["w"], "winner": ["x"]})


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"b": "bb"}, "column 'bb' is absent"),
        ({"b": "a"}, "`a` and `b` are the same column 'a'; name two"),
        ({"b": "tie"}, "a column named 'tie' can't be told from a tie; rename it"),
        ({"criterion": " "}, "`criterion` says in words what is compared, got ' '"),
        ({"calibration": "c.json"}, "`calibration` is for a confidence of one request"),
        ({}, "already has a column 'winner'; keep both by `prefix=\"llm_\"`, or replace"),
        ({"prefix": "p_", "into": "p"}, "`into` is decided by the preset"),
        ({"prefix": "p_", "system": "S"}, "`system` is decided by the preset"),
        ({"prefix": "p_", "gold": "a"}, "`gold` is for a panel"),
        ({"overwrite": True, "where": [True]}, "`overwrite=True` would leave nothing of 'winner'"),
    ],
)
def test_a_comparison_that_cannot_work_is_told(said: dict[str, Any], message: str):
    given = {"a": "a", "b": "b", "criterion": "Which is shorter?", **said}
    with Provider() as provider:
        with pytest.raises(UsageError, match=message):
            llmframe.pairwise(FRAME, given.pop("a"), given.pop("b"), given.pop("criterion"), client=provider, **given)
        assert provider.requests == 0
