"""The figures of the measurement of confidences, on rows whose figures are known."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import confidence

    yield confidence
    sys.modules.pop("confidence", None)


def test_the_most_confident_rows_come_first_and_tied_ones_count_by_their_mean(measure: ModuleType):
    rows = [(0.9, True), (0.6, True), (0.6, False), (None, False)]
    assert measure.accuracy_at(rows, 0.25) == 1
    assert measure.accuracy_at(rows, 0.5) == 0.75  # the right one, and one of two of which one is right
    assert measure.accuracy_at(rows, 0.75) == pytest.approx(2 / 3)
    assert measure.accuracy_at(rows, 1) == 0.5


def test_auroc_is_the_share_of_pairs_in_which_the_right_row_is_surer(measure: ModuleType):
    # Pairs of a right and a wrong row: 0.9 over 0.6 and over none, 0.6 level with 0.6 and over none: 3.5 of 4.
    assert measure.auroc([(0.9, True), (0.6, True), (0.6, False), (None, False)]) == 3.5 / 4
    assert measure.auroc([(0.9, True), (0.9, False)]) == 0.5
    assert math.isnan(measure.auroc([(0.9, True)]))


def test_bins_have_equal_size_from_the_least_confident_on(measure: ModuleType):
    rows = [(place / 20, place >= 10) for place in range(20)] + [(None, True)]
    bins = measure.bins(rows)
    assert [each["n"] for each in bins] == [2] * 10
    assert [each["right"] for each in bins] == [0] * 5 + [1] * 5
    assert bins[0]["claimed"] == pytest.approx(0.025)
    assert 0 <= bins[0]["low"] < bins[0]["high"] < 1


def test_few_different_confidences_are_a_bin_each_however_their_rows_are_ordered(measure: ModuleType):
    rows = [(1.0, True), (0.6, False), (1.0, False), (1.0, True), (0.6, True)]
    assert [(each["claimed"], each["right"], each["n"]) for each in measure.bins(rows)] == [
        (0.6, 0.5, 2),
        (1.0, pytest.approx(2 / 3), 3),
    ]


def test_examples_of_stated_confidences_claim_more_than_one_number(measure: ModuleType):
    answers = [answer for _, answer in measure.asked("stated", shown=True)["examples"]]
    assert {answer["response"] for answer in answers} == set(measure.LABELS)
    assert len({answer["confidence"] for answer in answers}) > 2
    assert "examples" not in measure.asked("score", shown=False)
