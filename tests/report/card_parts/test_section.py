"""Parts of a card: what is absent is unknown by its keys."""

from __future__ import annotations

import math

from llmframe.report.card_parts.section import (
    Section,
    absent,
    estimate_reasons,
    estimate_text,
    estimate_values,
    number_text,
)
from llmframe.stats.estimate import Estimate, unknown


def test_the_keys_of_an_absent_part_are_unknown():
    part = absent("bias", "Bias", "no audit", keys=["bias.worst"])
    assert part.absent
    assert math.isnan(part.values["bias.worst"])
    assert not Section(name="a", title="A", lines=(("x", "1"),)).absent


def test_an_estimate_is_told_by_three_keys_and_why_it_is_unknown():
    known, none = Estimate(value=0.5, low=0.25, high=0.75), unknown("one label only")
    assert estimate_values("kappa", known) == {"kappa": 0.5, "kappa.low": 0.25, "kappa.high": 0.75}
    assert estimate_reasons("kappa", known) == {}
    assert estimate_reasons("kappa", none)["kappa.low"] == "one label only"
    assert (estimate_text(known), estimate_text(none)) == ("0.50 (0.25 to 0.75)", "unknown: one label only")


def test_unknown_numbers_are_said_in_words():
    assert (number_text(math.nan), number_text(0.12345), number_text(0.5, 1)) == ("unknown", "0.123", "0.5")
