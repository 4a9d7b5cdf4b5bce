"""The columns beside an answer: their names, and what stands in them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from llmframe.api.sure import sure_columns
from llmframe.core.calibration import Calibration
from llmframe.core.outcome import Answer
from llmframe.core.schema import schema_of
from llmframe.core.scores import Score
from llmframe.errors import UsageError

HALVED = Calibration(method="temperature", parameters=(2.0,))
LABELS = Literal["good", "bad"]


class Two(BaseModel):
    label: LABELS
    spam: bool


def cells(schema: object, answer: Answer | None, **options: Any) -> dict[str, object]:
    confidence = options.pop("confidence", "logprobs")
    return {each.name: each.value(answer) for each in sure_columns(schema_of(schema, confidence=confidence), **options)}


GOOD = Answer("", ("good",), (Score(0.9, "logprobs", (0.9, 0.1), 0.95),))


def test_without_a_confidence_there_are_none():
    assert sure_columns(schema_of(LABELS)) == ()


def test_a_confidence_has_its_source_and_on_request_all_shares():
    assert cells(LABELS, GOOD) == {"confidence": 0.9, "confidence_source": "logprobs"}
    assert cells(LABELS, GOOD, distribution=True) == {
        "confidence": 0.9,
        "confidence_source": "logprobs",
        "distribution": {"good": 0.9, "bad": 0.1},
        "label_mass": 0.95,
    }


@pytest.mark.parametrize("answer", [None, Answer("", ("good",))], ids=["no answer", "not scored"])
def test_what_is_not_known_is_null(answer: Answer | None):
    assert set(cells(LABELS, answer, distribution=True, calibration=HALVED).values()) == {None}


def test_a_reason_stands_where_a_confidence_would():
    low = dataclasses.replace(GOOD, scores=(Score(None, "low_label_mass", (), 0.3),))
    assert cells(LABELS, low, distribution=True) == {
        "confidence": None,
        "confidence_source": "low_label_mass",
        "distribution": None,
        "label_mass": 0.3,
    }


def test_a_calibrated_confidence_has_the_raw_one_beside_it():
    # sqrt(0.9 : 0.1) = 3 : 1
    told = cells(LABELS, GOOD, distribution=True, calibration=dataclasses.replace(HALVED, labels=("good", "bad")))
    assert told["confidence"] == pytest.approx(0.75)
    assert told["confidence_raw"] == 0.9
    assert told["distribution"] == pytest.approx({"good": 0.75, "bad": 0.25})


def test_names_that_the_schema_has_are_left_to_it():
    class Taken(BaseModel):
        label: LABELS
        confidence_source: str
        distribution: str

    assert list(cells(Taken, None, distribution=True)) == [
        "confidence",
        "llm_confidence_source",
        "llm_distribution",
        "label_mass",
    ]


def test_of_several_fields_a_calibration_moves_its_own():
    mine = dataclasses.replace(HALVED, field="spam_confidence")
    assert list(cells(Two, None, calibration=mine)) == [
        *("label_confidence", "label_confidence_source"),
        *("spam_confidence", "spam_confidence_raw", "spam_confidence_source"),
    ]


def test_a_calibration_of_another_column_is_refused():
    with pytest.raises(UsageError, match="'other_confidence'"):
        cells(Two, None, calibration=dataclasses.replace(HALVED, field="other_confidence"))


def test_a_distribution_needs_labels():
    with pytest.raises(UsageError, match="this schema has none"):
        cells(int, None, distribution=True)


@pytest.mark.parametrize("labels", [("bad", "good"), ("good", "evil"), ("good",)], ids=str)
def test_a_calibration_of_other_labels_or_in_another_order_is_refused(labels: tuple[str, ...]):
    other = Calibration(method="temperature", parameters=(2.0,), labels=labels)
    with pytest.raises(UsageError, match="one of the labels"):
        cells(LABELS, None, calibration=other)
