"""Which rows and columns a filter leaves."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from llmframe.judge.narrowing import ANSWER, HIDDEN, kept_columns, narrowing
from llmframe.judge.task import Task

FRAME = pd.DataFrame({"t": ["w", "x", "y", "z"]})
ASKED = FRAME.assign(**{ANSWER: [True, False, None, None], "error": [None, None, "timeout: x", None]})


@pytest.mark.parametrize(
    ("options", "said", "kept"),
    [
        ({}, {}, ()),
        ({}, {"keep_errors": True}, ("error",)),
        ({"meta": True}, {}, ("llm_meta",)),
        ({"confidence": "votes"}, {"cascade": True}, ("confidence", "confidence_source", "tier")),
        ({}, {"panel": True, "keep_errors": True}, ("confidence", "confidence_source", "error")),
    ],
    ids=["nothing", "errors", "meta", "cascade", "panel"],
)
def test_new_columns_stay_as_far_as_they_were_asked_for(
    options: dict[str, Any], said: dict[str, bool], kept: tuple[str, ...]
):
    names, asked = kept_columns(options, **{"keep_errors": False, "panel": False, "cascade": False, **said})
    assert tuple(name for name in names if name not in ("confidence_raw", "distribution", "label_mass")) == kept
    assert asked.get("prefix", "") == ("" if names else HIDDEN)


def test_rows_stay_where_the_answer_is_true():
    task = narrowing(Task(asks=(), verdict=ANSWER), FRAME, (), keep_errors=False)
    assert task.finish(ASKED, "").to_dict("list") == {"t": ["w"]}


def test_failed_rows_stay_when_they_are_kept():
    task = narrowing(Task(asks=(), verdict=ANSWER), FRAME, ("error",), keep_errors=True)
    assert task.finish(ASKED, "")["t"].tolist() == ["w", "y"]
