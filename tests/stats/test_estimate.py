"""Estimates: as text, as plain values, unknown without a number."""

from __future__ import annotations

import json
import math

import pytest

from llmframe.stats.estimate import Estimate, unknown


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(value=0.62, low=0.514, high=0.706), "0.62 (0.51 to 0.71)"),
        (Estimate(value=-1.5, low=-2, high=0), "-1.50 (-2.00 to 0.00)"),
        (Estimate(value=0.0123, low=-0.0004, high=0.2), "0.012 (0.000 to 0.20)"),
        # 996 of 1,000 isn't all
        (Estimate(value=0.996, low=0.99, high=1.0), "0.996 (0.99 to 1.00)"),
        (Estimate(value=0.5), "0.50"),
        (unknown("no item"), "unknown"),
    ],
)
def test_an_estimate_reads_as_number_and_interval(estimate, text):
    assert str(estimate) == text


def test_what_is_unknown_is_null_in_json_with_its_reason():
    told = unknown("no item", n=3, level=0.9).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == {
        "value": None,
        "low": None,
        "high": None,
        "n": 3,
        "level": 0.9,
        "reason": "no item",
    }
    assert Estimate(value=math.inf, low=0.0).to_dict()["value"] is None


def test_a_number_is_known_and_nan_is_not():
    assert Estimate(value=0.0).known
    assert not unknown("no item").known
