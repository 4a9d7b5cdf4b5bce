"""Gold that is spelt otherwise, or was picked unequally, is refused instead of giving a wrong number."""

from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.judge.estimating import estimate
from llmframe.judge.gold_guards import spelt_otherwise


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
