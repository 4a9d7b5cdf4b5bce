"""What became of one request."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Answer, Failure, Outcome, Usage

COUNTS = st.none() | st.integers(0, 10**9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS)


def test_unknown_plus_known_is_the_known_part_and_unknown_stays_unknown():
    assert Usage(10, None, None) + Usage(5, 7, None) == Usage(15, 7, None)
    assert Usage() + Usage() == Usage(None, None, None)
    assert Usage(0, 0, 0) + Usage() == Usage(0, 0, 0)


@given(USAGES, USAGES, USAGES)
def test_sums_do_not_depend_on_the_order(a: Usage, b: Usage, c: Usage):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a


def test_a_failure_reads_as_the_error_column_says_it():
    assert str(Failure("timeout", "no whole answer within 60 s")) == "timeout: no whole answer within 60 s"


def test_an_outcome_knows_nothing_that_nobody_told():
    outcome = Outcome(result=Answer("{}", ()))
    assert (outcome.usage, outcome.usd, outcome.attempts, outcome.source) == (Usage(None, None, None), None, 0, "live")


@pytest.mark.parametrize("value", [Usage(), Answer("", ()), Failure("null", ""), Outcome(result=Failure("null", ""))])
def test_values_can_not_be_changed(value: Any):
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
