"""A panel that can't work is refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

from llmframe.errors import UsageError
from llmframe.judge.panel import panelled
from llmframe.judge.task import Ask, Task

FRAME = pd.DataFrame({"t": ["x"] * 12, "known": ["a", "b"] * 5 + [None] * 2, "few": ["a"] * 9 + [None] * 3})


def task(schema: Any = ("a", "b"), verdict: str = "label") -> Task:
    given = list(schema) if isinstance(schema, tuple) else schema
    return Task(asks=(Ask(template="{t}", schema=given, options={"into": verdict, "system": "S"}),), verdict=verdict)


def panel(asked: Task | None = None, models: Any = ("m/one", "two", "three"), **said: Any) -> Task:
    options = said.pop("options", {})
    return panelled(asked or task(), models, frame=said.pop("frame", FRAME), options=options, **said)


def test_without_models_the_task_is_the_same():
    asked = task()
    assert panel(asked, None) is asked


def test_each_judge_is_asked_everything_under_its_name():
    two = Task(
        asks=(Ask(template="{t}", schema=bool), Ask(template="{t}!", schema=bool, prefix="b_")), verdict="response"
    )
    asks = panel(two, {"x": "m", "y": {"model": "n", "timeout": 3}}).asks
    assert [(ask.template, ask.prefix, dict(ask.options)) for ask in asks] == [
        ("{t}", "x_", {"model": "m"}),
        ("{t}!", "x_b_", {"model": "m"}),
        ("{t}", "y_", {"model": "n", "timeout": 3}),
        ("{t}!", "y_b_", {"model": "n", "timeout": 3}),
    ]


def test_a_judges_params_are_added_to_the_calls():
    models = {"x": "m", "y": {"model": "m", "params": {"seed": 2}}}
    first, second = panel(models=models, options={"params": {"temperature": 1, "seed": 1}}).asks
    assert "params" not in first.options
    assert second.options["params"] == {"temperature": 1, "seed": 2}


def test_names_of_new_columns_are_told_for_the_check_of_clashes():
    assert set(panel(models=["x", "y"]).columns) == {
        *("x_label", "x_error", "y_label", "y_error"),
        *("label", "confidence", "confidence_source", "votes", "error"),
    }


def test_a_field_keeps_its_name_where_ours_is_the_same():
    class Odd(BaseModel):
        votes: int
        error: str

    columns = panel(Task(asks=(Ask(template="{t}", schema=Odd),), verdict="")).columns
    assert {"votes", "error", "llm_votes", "llm_error", "one_error", "one_llm_error", "votes_confidence"} < set(columns)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"models": None, "vote": "majority"}, "`vote` is for a panel of judges; name them: `models=[...]`"),
        ({"models": None, "gold": "known"}, "`gold` is for a panel of judges"),
        ({"options": {"model": "x"}}, "`model` and `models` are both said; leave one out"),
        ({"options": {"into": "x"}}, "`into` has no place for several judges' columns"),
        ({"vote": "dawid-skene"}, "`vote` must be one of 'majority', 'weighted', 'dawid_skene', got 'dawid-skene'"),
        ({"vote": "weighted"}, '`vote="weighted"` needs `gold=`, the name of a column with known labels'),
        ({"gold": "known"}, "`gold` is for `vote=\"weighted\"`, got `vote='majority'`"),
        (
            {"vote": "weighted", "gold": "konwn"},
            "`gold` is the name of a column with known labels, got 'konwn'; did you",
        ),
        ({"vote": "weighted", "gold": "few"}, "at least 10 known labels, got 9"),
        ({"vote": "dawid_skene", "models": ["x", "y"]}, "`vote='dawid_skene'` needs at least 3 models, got 2"),
        ({"vote": "dawid_skene", "frame": FRAME["t"]}, "a frame with named columns, got a Series"),
        ({"vote": "dawid_skene", "asked": task(str)}, "needs a verdict of few known labels"),
        ({"vote": "dawid_skene", "asked": task(list[str])}, "decides on one label a row"),
    ],
)
def test_what_no_vote_can_be_taken_of_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError) as caught:
        panel(**said)
    assert message in str(caught.value)


def test_known_labels_that_are_none_are_counted_and_not_shown():
    with pytest.raises(UsageError, match="5 of 10 known labels in 'known' are none of 'a', 'c'") as caught:
        panel(task(("a", "c")), vote="weighted", gold="known")
    assert "'b'" not in str(caught.value)
