"""Judges have names that columns can begin with, and each is another one."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.errors import UsageError
from llmframe.judge.judges import judge_name, judges_of


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o-mini", "gpt_4o_mini"),
        ("gpt-4o", "gpt_4o"),
        ("local/models/Gemma-3.gguf", "gemma_3_gguf"),
        ("Qwen/Qwen2.5-7B-Instruct/", "qwen2_5_7b_instruct"),
        ("acme/ü", "judge"),
    ],
)
def test_a_judge_is_named_by_the_last_part_of_its_models_name(model: str, name: str):
    assert judge_name(model) == name


def test_models_whose_last_parts_are_the_same_get_numbers():
    assert judges_of(["a/m", "b/m", "c/M", "m-2"]) == {
        "m": {"model": "a/m"},
        "m_2": {"model": "b/m"},
        "m_3": {"model": "c/M"},
        "m_2_2": {"model": "m-2"},
    }


def test_names_and_sending_options_are_given_by_hand():
    found = judges_of({"small": "m", "far": {"model": "m", "base_url": "http://127.0.0.1:1/v1"}})
    assert found == {"small": {"model": "m"}, "far": {"model": "m", "base_url": "http://127.0.0.1:1/v1"}}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("gpt-4o", "`models` is a list of models, or a dict of judges' names and models, got 'gpt-4o'"),
        (["a"], "at least 2 judges, got 1; one model is named by `model=`"),
        ([], "at least 2 judges, got 0"),
        (["a", "b", "a"], "judges 'a' and 'a_2' are the same model 'a', and equal calls are made once"),
        ({"x": "a", "y": {"model": "a"}}, "judges 'x' and 'y' are the same model 'a'"),
        (["a", 7], "judge 'judge' is a model's name or a dict of sending options, got 7"),
        ({"": "a", "b": "b"}, "a judge's name is text that columns begin with, got ''"),
        ({"x": "a", "y": {"modle": "b"}}, "judge 'y' has an unknown option 'modle'; did you mean 'model'"),
        ({"x": "a", "y": {"model": "b", "budget": 1}}, "`budget` is said once for all judges, not for 'y'"),
    ],
)
def test_what_is_no_panel_is_refused(models: Any, message: str):
    with pytest.raises(UsageError) as caught:
        judges_of(models)
    assert message in str(caught.value)


def test_one_model_with_other_params_is_another_judge():
    assert len(judges_of({"cold": {"model": "a"}, "warm": {"model": "a", "params": {"temperature": 1}}})) == 2
