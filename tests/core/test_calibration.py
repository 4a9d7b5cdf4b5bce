"""A calibration: what it makes of a confidence, and that it stays what it is in a file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.calibration import Calibration, Figures
from llmframe.errors import UsageError

PROBABILITY = st.floats(0.0, 1.0)

FULL = Calibration(
    method="temperature",
    parameters=(1.7,),
    labels=("neg", "pos"),
    weights=(1.6, 0.4),
    field="label",
    question="ab12",
    n=60,
    accuracy=0.75,
    folds=5,
    seed=3,
    before=Figures(log_loss=0.9, brier=0.3, ece=0.2),
    after=Figures(log_loss=0.5, brier=0.2, ece=0.05),
    notes=("a note",),
)


def test_no_confidence_stays_none():
    assert FULL.apply(None, (), None) is None
    assert Calibration(method="platt", parameters=(1.0, 0.0)).apply(None, (0.5, 0.5), 0) is None


@given(PROBABILITY)
def test_a_temperature_of_one_is_the_identity(confidence):
    assert Calibration(method="temperature", parameters=(1.0,)).apply(confidence, (), None) == confidence
    whole = Calibration(method="temperature", parameters=(1.0,), labels=("a", "b"))
    assert whole.apply(confidence, (confidence, 1 - confidence), 0) == confidence


def test_a_temperature_on_a_confidence_divides_its_logit():
    # logit(.8) = log 4; half of it is log 2, hence 2/3
    assert Calibration(method="temperature", parameters=(2.0,)).apply(0.8, (), None) == pytest.approx(2 / 3)


def test_a_temperature_on_a_distribution_looks_at_all_labels():
    # square roots of .64, .18, .18: .8, .4243, .4243, hence .8/1.6485 = .4853; from the confidence alone it were 4/7
    made = Calibration(method="temperature", parameters=(2.0,), labels=("a", "b", "c"))
    assert made.apply(0.64, (0.64, 0.18, 0.18), 0) == pytest.approx(0.4853, abs=1e-4)
    assert sum(made.apply_distribution((0.64, 0.18, 0.18))) == pytest.approx(1.0)


def test_what_was_learnt_from_distributions_says_nothing_without_one():
    made = Calibration(method="temperature", parameters=(2.0,), labels=("a", "b", "c"))
    assert made.apply(0.64, (), None) is None
    assert made.apply(0.64, (0.5, 0.5), 0) is None
    assert made.apply_distribution(()) == ()


def test_what_was_learnt_from_confidences_gives_the_others_the_rest():
    # .8 becomes 2/3: .15 and .05 share 1/3 as 3 : 1
    made = Calibration(method="temperature", parameters=(2.0,))
    assert made.apply_distribution((0.8, 0.15, 0.05), 0) == pytest.approx((2 / 3, 1 / 4, 1 / 12))
    assert made.apply_distribution((0.8, 0.15, 0.05)) == ()


@given(PROBABILITY, PROBABILITY, st.floats(0.05, 20.0), st.floats(0.0, 5.0), st.floats(-5.0, 5.0))
def test_temperature_and_platt_keep_the_order_of_confidences(left, right, temperature, slope, intercept):
    low, high = sorted((left, right))
    for made in (
        Calibration(method="temperature", parameters=(temperature,)),
        Calibration(method="platt", parameters=(slope, intercept)),
    ):
        assert 0.0 <= made.apply(low, (), None) <= made.apply(high, (), None) <= 1.0


def test_platt_is_a_line_on_the_logit():
    # 2 log 3 - log 9 = 0
    made = Calibration(method="platt", parameters=(2.0, -2.1972245773362196))
    assert made.apply(0.75, (), None) == pytest.approx(0.5)


def test_an_isotonic_one_follows_its_knots():
    made = Calibration(method="isotonic", knots=(0.5, 1.0), parameters=(0.2, 0.8))
    assert [made.apply(each, (), None) for each in (0.1, 0.75, 1.0)] == pytest.approx([0.2, 0.5, 0.8])


def test_a_prior_weighs_the_calibrated_labels():
    # T = 1: .5 : .5 times 1.6 : .4 is .8 : .2
    made = Calibration(method="temperature", parameters=(1.0,), labels=("neg", "pos"), weights=(1.6, 0.4))
    assert made.apply(0.5, (0.5, 0.5), 1) == pytest.approx(0.2)
    assert made.apply(0.5, (0.5, 0.5), None) is None


def test_it_comes_back_from_json_as_it_was():
    assert Calibration.from_json(FULL.to_json()) == FULL
    bare = Calibration(method="isotonic", knots=(0.5, 1.0), parameters=(0.2, 0.8))
    assert Calibration.from_json(bare.to_json()) == bare


def test_a_file_keeps_it(tmp_path):
    FULL.save(tmp_path / "calibration.json")
    assert Calibration.load(tmp_path / "calibration.json") == FULL


def test_another_question_is_refused_with_both_names_and_the_remedy():
    FULL.check("ab12")
    FULL.check("ab12", labels=["neg", "pos"])
    with pytest.raises(UsageError, match=r"'ab12'.*'cd34'.*llmframe.calibrate"):
        FULL.check("cd34")


def test_other_labels_are_refused():
    with pytest.raises(UsageError, match="labels"):
        FULL.check("ab12", labels=["pos", "neg"])


def test_a_calibration_of_no_known_question_fits_any():
    Calibration(method="temperature", parameters=(2.0,)).check("cd34")


def test_printed_it_tells_what_it_makes_better():
    assert str(FULL).splitlines() == [
        "llmframe calibration · temperature 1.7 · 60 rows, 75.0 % right",
        "  log loss  0.900 -> 0.500",
        "  Brier     0.300 -> 0.200",
        "  ECE       0.200 -> 0.050",
        "  note      a note",
    ]
    assert str(Calibration(method="isotonic", knots=(0.5,), parameters=(0.2,))) == "llmframe calibration · isotonic"


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[1]",
        "{}",
        json.dumps({"llmframe_calibration": 99, "method": "temperature", "parameters": [1.0]}),
        json.dumps({"llmframe_calibration": 1, "method": "temperature"}),
        json.dumps({"llmframe_calibration": 1, "method": "temperature", "parameters": [1.0], "other": 1}),
        json.dumps({"llmframe_calibration": 1, "method": "magic", "parameters": [1.0]}),
        json.dumps({"llmframe_calibration": 1, "method": "temperature", "parameters": [-1.0]}),
        json.dumps({"llmframe_calibration": 1, "method": "temperature", "parameters": "high"}),
        json.dumps({"llmframe_calibration": 1, "method": "platt", "parameters": [-1.0, 0.0]}),
        json.dumps({"llmframe_calibration": 1, "method": "isotonic", "parameters": [0.5], "knots": []}),
        json.dumps({"llmframe_calibration": 1, "method": "temperature", "parameters": [1.0], "weights": [1.0]}),
    ],
)
def test_what_is_no_calibration_is_refused(text):
    with pytest.raises(UsageError):
        Calibration.from_json(text)
