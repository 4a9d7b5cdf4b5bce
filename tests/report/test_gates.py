"""Gates: what isn't known passes none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.report.gates import BrokenGate, broken_gates

VALUES = {"kappa": 0.5, "kappa.low": 0.4, "ece": 0.1, "auroc": math.nan, "model": "m", "question": None}
WHY = {"auroc": "all rows are right"}


def test_a_number_at_its_bound_passes():
    assert broken_gates(VALUES, WHY, least={"kappa": 0.5}, most={"ece": 0.1}) == []


def test_broken_gates_are_sentences_the_least_first():
    broken = broken_gates(VALUES, WHY, least={"kappa.low": 0.6}, most={"ece": 0.05})
    assert list(map(str, broken)) == ["kappa.low is 0.4, less than 0.6", "ece is 0.1, more than 0.05"]
    assert broken[0] == BrokenGate(key="kappa.low", value=0.4, bound=0.6, side="min")


@pytest.mark.parametrize(("side", "word"), [("least", "at least"), ("most", "at most")])
def test_an_unknown_number_passes_no_gate_and_says_why(side: str, word: str):
    [broken] = broken_gates(VALUES, WHY, **{"least": {}, "most": {}, side: {"auroc": 0.7}})
    assert str(broken) == f"auroc is unknown (all rows are right), so it can't be {word} 0.7"


def test_an_unknown_key_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match=r"`min` has 'kapa.low', which is no number .*did you mean 'kappa.low'"):
        broken_gates(VALUES, WHY, least={"kapa.low": 0.6}, most={})


@pytest.mark.parametrize("key", ["model", "question"])
def test_a_text_has_no_bound(key: str):
    with pytest.raises(UsageError, match="no number of this card"):
        broken_gates(VALUES, WHY, least={}, most={key: 1})


@pytest.mark.parametrize("bound", [math.nan, math.inf, True, "0.6"])
def test_a_bound_is_a_finite_number(bound: object):
    with pytest.raises(UsageError, match="must be a finite number"):
        broken_gates(VALUES, WHY, least={"kappa": bound}, most={})


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_number_breaks_at_most_one_side_of_a_bound(value: float, bound: float):
    broken = broken_gates({"x": value}, {}, least={"x": bound}, most={"x": bound})
    assert len(broken) == (value != bound)


def test_of_many_keys_some_are_listed_without_their_ends():
    values = {f"recall.{number}{end}": 0.5 for number in range(50) for end in ("", ".low", ".high")}
    with pytest.raises(UsageError, match=r"recall\.39 and 10 more") as caught:
        broken_gates(values, {}, least={"x": 1}, most={})
    assert "recall.0.low" not in str(caught.value)
