"""Systems ranked by pairwise verdicts, with intervals, and only where something compares them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.bradley_terry import Strengths, bradley_terry

Row = tuple[int, int, float]


def rows(*table: tuple[int, int, float, int]) -> list[Row]:
    return [(a, b, win) for a, b, win, times in table for _ in range(times)]


def drawn(seed: int, strengths: Sequence[float], n: int, ties: float) -> list[Row]:
    source = random.Random(seed)
    out: list[Row] = []
    for _ in range(n):
        a, b = source.sample(range(len(strengths)), 2)
        if source.random() < ties:
            win = 0.5
        else:
            win = 1.0 if source.random() < 1 / (1 + math.exp(strengths[b] - strengths[a])) else 0.0
        out.append((a, b, win))
    return out


def ranked(data: Sequence[Row], **said: object) -> Strengths:
    return bradley_terry([a for a, _, _ in data], [b for _, b, _ in data], [win for *_, win in data], **said)


def by_name(found: Strengths) -> list[float]:
    return [found.strength[found.systems.index(name)].value for name in sorted(found.systems)]


EVEN = rows((0, 1, 1, 3), (1, 0, 1, 1), (1, 2, 1, 2), (2, 1, 1, 2), (0, 2, 1, 4), (2, 0, 1, 1))
CHAIN = rows((0, 1, 1, 19), (1, 0, 1, 1), (1, 2, 1, 9), (2, 1, 1, 1), (2, 3, 1, 6), (3, 2, 1, 5))
TIES = rows((0, 1, 1, 2), (1, 2, 1, 2), (2, 0, 1, 1), (0, 1, 0.5, 3), (1, 2, 0.5, 1), (0, 2, 0.5, 2))
SIX = drawn(1, [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0], 400, 0.2)


@pytest.mark.parametrize(
    ("data", "choix"),
    [
        (EVEN, [0.83249723, -0.37611904, -0.45637819]),
        (CHAIN, [3.35252191, 0.40808293, -1.78914164, -1.9714632]),
        (TIES, [0.18987346, 0.03477562, -0.22464908]),
        (SIX, [-0.83567031, -0.79392416, -0.26945661, 0.3039478, 0.55820704, 1.03689625]),
    ],
    ids=["three", "a lopsided chain", "ties", "six"],
)
def test_strengths_are_those_of_choix(data: list[Row], choix: list[float]):
    # choix 0.4.1, `ilsr_pairwise(k, data, alpha=0, tol=1e-12)`, every win given twice, a tie once each way
    assert by_name(ranked(data, draws=1)) == pytest.approx(choix, abs=2e-8)


def test_the_order_is_from_the_strongest_on_with_what_was_counted():
    found = ranked(TIES, draws=1)
    assert found.systems == (0, 1, 2)
    assert found.comparisons == (8, 8, 6)
    assert found.won == (2, 2, 1)
    assert found.tied == (5, 4, 3)


def test_a_win_rate_is_the_mean_chance_against_the_others():
    found = ranked(rows((0, 1, 1, 3), (1, 0, 1, 1)), draws=1)
    assert [rate.value for rate in found.win_rate] == pytest.approx([0.75, 0.25])


def test_only_ties_are_equal_strengths():
    found = ranked(rows((0, 1, 0.5, 40), (1, 2, 0.5, 40)), draws=200)
    assert [each.value for each in found.strength] == pytest.approx([0] * 3, abs=1e-9)
    assert [each.value for each in found.win_rate] == pytest.approx([0.5] * 3, abs=1e-9)


def test_a_prior_is_that_many_wins_each_way_of_every_pair_that_met():
    with_prior = ranked(rows((0, 1, 1, 4), (1, 2, 1, 2)), prior=0.5, draws=1)
    as_ties = rows((0, 1, 1, 4), (0, 1, 0.5, 1), (1, 2, 1, 2), (1, 2, 0.5, 1))
    assert by_name(with_prior) == pytest.approx(by_name(ranked(as_ties, draws=1)), abs=1e-9)


def test_intervals_hold_the_planted_strengths_about_as_often_as_they_say():
    planted = [-0.6, 0.0, 0.6]
    held = 0
    for seed in range(60):
        found = ranked(drawn(seed, planted, 150, 0.0), draws=300)
        estimates = [found.strength[found.systems.index(at)] for at in range(3)]
        held += sum(each.low <= truth <= each.high for truth, each in zip(planted, estimates, strict=True))
    # 180 intervals of 95 %: 2 standard errors are 0.03, more as an experiment's three hang together
    assert 0.90 <= held / 180 <= 0.99


def test_comparisons_of_an_item_are_drawn_together():
    # 20 items, each of which says the same 8 times: an item is one piece of news, not eight
    data = [row for row in drawn(5, [0.0, 0.5], 20, 0.0) for _ in range(8)]
    alone, together = ranked(data), ranked(data, clusters=[at // 8 for at in range(160)])
    width = [each.strength[0].high - each.strength[0].low for each in (alone, together)]
    assert width[1] == pytest.approx(width[0] * math.sqrt(8), rel=0.25)


def test_a_difference_is_narrower_than_its_two_ends():
    found = ranked(SIX)
    best, second = found.systems[:2]
    gap = found.difference(best, second)
    assert gap.value == pytest.approx(found.strength[0].value - found.strength[1].value)
    assert found.difference(second, best).value == -gap.value
    assert gap.low < gap.value < gap.high
    with pytest.raises(UsageError, match="no system 9 is ranked"):
        found.difference(best, 9)


def test_draws_without_a_bound_are_counted():
    found = ranked(EVEN)
    assert "331 of 2,000 draws some systems never lost" in found.strength[0].reason
    assert math.isfinite(found.strength[0].high)
    lopsided = ranked(CHAIN).strength[0]
    assert math.isnan(lopsided.low)
    assert "so there is no interval: judge more pairs, or give `prior=0.5`" in lopsided.reason
    assert not math.isnan(ranked(CHAIN, prior=0.5).strength[0].low)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there is no comparison with a verdict"),
        (rows((0, 1, 1, 1)), r"systems 0 never lost to 1, so .* has no bound; judge more pairs, or give `prior=0.5`"),
        (rows((0, 1, 1, 2), (1, 0, 1, 1), (0, 2, 1, 3)), "systems 0, 1 never lost to 2"),
        (rows((0, 1, 0.5, 3), (2, 3, 0.5, 3)), "systems 0, 1 never met 2, 3, not even by way of others"),
        (rows((0, 1, 0.5, 3), (2, 2, 0.5, 3)), "3 comparisons are of 2 with itself"),
        (rows((0, 1, 0.7, 1)), "`wins` are 1, 0, or 0.5 for a tie, got 0.7"),
        (rows((0, 1, math.nan, 1)), "got nan; leave out what has no verdict"),
    ],
    ids=["nothing", "one", "unbeaten", "apart", "itself", "share", "nan"],
)
def test_what_nothing_compares_is_refused(data: list[Row], message: str):
    with pytest.raises(UsageError, match=message):
        ranked(data)


@pytest.mark.parametrize("prior", [-1, math.nan, math.inf])
def test_a_prior_is_a_number_of_wins(prior: float):
    with pytest.raises(UsageError, match="`prior` is a number of wins, 0 or more"):
        ranked(EVEN, prior=prior)


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(UsageError, match="of equal length, got 1, 2 and 1"):
        bradley_terry([1], [2, 3], [1.0])


def test_a_prior_doesn_t_join_what_never_met():
    with pytest.raises(UsageError, match="never met"):
        ranked(rows((0, 1, 0.5, 3), (2, 3, 0.5, 3)), prior=0.5)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=30))
def test_swapping_the_sides_changes_nothing(data: list[Row]):
    whole = [row for row in data if row[0] != row[1]] + rows((0, 1, 0.5, 1), (1, 2, 0.5, 1), (2, 3, 0.5, 1))
    swapped = [(b, a, 1 - win) for a, b, win in whole]
    assert np.allclose(by_name(ranked(whole, draws=1)), by_name(ranked(swapped, draws=1)), atol=1e-8)
