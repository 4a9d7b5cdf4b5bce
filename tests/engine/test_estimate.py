"""Learned token estimates, with numbers by hand and the laws they keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.engine.estimate import Estimate

counts = st.one_of(st.none(), st.integers(-(10**400), 10**400), st.integers(0, 5_000))


def taught(*usages: Usage, characters: int = 100) -> Estimate:
    estimate = Estimate()
    for usage in usages:
        estimate.learn(characters, usage)
    return estimate


def test_before_the_first_reply_four_characters_are_a_token_and_a_reply_has_64():
    assert Estimate().input(1_000) == 250
    assert Estimate().output(None) == 64
    assert Estimate().output(1_000) == 64
    assert Estimate().output(16) == 16


def test_a_request_is_never_free():
    assert Estimate().input(0) == 1
    assert taught(*[Usage(0, 0)] * 9).input(50) == 1
    assert taught(*[Usage(0, 0)] * 9).output(None) == 1


def test_the_first_reply_decides_the_ratio_and_the_second_counts_as_much():
    assert taught(Usage(100, 1)).input(500) == 500  # 1 token a character, as in Chinese
    assert taught(Usage(100, 1), Usage(50, 1)).input(500) == 375  # (1 + 0.5) / 2


def test_after_many_replies_one_moves_the_ratio_by_a_fiftieth_and_adds_what_the_fit_missed():
    known = taught(*[Usage(100, 1)] * 60)
    known.learn(100, Usage(0, 1))
    assert known.input(1_000) == 994  # 0.98 a character, and √(0.02·100²) = 14


def test_a_reply_is_estimated_by_mean_and_two_deviations_once_five_are_known():
    four = taught(*[Usage(1, tokens) for tokens in (10, 20, 30, 40)])
    assert four.output(None) == 64
    five = taught(*[Usage(1, tokens) for tokens in (10, 20, 30, 40, 50)])
    assert five.output(None) == 58  # mean 30, variance 200: 30 + 2·14.14
    assert five.output(40) == 40


def test_what_is_unknown_teaches_nothing():
    estimate = taught(Usage(None, None), Usage(None, None))
    estimate.learn(0, Usage(10, None))
    assert (estimate.input(100), estimate.output(None)) == (25, 64)


def test_input_and_output_are_learnt_apart():
    estimate = taught(*[Usage(None, 8)] * 5)
    assert (estimate.input(100), estimate.output(None)) == (25, 8)


@given(st.lists(st.tuples(st.integers(-5, 10**6), counts, counts)), st.integers(0, 10**7), st.integers(1, 10**6))
def test_estimates_are_positive_and_bounded_whatever_a_server_counts(replies, characters, max_tokens):
    estimate = Estimate()
    for length, prompt, reply in replies:
        estimate.learn(length, Usage(prompt, reply))
    assert 1 <= estimate.input(characters) <= max(1, characters) * 10**7
    assert 1 <= estimate.output(max_tokens) <= max_tokens
    assert 1 <= estimate.output(None) <= 10**8


@given(st.floats(0.05, 2), st.lists(st.integers(1_000, 50_000), min_size=1, max_size=50))
def test_a_constant_ratio_is_found(ratio, lengths):
    estimate = Estimate()
    for length in lengths:
        estimate.learn(length, Usage(round(length * ratio), 1))
    assert estimate.input(10_000) == pytest.approx(10_000 * ratio, abs=6)  # counts are rounded by up to 0.5 in 1,000


@given(st.integers(10, 500), st.lists(st.integers(100, 20_000), min_size=30, max_size=60, unique=True))
def test_a_part_that_every_prompt_has_is_found(constant, lengths):
    estimate = Estimate()
    for length in lengths:
        estimate.learn(length, Usage(constant + length // 4, 1))
    typical = sum(lengths) // len(lengths)
    assert estimate.input(typical) == pytest.approx(constant + typical / 4, rel=0.25, abs=50)
