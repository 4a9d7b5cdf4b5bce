"""What a certificate says."""

from __future__ import annotations

import json
import math

from llmframe.stats.certificate import Certificate, Needed, Trial, percent
from llmframe.stats.risk_coverage import Step

STEP = Step(threshold=0.92, kept=100, errors=1, n=200)
GIVEN = Certificate(
    threshold=0.92,
    coverage=0.5,
    kept=100,
    errors=1,
    bound=0.0384,
    target_error=0.05,
    delta=0.1,
    n=200,
    tests=(Trial(step=STEP, bound=0.0384, passed=True),),
    needed=(Needed(coverage=0.6, risk=0.03, rows=1240), Needed(coverage=1.0, risk=0.2, rows=None)),
)
NONE = Certificate(
    threshold=math.nan,
    coverage=0.0,
    kept=0,
    errors=0,
    bound=math.nan,
    target_error=0.05,
    delta=0.1,
    n=20,
    needed=(Needed(coverage=0.1, risk=0.5, rows=None),),
    reason="20 gold rows are too few for a test, which keeps at least 45",
)


def test_a_certificate_says_what_is_promised_and_what_it_rests_on():
    assert GIVEN.holds
    assert GIVEN.sentence == (
        "Of answers with a confidence of 0.92 or more, at most 5 % are wrong, with 90 % confidence: 1 of the 100 gold "
        "rows there are wrong, upper bound 3.8 %."
    )
    assert GIVEN.advice == "about 1,240 gold rows would certify 60 % of the rows, if 3 % of those are wrong as now"


def test_without_a_threshold_it_says_why_and_what_to_do():
    assert not NONE.holds
    assert NONE.sentence == (
        "No threshold is certified for an error of at most 5 % with 90 % confidence: 20 gold rows are too few for a "
        "test, which keeps at least 45."
    )
    assert NONE.advice == (
        "more gold rows wouldn't certify 10 % of the rows: 50 % of those are wrong; take a better model or prompt, or "
        "a larger `target_error`"
    )


def test_where_all_is_certified_there_is_nothing_to_advise():
    assert (
        Certificate(threshold=0.5, coverage=1.0, kept=9, errors=0, bound=0.1, target_error=0.2, delta=0.1, n=9).advice
        == ""
    )


def test_its_values_are_json_and_what_is_unknown_is_null():
    told = json.loads(json.dumps(GIVEN.to_dict(), allow_nan=False))
    assert told["tests"] == [{"threshold": 0.92, "kept": 100, "errors": 1, "bound": 0.0384, "passed": True}]
    assert told["needed"][1] == {"coverage": 1.0, "risk": 0.2, "rows": None}
    told = json.loads(json.dumps(NONE.to_dict(), allow_nan=False))
    assert (told["threshold"], told["bound"], told["coverage"]) == (None, None, 0.0)


def test_shares_are_said_in_percent():
    assert [percent(each) for each in (0.05, 0.046, 1.0, 0.001)] == ["5 %", "4.6 %", "100 %", "0.1 %"]
