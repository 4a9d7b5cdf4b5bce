"""What a card says of confidences."""

from __future__ import annotations

import math

import pytest

from llmframe.report.card_parts.sureness_part import KEYS, reliability_section
from llmframe.stats.reliability import brier, calibration_error

SURE = [0.55, 0.65, 0.75, 0.85, 0.95] * 8
RIGHT = [at % 7 > 1 for at in range(40)]
OPTIONS = {"draws": 50, "seed": 0, "level": 0.95}


def test_numbers_stand_under_flat_keys_beside_the_table_and_the_diagram():
    part = reliability_section(SURE, RIGHT, name="confidence", without=3, **OPTIONS)
    assert set(part.values) == set(KEYS)
    assert part.values["ece"] == calibration_error(SURE, RIGHT)
    assert part.values["brier"] == brier(SURE, RIGHT)
    assert part.values["brier.low"] < part.values["brier"] < part.values["brier.high"]
    assert [picture.name for picture in part.pictures] == ["reliability"]
    assert [row[0] for row in part.tables[0].rows] == ["0.55", "0.65", "0.75", "0.85", "0.95"]
    assert part.notes[0] == "3 rows with gold and an answer have no confidence"
    assert "40 rows are few" in part.notes[1]


def test_the_error_is_told_beside_what_chance_makes():
    honest = [0.75] * 400, [at % 4 > 0 for at in range(400)]
    boastful = [0.99] * 400, honest[1]
    told = [
        dict(reliability_section(*each, name="c", **OPTIONS).lines)["calibration error"] for each in (honest, boastful)
    ]
    assert ", no more than the " in told[0]
    assert ", more than the " in told[1]


def test_without_rows_the_part_is_absent_and_its_keys_unknown():
    part = reliability_section([], [], name="confidence", **OPTIONS)
    assert part.absent
    assert part.reason == "no row has gold, an answer and a confidence in 'confidence'"
    assert all(math.isnan(part.values[key]) for key in KEYS)


@pytest.mark.parametrize("hit", [True, False])
def test_one_row_has_an_error_but_no_auroc(hit):
    part = reliability_section([0.8], [hit], name="c", **OPTIONS)
    assert part.values["ece"] == pytest.approx(0.2 if hit else 0.8)
    assert math.isnan(part.values["auroc"])
    assert part.reasons["auroc"] == f"all answers are {'right' if hit else 'wrong'}"
