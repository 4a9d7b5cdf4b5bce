"""The estimate of some rows: each method on the same numbers, and groups that can't be told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.judge.estimated import Numbers, Question, estimated, estimated_group
from llmframe.report.estimates import Method
from llmframe.stats.corrected import mean_estimate

NAN = math.nan
SAID = np.array([1, 1, 1, 0, 0] * 40, dtype=float)
GOLD = np.array([1, 1, 0, 0, 0] * 24 + [NAN] * 80)
SAID[-1] = NAN


def question(method: Method, **said: Any) -> Question:
    facts: dict[str, Any] = {
        "of": "share of 'yes'",
        "judge": ("label",),
        "gold": ("human",),
        "bounds": (0.0, 1.0),
        "apart": False,
        "level": 0.95,
        "notes": ("said before",),
    }
    return Question(method=method, **{**facts, **said})


DATA = Numbers(judge=SAID, gold=GOLD, chance=None, clusters=None)
ALL = np.arange(200)


def test_rows_without_an_answer_of_the_judge_are_left_out_and_counted():
    found = estimated(DATA, ALL, question("ppi++"))
    assert (found.rows, found.known, found.unanswered) == (200, 120, 1)
    assert found.found.naive.n == 199


@pytest.mark.parametrize("method", ["ppi++", "rogan_gladen", "gold", "naive"])
def test_every_method_tells_gold_and_the_judge_alone(method: Method):
    found = estimated(DATA, ALL, question(method))
    assert found.method == method
    assert found.found.gold == mean_estimate(GOLD[:120])
    assert found.found.naive == mean_estimate(SAID[:199], what="answer of the judge") or method == "rogan_gladen"
    assert found.notes[0] == "said before"


def test_weighted_gold_is_by_its_probabilities():
    chance = np.where(np.arange(200) % 2 == 0, 0.8, 0.4)
    data = Numbers(judge=SAID, gold=GOLD, chance=chance, clusters=None)
    assert estimated(data, ALL, question("weighted")).value != estimated(DATA, ALL, question("ppi++")).value


def test_known_rows_from_elsewhere_do_not_count_to_the_share():
    found = estimated(DATA, ALL, question("rogan_gladen", apart=True))
    assert found.found.rest == 79


def test_what_is_refused_for_all_rows_is_told_for_a_group():
    yes = np.flatnonzero(GOLD == 1)
    with pytest.raises(UsageError, match="two classes or more"):
        estimated(DATA, yes, question("rogan_gladen"))
    found = estimated_group(DATA, yes, question("rogan_gladen"))
    assert (found.method, found.known) == ("rogan_gladen", 48)
    assert math.isnan(found.value)
    assert "two classes or more" in found.estimate.reason
    assert found.found.gold.value == 1


def test_what_is_said_of_all_rows_is_not_repeated_for_a_group():
    assert "said before" not in estimated_group(DATA, np.arange(0, 200, 2), question("ppi++")).notes


def test_rows_known_one_by_one_do_not_favour_large_clusters():
    # 100 clusters of one row, which are all 0, and 100 of nine, all 1: half of the clusters, nine tenths of the rows
    clusters = [*range(100), *(100 + at // 9 for at in range(900))]
    truth = np.repeat([0.0, 1.0], [100, 900])
    random = np.random.default_rng(0)
    values = []
    for _ in range(40):
        known = np.zeros(1000, dtype=bool)
        known[random.permutation(1000)[:200]] = True
        judge = np.where(random.random(1000) < 0.8, truth, 1 - truth)
        data = Numbers(judge=judge, gold=np.where(known, truth, math.nan), chance=None, clusters=clusters)
        values.append(estimated(data, np.arange(1000), question("ppi++")).value)
    assert np.mean(values) == pytest.approx(0.5, abs=0.02)
