"""What a card says of agreement: every number of the scale, with its picture."""

from __future__ import annotations

import math

import pandas as pd

from llmframe.judge.agreement import agreement
from llmframe.report.card_parts.agreement_part import agreement_section

LABELS = pd.DataFrame(
    {
        "label": ["a", "a", "b", "b", "b"] * 8,
        "human": ["a", "b", "b", "b", "a"] * 8,
        "lang": (["en"] * 5 + ["de"] * 5) * 4,
    }
)
LEVELS = pd.DataFrame({"level": [1, 2, 3, 3, 5] * 6, "h1": [2, 2, 3, 4, 5] * 6, "h2": [1, 2, 4, 4, 5] * 6})


def names(part) -> list[str]:
    return [picture.name for picture in part.pictures]


def test_labels_have_their_numbers_by_label_and_by_group():
    found = agreement(LABELS, "label", "human", by="lang", draws=50)
    part = agreement_section(found)
    assert part.values["kappa.low"] == found.kappa.low
    assert part.values["recall.a"] == 0.5
    assert part.values["by.en.accuracy"] == found["en"].accuracy.value
    assert (part.values["n"], part.values["clusters"]) == (40, 40)
    assert dict(part.lines)["accuracy"] == str(found.accuracy)
    assert [table.head[0] for table in part.tables] == ["label", "group"]
    assert names(part) == ["agreement", "confusion"]
    assert "24 of 40 rows on the diagonal" in part.pictures[1].alt


def test_levels_have_a_scatter_and_people_their_own_agreement():
    found = agreement(LEVELS, "level", ["h1", "h2"], draws=50)
    part = agreement_section(found, pairs=([1.0, 2.0], [2.0, 2.0]))
    assert part.values["alpha.humans"] == found.humans.humans.value
    assert part.values["bias"] == found.bias.value
    assert names(part) == ["agreement", "confusion", "scatter"]
    [axes, _] = part.pictures[0].draw().axes
    drawn = [tick.get_text() for tick in axes.get_yticklabels()]
    assert "alpha of the people" in drawn
    assert not {"bias (answer less gold)", "mean distance"} & set(drawn)


def test_numbers_have_no_confusion():
    frame = pd.DataFrame({"score": [0.5, 1.5, 2.5, 30.0] * 5, "human": [0.0, 1.7, 2.2, 29.0] * 5})
    part = agreement_section(agreement(frame, "score", "human", draws=50), pairs=([0.5], [0.0]))
    assert names(part) == ["agreement", "scatter"]
    assert "ccc" in part.values
    assert "kappa" not in part.values


def test_without_a_judged_row_numbers_are_unknown_with_their_reason():
    part = agreement_section(agreement(pd.DataFrame({"label": ["a"], "human": [None]}), "label", "human", draws=5))
    assert math.isnan(part.values["kappa.low"])
    assert part.reasons["kappa.low"]
    assert part.pictures == ()


def test_a_kappa_below_zero_stays_in_the_picture():
    frame = pd.DataFrame({"label": ["a", "b"] * 10, "human": ["b", "a"] * 10})
    part = agreement_section(agreement(frame, "label", "human", draws=50))
    assert part.values["kappa"] == -1.0
    assert part.pictures[0].draw().axes[0].get_xlim()[0] < -1
