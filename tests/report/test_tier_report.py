"""A cascade's report: honest about what is promised and what isn't."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from llmframe.report.tier_report import CascadeReport, TierReport, error_on_gold
from llmframe.stats.proportions import wilson_interval
from llmframe.stats.selective import certified_threshold


def tier(name: str, **said: Any) -> TierReport:
    given: dict[str, Any] = {
        "asked": 100,
        "answered": 60,
        "failed": 0,
        "requests": 90,
        "paid": 100,
        "usd": 0.09,
        "input_tokens": 900,
        "output_tokens": 90,
        "unknown_usage": 0,
        "error": error_on_gold([True] * 19 + [False]),
    }
    return TierReport(name=name, **{**given, **said})


def report(**first: Any) -> CascadeReport:
    cheap = tier("cheap", **{"threshold": 0.8, **first})
    strong = tier("strong", asked=40, answered=38, failed=2, requests=40, paid=40, usd=0.4)
    return CascadeReport(tiers=(cheap, strong), rows=100, gold_rows=60, error=error_on_gold([True, True, False]))


CERTIFIED = certified_threshold([0.9] * 100, [True] * 100)
NOT = certified_threshold([0.9] * 100, [True, False] * 50)


def test_errors_on_gold_have_wilsons_interval_and_are_unknown_without_gold():
    found, ends = error_on_gold([True] * 19 + [False]), wilson_interval(1, 20)
    assert (found.value, found.low, found.high, found.n) == (0.05, ends.low, ends.high, 20)
    nothing = error_on_gold([])
    assert math.isnan(nothing.value)
    assert nothing.reason == "no answer of this tier has gold"


def test_a_threshold_by_hand_promises_nothing():
    found = report()
    assert not found.certified
    assert found.promises == ("cheap: the threshold 0.8 was said by hand, so nothing is certified.",)
    assert found.notes == ()


def test_a_certificate_is_a_promise_under_a_condition():
    found = report(certificate=CERTIFIED, threshold=CERTIFIED.threshold)
    assert found.certified
    assert found.promises[0].startswith("cheap: Of answers with a confidence of 0.9 or more, at most 5 % are wrong")
    assert found.notes == (
        "This holds if the 60 rows with gold are a random sample of all rows; what 'strong' answers is measured only.",
    )


def test_without_one_it_says_where_all_rows_went_and_what_would_help():
    found = report(certificate=NOT, threshold=math.inf, answered=0)
    assert not found.certified
    assert "So all its rows went on to 'strong'. More gold rows wouldn't certify 10 % of the rows" in repr(found)
    assert "all go on" in repr(found)


def test_the_table_has_a_line_for_each_tier():
    lines = repr(report()).splitlines()
    assert lines[0] == "llmframe cascade · 100 rows"
    assert lines[1].split("  ")[0] == "tier"
    assert lines[2].split()[:6] == ["cheap", "100", "60", "0", "0.8", "90"]
    assert lines[3].split()[:5] == ["strong", "40", "38", "2", "40"]
    assert "0.050 (0.009 to 0.24) of 20" in lines[2]


def test_the_cost_stands_beside_what_the_last_model_alone_would_take():
    found = report()
    assert found.usd == pytest.approx(0.49)
    assert found.usd_alone == pytest.approx(0.4 / 40 * 100)
    assert "Cost: $0.49; all rows by 'strong' about $1.00." in repr(found)


def test_rows_that_nothing_was_paid_for_dont_make_the_last_model_look_cheap():
    cheap, strong = report().tiers
    # 10 of 40 rows were paid for: the others were kept from an earlier run, or the budget was spent before them
    found = replace(report(), tiers=(cheap, replace(strong, requests=10, paid=10, usd=0.1)))
    assert found.usd_alone == pytest.approx(0.1 / 10 * 100)
    assert replace(report(), tiers=(cheap, replace(strong, requests=0, paid=0, usd=0.0))).usd_alone is None


def test_unknown_costs_stay_unknown():
    found = replace(report(usd=None), rows=100)
    assert found.usd is None
    assert "Cost:" not in repr(found)
    assert found.to_dict()["usd"] is None
    free = report(usd=None, requests=0)  # all kept from an earlier run
    assert free.usd == pytest.approx(0.4)
    assert "nothing" in repr(free).splitlines()[2]


def test_json_has_null_for_what_is_unknown_or_infinite():
    told = json.loads(report(certificate=NOT, threshold=math.inf).to_json())
    assert told["tiers"][0]["threshold"] is None
    assert told["tiers"][0]["certificate"]["threshold"] is None
    assert told["tiers"][1]["threshold"] is None
    assert told["certified"] is False


def test_names_are_no_html():
    found = CascadeReport(tiers=(tier("<b>"), tier("y")), rows=1, gold_rows=0, error=error_on_gold([]))
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
