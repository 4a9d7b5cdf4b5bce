"""Gold that is spelt otherwise, or was picked unequally, is refused instead of giving a wrong number."""

from __future__ import annotations

import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.judge.agreement import agreement
from llmframe.judge.card import card
from llmframe.judge.estimating import estimate
from llmframe.judge.gold_guards import spelt_otherwise
from llmframe.judge.selecting import select


@pytest.mark.parametrize(
    ("golds", "answers", "found"),
    [
        ({"Good", "bad"}, {"good", "bad"}, ("Good", "good")),
        ({"good ", "good"}, {"good"}, ("good ", "good")),
        ({"good"}, {"good", "GOOD"}, ("good", "GOOD")),
        ({"us", "US"}, {"us", "US"}, None),
        ({"good", "bad"}, {"good"}, None),
        ({1, 2}, {2, 3}, None),
    ],
)
def test_labels_that_differ_by_case_or_blanks_alone_are_found(
    golds: set[object], answers: set[object], found: tuple[str, str] | None
):
    assert spelt_otherwise(golds, answers) == found


def test_an_estimate_refuses_gold_that_is_spelt_otherwise():
    rows = [{"label": "good", "human": "Good" if at < 120 else None} for at in range(300)]
    with pytest.raises(UsageError, match="the gold has 'Good' where 'label' has 'good'"):
        estimate(rows, "label", "human", label="good", random=True)


def test_rows_picked_unequally_are_no_random_sample_whatever_is_said():
    rows = [
        {
            "label": "good" if at % 3 else "bad",
            "human": "good" if at % 2 else "bad",
            "review_probability": 0.3 + at % 2 / 5,
        }
        if at < 120
        else {"label": "good", "human": None, "review_probability": None}
        for at in range(300)
    ]
    with pytest.raises(UsageError, match='say `probability="review_probability"`'):
        estimate(rows, "label", "human", label="good", random=True)
    assert estimate(rows, "label", "human", label="good", probability="review_probability").method == "weighted"
    equal = [{**row, "review_probability": row["review_probability"] and 0.4} for row in rows]
    assert estimate(equal, "label", "human", label="good", random=True).method == "ppi++"


def test_a_label_in_two_spellings_is_a_note():
    rows = [{"label": said, "human": f"{said} " if said == "a" else said, "confidence": 0.9} for said in "ab" * 60]
    note = "the gold has 'a ' where the answers have 'a', and they count as two labels"
    assert note in agreement(rows, "label", "human", draws=100).notes
    assert note in select(rows, "human", random=True).notes


def test_rows_picked_unequally_give_no_threshold_and_a_note():
    rows = [
        {"label": "ab"[at % 2], "human": "ab"[at % 2], "confidence": 0.9, "review_probability": 0.3 + at % 2 / 5}
        for at in range(120)
    ]
    with pytest.raises(UsageError, match="picked these with unequal probabilities"):
        select(rows, "human", random=True)
    assert "picked with unequal probabilities" in agreement(rows, "label", "human", draws=100).notes[-1]


def test_answers_are_no_gold_for_themselves():
    rows = [{"label": said, "human": said} for said in "ab" * 20]
    for gold in ("label", ["human", "label"]):
        with pytest.raises(UsageError, match="'label' is named as answers and as gold"):
            agreement(rows, "label", gold)
    assert agreement(rows, "label", pd.Series([row["label"] for row in rows]), draws=100).accuracy.value == 1


def test_texts_are_no_confidences():
    rows = [{"label": said, "human": said, "note": "sure"} for said in "ab" * 20]
    with pytest.raises(UsageError, match="'note' must be numbers"):
        card(rows, "label", "human", confidence="note", draws=100)


def test_a_series_in_another_order_is_refused():
    df = pd.DataFrame({"label": list("aabb") * 10, "human": list("abab") * 10})
    with pytest.raises(UsageError, match="`gold` has the frame's index in another order"):
        agreement(df, "label", df["human"].iloc[::-1], draws=100)
    other = df["human"].set_axis(range(1000, 1040))
    assert agreement(df, "label", other, draws=100).accuracy.value == 0.5
