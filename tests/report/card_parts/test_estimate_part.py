"""What a card says of a corrected estimate."""

from __future__ import annotations

import math

import pandas as pd

from llmframe.judge.estimating import estimate
from llmframe.report.card_parts.estimate_part import KEYS, estimate_section

FRAME = pd.DataFrame(
    {
        "label": ["good", "good", "bad"] * 200,
        "human": ["good", "bad", "bad"] * 40 + [None] * 480,
        "lang": (["en"] * 3 + ["de"] * 3) * 100,
    }
)


def test_the_corrected_number_stands_beside_gold_alone_and_the_judge_alone():
    found = estimate(FRAME, "label", "human", label="good", random=True, by="lang")
    part = estimate_section(found)
    assert part.values["estimate"] == found.value
    assert part.values["estimate.gold"] == found.found.gold.value
    assert part.values["estimate.naive"] == found.found.naive.value
    assert part.values["by.en.estimate.low"] == found["en"].low
    assert dict(part.lines)["known answers"] == "120 of 600 rows"
    axes = part.pictures[0].draw().axes[0]
    shown = [tick.get_text() for tick in axes.get_yticklabels()]
    assert shown == ["corrected", "gold alone", "judge alone", "en", "de"]


def test_without_an_estimate_the_part_is_absent():
    part = estimate_section(None)
    assert part.absent
    assert "llmframe.estimate" in part.reason
    assert all(math.isnan(part.values[key]) for key in KEYS)
