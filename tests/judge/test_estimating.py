"""Estimates are refused where nothing follows from the known answers, and hold where they are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.judge.estimating import estimate

DATA: dict[str, list[Any]] = {
    "label": ["yes", "yes", "yes", "no", "no"] * 40,
    "human": ["yes", "yes", "no", "no", "no"] * 24 + [None] * 80,
    "shop": ["a", "b"] * 100,
    "score": [float(at % 5) for at in range(200)],
    "truth": [float((at + 1) % 5) if at < 120 else None for at in range(200)],
}


def frame(data: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]


def test_what_an_interval_suffers_from_is_a_note():
    data = {name: cells[:40] for name, cells in DATA.items()}
    found = estimate(frame(data), "score", "truth", random=True, method="ppi++")
    assert found.notes == ("every row has a known answer: nothing is left to correct",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "say `random=True` if they are"),
        ({"random": False}, "aren't a random sample"),
        ({"random": True, "tuned": True}, "split the known rows in two before tuning"),
        ({"random": True, "method": "ppi"}, r"`method` is one of .*did you mean 'ppi\+\+'"),
        ({"random": True, "gold": [None] * 200}, "at least 2 known answers, there are 0"),
        ({"random": True, "label": None}, "say whose share is wanted: `label='yes'`"),
        ({"random": True, "judge": "lable"}, "no column 'lable'; did you mean 'label'"),
        ({"random": True, "judge": ("label", "score")}, "two of them with two golds"),
        ({"random": True, "cluster": [None] * 200}, "`cluster` is null in row 0"),
        ({"random": True, "apart": True}, '`apart=True` is for `method="rogan_gladen"`'),
        ({"method": "rogan_gladen", "cluster": "shop"}, "makes no use of `cluster`"),
        ({"method": "rogan_gladen", "probability": "score"}, "makes no use of `probability`"),
        ({"method": "rogan_gladen", "judge": "score", "gold": "truth", "label": None}, "corrects the share of a label"),
        ({"probability": [None] * 200}, "rows with gold have no probability"),
        ({"probability": [0] * 200}, r"have a probability outside \(0, 1\], such as 0"),
        ({"probability": [20.0] * 200}, r"have a probability outside \(0, 1\], such as 20"),
    ],
    ids=lambda each: "" if isinstance(each, str) else ", ".join(each) or "nothing said",
)
def test_what_nothing_follows_from_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        estimate(frame(DATA), **{"judge": "label", "gold": "human", "label": "yes", **said})


def test_the_judge_alone_needs_no_known_answer():
    found = estimate(frame(DATA), "label", [None] * 200, label="yes", method="naive", probability=[None] * 200)
    assert (found.value, found.known) == (0.6, 0)


def test_a_series_has_no_gold_beside_it():
    with pytest.raises(UsageError, match="`estimate` takes a frame, not a Series"):
        estimate(pd.Series(["yes"], name="label"), "label", ["yes"], random=True)


def test_known_answers_picked_by_a_judges_doubt_give_an_unbiased_estimate_from_a_frame():
    """200 runs of 600 rows; the doubtful rows are mostly right to be doubted."""
    random = np.random.default_rng(8)
    values, covered = [], 0
    for _ in range(200):
        doubt = random.choice([0.03, 0.4], size=600, p=[0.7, 0.3])
        truth = random.random(600) < np.where(doubt > 0.1, 0.8, 0.3)
        said = truth & (random.random(600) > doubt)
        chance = np.clip(120 * doubt / doubt.sum(), 0.04, 1)
        known = random.random(600) < chance
        human = [bool(right) if there else None for right, there in zip(truth, known, strict=True)]
        found = estimate(pd.DataFrame({"said": said}), "said", human, probability=chance)
        values.append(found.value - 0.45)
        covered += found.low <= 0.45 <= found.high
    assert abs(np.mean(values)) < 3 * np.std(values) / math.sqrt(200)
    assert 0.92 <= covered / 200 <= 0.98
