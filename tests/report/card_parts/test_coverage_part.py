"""What a card says of the surest rows and of a certified threshold."""

from __future__ import annotations

import math

from llmframe.report.card_parts.coverage_part import CHOSEN_KEYS, KEYS, coverage_section, selection_section
from llmframe.report.selection import Selection
from llmframe.stats.certificate import Certificate
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.selective import certified_threshold


def selected(certificate: Certificate) -> Selection:
    """As `llmframe.select` makes it of 500 rows, of which 300 stand."""
    return Selection(
        name="label", confidence="confidence", error=None, n=500, kept=300, failed=0, missing=0, gold_rows=200,
        certificate=certificate, curve=risk_coverage(SURE, RIGHT), auroc=0.7, notes=("one note",),
    )  # fmt: skip


SURE = [1 - at / 400 for at in range(200)]
RIGHT = [at < 120 or at % 2 == 0 for at in range(200)]


def test_accuracy_is_told_of_the_surest_half_and_more():
    part = coverage_section(risk_coverage(SURE, RIGHT), certificate=None, level=0.95)
    assert set(part.values) == set(KEYS)
    # all of the surest 120 are right, of the 40 after them every second one
    assert (part.values["accuracy_at_50"], part.values["accuracy_at_80"]) == (1.0, 140 / 160)
    assert part.values["accuracy_at_80.low"] < 140 / 160 < part.values["accuracy_at_80.high"]
    assert part.lines[0] == ("right of the surest 50 %", "1.00 (0.96 to 1.00), 100 rows")
    assert [picture.name for picture in part.pictures] == ["coverage"]


def test_a_certified_threshold_is_told_and_drawn():
    certificate = certified_threshold(SURE, RIGHT, target_error=0.1, delta=0.1)
    assert certificate.holds
    part = selection_section(selected(certificate))
    assert part.values == {
        "threshold": certificate.threshold,
        "coverage": 0.6,
        "risk_bound": certificate.bound,
    }
    assert dict(part.lines)["certificate"] == certificate.sentence
    assert dict(part.lines)["stand"] == "300 of 500 rows, the other 200 need review"
    assert part.notes == ("one note",)
    figure = coverage_section(risk_coverage(SURE, RIGHT), certificate=certificate, level=0.95).pictures[0].draw()
    drawn = {line.get_label() for line in figure.axes[0].get_lines()}
    assert {"chosen threshold", "target 0.1"} <= drawn


def test_a_threshold_that_could_not_be_certified_says_why():
    certificate = certified_threshold([0.9] * 50, [False] * 50, target_error=0.05)
    part = selection_section(selected(certificate))
    assert not part.absent
    assert math.isnan(part.values["threshold"])
    assert "are wrong" in part.reasons["threshold"]
    figure = coverage_section(risk_coverage(SURE, RIGHT), certificate=certificate, level=0.95).pictures[0].draw()
    assert "chosen threshold" not in {line.get_label() for line in figure.axes[0].get_lines()}


def test_what_is_not_there_is_absent_with_unknown_keys():
    none, unasked = coverage_section(risk_coverage([], []), certificate=None, level=0.95), selection_section(None)
    assert none.absent
    assert unasked.absent
    assert all(math.isnan(none.values[key]) for key in KEYS)
    assert all(math.isnan(unasked.values[key]) for key in CHOSEN_KEYS)
    assert "llmframe.select" in unasked.reason
