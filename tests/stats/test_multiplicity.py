"""The false discovery rate: its q against hand arithmetic, and what it holds where nothing is there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.stats.multiplicity import false_discovery


def test_a_q_is_the_least_of_p_times_tests_by_rank_from_there_on():
    # ranks 1..4 of 4 tests: 0.01 * 4 / 1, 0.02 * 4 / 2, 0.03 * 4 / 3, 0.9 * 4 / 4; the least of each and those after it
    assert false_discovery([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.04, 0.04, 0.9, 0.04])


def test_the_published_example_has_its_four_findings():
    # Benjamini and Hochberg (1995), section 4.1: fifteen p, of which the first four are findings at 0.05
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    p += [0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert [q <= 0.05 for q in false_discovery(p)] == [True] * 4 + [False] * 11


def test_a_test_that_was_not_made_counts_for_none():
    assert false_discovery([math.nan, 0.04, math.nan])[1] == pytest.approx(0.04)
    assert all(map(math.isnan, false_discovery([math.nan, math.nan])))
    assert false_discovery([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_no_q_is_below_its_p_or_above_one_and_their_order_is_the_same(p: list[float]):
    found = false_discovery(p)
    assert all(one <= q + 1e-12 <= 1 + 1e-9 for one, q in zip(p, found, strict=True))
    by_p = [q for _, q in sorted(zip(p, found, strict=True))]
    assert by_p == sorted(by_p)


def test_where_nothing_is_there_a_card_has_a_finding_in_a_twentieth_of_all_cases():
    random = np.random.default_rng(0)
    cards = random.uniform(size=(1000, 6)).tolist()
    found = np.mean([min(false_discovery(card)) <= 0.05 for card in cards])
    assert found == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / 1000))
