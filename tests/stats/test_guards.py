"""Known answers that can't carry a conclusion are refused with what to do, few ones are told."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.errors import UsageError
from llmframe.stats.guards import check_classes, check_discrimination, check_gold, few_clusters, few_gold


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ({"random": None, "n": 200}, "say `random=True` if they are, or pass the probabilities"),
        ({"random": False, "n": 200}, r"`random=False`.*label the rows of `llmframe.pick_for_review"),
        ({"random": True, "n": 200, "tuned": True}, "split the known rows in two before tuning"),
        ({"random": None, "n": 200, "tuned": True, "weighted": True}, "split the known rows in two"),
        ({"random": True, "n": 1}, "at least 2 known answers, there are 1; label more"),
        ({"random": True, "n": 0, "least": 30}, "at least 30 known answers, there are 0; label more"),
        ({"random": None, "n": 3, "least": 30, "by_class": True}, "at least 30 known answers, there are 3"),
    ],
    ids=["not said", "not random", "tuned on", "tuned on and weighted", "one", "none", "few by class"],
)
def test_gold_that_proves_nothing_is_refused_with_what_to_do(said: dict[str, Any], remedy: str):
    with pytest.raises(UsageError, match=f"(?s)a corrected estimate.*{remedy}"):
        check_gold(**said, what="a corrected estimate")


@pytest.mark.parametrize(
    "said",
    [
        {"random": True, "n": 2},
        {"random": None, "n": 2, "weighted": True},
        {"random": False, "n": 2, "weighted": True},
        {"random": False, "n": 2, "by_class": True},
    ],
    ids=["random", "weighted", "not random but weighted", "by class"],
)
def test_gold_that_was_sampled_passes(said: dict[str, Any]):
    check_gold(**said)


@pytest.mark.parametrize("random", [None, False])
def test_without_probabilities_the_remedy_is_a_random_sample_alone(random: Any):
    with pytest.raises(UsageError, match=r"random sample of all rows.*draw rows by chance") as refused:
        check_gold(random, n=200, probability=False)
    assert "probability=" not in str(refused.value)


def test_gold_of_one_class_is_refused():
    with pytest.raises(UsageError, match="two classes or more, all of these are 'yes'; label more"):
        check_classes(["yes", "yes"], what="sensitivity")
    check_classes(["yes", "no"], what="sensitivity")
    check_classes([], what="sensitivity")


@pytest.mark.parametrize(("specificity", "sensitivity"), [(0.5, 0.5), (0.6, 0.5), (0.1, 0.9)])
def test_a_judge_near_a_coin_is_refused(specificity: float, sensitivity: float):
    with pytest.raises(UsageError, match=r"too little apart.*`method=\"gold\"`"):
        check_discrimination(specificity, sensitivity)


def test_a_judge_better_than_a_coin_passes():
    check_discrimination(0.7, 0.41)


def test_few_known_answers_are_told_below_a_hundred():
    assert few_gold(99).startswith("99 known answers are few")
    assert few_gold(100) == ""


def test_few_clusters_are_told_below_fifteen():
    assert few_clusters(14).startswith("14 clusters are few")
    assert few_clusters(15) == ""
