"""What `cascade=` may say."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.errors import UsageError
from llmframe.judge.tiers import Cascade, cascade_of, cascade_with, tiers_of


def test_a_list_of_models_is_a_cascade_with_the_usual_target():
    found = cascade_of(["acme/small", "acme/large"])
    assert (found.target_error, found.delta, found.random, found.threshold) == (0.05, 0.1, True, None)
    assert cascade_of(found) is found


def test_tiers_are_called_by_their_models_or_by_the_dict():
    assert [tier.name for tier in tiers_of(Cascade(["acme/small-1", "large"]))] == ["acme/small-1", "large"]
    assert [tier.short for tier in tiers_of(Cascade(["acme/small-1", "large"]))] == ["small_1", "large"]
    named = tiers_of(Cascade({"cheap": "acme/small", "strong": {"model": "large", "timeout": 9}}))
    assert [(tier.name, dict(tier.options)) for tier in named] == [
        ("cheap", {"model": "acme/small"}),
        ("strong", {"model": "large", "timeout": 9}),
    ]


def test_thresholds_are_one_for_all_or_one_for_each_model_but_the_last():
    models = ["a", "b", "c"]
    assert [tier.threshold for tier in tiers_of(Cascade(models, threshold=0.9))] == [0.9, 0.9, None]
    assert [tier.threshold for tier in tiers_of(Cascade(models, threshold=[0.9, 0.8]))] == [0.9, 0.8, None]
    assert [tier.threshold for tier in tiers_of(Cascade(models))] == [None] * 3


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"target_error": 0}, "`target_error` is between 0 and 1, got 0; 0.05 is 5 %"),
        ({"target_error": 5}, "`target_error` is between 0 and 1, got 5"),
        ({"delta": 1.0}, "`delta` is between 0 and 1, got 1.0"),
        ({"random": None}, "`random` must be True or False, got None"),
        ({"tuned": 1}, "`tuned` must be True or False, got 1"),
    ],
)
def test_numbers_out_of_range_are_refused_at_once(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        Cascade(["a", "b"], **said)


@pytest.mark.parametrize(
    ("cascade", "message"),
    [
        (Cascade(["a"]), "a cascade has at least 2 tiers, got 1; one model is named by `model=`"),
        (Cascade(["a", "a"]), "tiers 'a' and 'a_2' are the same model 'a'"),
        (Cascade({"x": "a", "y": {"modle": "b"}}), "tier 'y' has an unknown option 'modle'; did you mean 'model'"),
        (Cascade(["a", "b"], threshold=[0.9, 0.8]), "`threshold` has 2 numbers for 1 models before the last"),
        (Cascade(["a", "b"], threshold=90), "`threshold` is a confidence from 0 to 1, .* 90"),
        (Cascade(["a", "b"], threshold=True), "`threshold` is a confidence from 0 to 1, .* True"),
    ],
    ids=["one", "twice", "option", "count", "percent", "bool"],
)
def test_what_is_no_cascade_is_refused(cascade: Cascade, message: str):
    with pytest.raises(UsageError, match=message):
        tiers_of(cascade)


@pytest.mark.parametrize("said", ["acme/small", 3, None])
def test_anything_else_is_told_what_a_cascade_is(said: object):
    with pytest.raises(UsageError, match="`cascade` is a list of models from the cheapest to the strongest"):
        cascade_of(said)


def test_arguments_make_a_cascade_of_a_list_and_none_of_a_cascade():
    assert cascade_with(["a", "b"], delta=0.2) == Cascade(["a", "b"], delta=0.2)
    own = Cascade(["a", "b"], delta=0.2)
    assert cascade_with(own, delta=0.1, threshold=None) is own
    with pytest.raises(UsageError, match="`threshold` is said beside a `Cascade`"):
        cascade_with(own, threshold=0.9)
