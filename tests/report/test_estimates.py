"""A corrected estimate as it is read: as text, as HTML, as JSON, and how many known answers more would take."""

from __future__ import annotations

import json
import math

import pytest

from llmframe.errors import UsageError
from llmframe.report.estimates import EstimateReport
from llmframe.stats.corrected import Corrected
from llmframe.stats.estimate import Estimate, unknown

FOUND = Corrected(
    estimate=Estimate(value=0.6, low=0.5, high=0.7, n=120),
    gold=Estimate(value=0.62, low=0.48, high=0.74, n=120),
    naive=Estimate(value=0.71, low=0.7, high=0.72, n=1120),
    se=0.04,
    lam=0.6,
    n=120,
    rest=1000,
    effective_n=150.0,
)


def report(**facts: object) -> EstimateReport:
    said: dict[str, object] = {
        "method": "ppi++",
        "of": "share of 'yes'",
        "judge": ("label",),
        "gold": ("human",),
        "rows": 1125,
        "known": 120,
        "unanswered": 5,
        "found": FOUND,
    }
    return EstimateReport(**{**said, **facts})  # type: ignore[arg-type]


def test_it_reads_as_a_small_table_with_gold_and_judge_alone_beside():
    assert repr(report(notes=("be careful",))).splitlines() == [
        "llmframe estimate · share of 'yes' · ppi++ · 120 of 1,125 rows known",
        "                   95 % interval",
        "estimate     0.60  0.50 to 0.70",
        "gold alone   0.62  0.48 to 0.74",
        "judge alone  0.71  0.70 to 0.72",
        "effective n 150: 120 known answers and this judge; the judge is trusted by 0.60",
        "left out: 5 rows without an answer of the judge",
        "note: be careful",
    ]


def test_what_cannot_be_told_stands_with_its_reason():
    text = repr(report(found=Corrected(estimate=unknown("no known answer"), gold=FOUND.gold, naive=FOUND.naive)))
    assert "estimate     unknown  no known answer" in text
    assert "effective n" not in text


def test_the_error_rates_stand_beside_where_the_method_has_them():
    found = Corrected(
        estimate=FOUND.estimate, gold=FOUND.gold, naive=FOUND.naive, n=9, specificity=0.8, sensitivity=0.95
    )
    assert "specificity 0.80, sensitivity 0.95" in repr(report(found=found, method="rogan_gladen"))


def test_groups_have_a_table_of_their_own_and_are_got_by_name():
    found = report(groups={"<b>": report(known=60, rows=500), None: report(known=0)})
    assert "<b>    60     0.60 (0.50 to 0.70)" in repr(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert found["<b>"].known == 60
    with pytest.raises(UsageError, match=r"no group is 'c'; groups: \['<b>', None\]"):
        found["c"]
    with pytest.raises(UsageError, match="there are none; name their column"):
        report()["c"]


def test_json_has_null_for_what_is_unknown():
    told = json.loads(report(groups={"a": report()}).to_json())
    assert told["estimate"] == {"value": 0.6, "low": 0.5, "high": 0.7, "n": 120, "level": 0.95, "reason": ""}
    assert told["specificity"] is None
    assert told["effective_n"] == 150
    assert told["groups"][0]["group"] == "a"


def test_the_numbers_are_attributes():
    found = report()
    assert (found.value, found.low, found.high, found.effective_n) == (0.6, 0.5, 0.7, 150)


def test_it_tells_how_many_known_answers_a_narrower_interval_takes():
    # variance of a known answer 0.04² * 150 = 0.24; alone (1.95996² * 0.24) / 0.05² = 368.8, 369 rows
    # worth of the judge: 1 - 120/150 = 0.2 = rho² * 1000/1120, rho² = 0.224
    # n (1 - 369 * 0.224 / 1120) = 369 * 0.776, n = 309.2
    assert report().known_for(0.05) == 310
    # the interval that is there takes the known answers that are there: 1.95996 * 0.04
    assert report().known_for(1.95996 * 0.04) == pytest.approx(120, abs=1)


def test_with_every_row_known_the_judge_saves_nothing():
    found = Corrected(
        estimate=FOUND.estimate, gold=FOUND.gold, naive=FOUND.naive, se=0.04, n=150, rest=0, effective_n=150.0
    )
    assert report(found=found).known_for(0.05) == 369


@pytest.mark.parametrize(
    "facts",
    [
        {"method": "gold"},
        {"found": Corrected(estimate=unknown("none"), gold=unknown("none"), naive=FOUND.naive, lam=math.nan)},
    ],
    ids=["another method", "no interval"],
)
def test_without_an_estimate_nothing_tells_how_many_it_takes(facts: dict[str, object]):
    with pytest.raises(UsageError, match=r"nothing tells how many known answers ± 0\.05 takes"):
        report(**facts).known_for(0.05)
